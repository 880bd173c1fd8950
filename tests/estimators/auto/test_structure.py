"""Structure: clusters separated by valleys of density are told from pieces of a continuum."""

import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC, MultiViewData
from anchorview.estimators.auto.evidence import without_clusters
from anchorview.estimators.representation import (
    evidence_word,
    structure_sentence,
    structure_sentences,
)
from anchorview.report import findings, write_fit_report
from helpers.data import clustered_views


def noise(seed, n=200, widths=(10, 20)):
    rng = np.random.default_rng(seed)
    return {f"view_{p}": rng.standard_normal((n, d)) for p, d in enumerate(widths)}


def fitted(views, n_clusters=3, **options):
    return AutoDALMC(n_clusters, budget="fast", random_state=0, **options).fit(views)


def share_of_doubtful(model):
    return float((model.confidence_ < model.confidence_threshold_).mean())


@pytest.mark.parametrize("widths", [(10, 20), (20,), (40, 60, 80)])
@pytest.mark.parametrize("n_clusters", [2, range(2, 5)])
def test_noise_has_no_clear_structure(widths, n_clusters):
    model = fitted(noise(0, n=120, widths=widths), n_clusters)
    assert model.structure_ == 0
    assert set(model.borders_) == {"none"}
    assert share_of_doubtful(model) == 1
    assert "no evidence" in repr(model)


@pytest.mark.parametrize("n_clusters", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_few_samples_of_noise_have_no_structure(n_clusters):
    rng = np.random.default_rng(0)
    structures = []
    for _ in range(4):
        factors = rng.standard_normal((100, 4))
        views = [factors @ rng.standard_normal((4, d)) for d in (10, 12)]
        views = [X + 0.5 * rng.standard_normal(X.shape) for X in views]
        structures.append(fitted(views, n_clusters).structure_)
    assert structures.count(0) >= 3


@pytest.mark.parametrize("missing", [False, True])
def test_clusters_have_clear_structure(missing):
    views, _ = clustered_views(150, 3, (12, 16), separation=8.0)
    if missing:
        views["view_0"][::5] = np.nan
    model = fitted(views, range(2, 6))
    assert model.n_clusters_ == 3
    assert evidence_word(model.structure_) == "strong"
    assert set(model.borders_) == {"strong"}
    assert structure_sentence(model.structure_).startswith("strong evidence")


def test_overlapping_clusters_have_less_structure():
    strong, weak = (
        fitted(clustered_views(200, 3, (12, 16), separation=separation)[0]).structure_
        for separation in (8.0, 2.5)
    )
    assert strong > weak


@pytest.mark.xdist_group("digits")
def test_digits_have_clear_structure_and_few_doubtful_samples(digits_model):
    assert digits_model.structure_ > 0.5
    assert 0.02 < share_of_doubtful(digits_model) < 0.07


def continuum(kind, n=300):
    rng = np.random.default_rng(0)
    base = rng.random((n, 1 if kind == "line" else 2))
    return [
        base @ rng.standard_normal((base.shape[1], d)) + 0.03 * rng.standard_normal((n, d))
        for d in (10, 12)
    ]


@pytest.mark.parametrize("kind", ["line", "square"])
@pytest.mark.parametrize("n_clusters", [4, None])
def test_pieces_of_a_continuum_are_not_separated(kind, n_clusters):
    model = fitted(continuum(kind), n_clusters)
    assert evidence_word(model.structure_) in ("weak", "none")
    assert model.borders_.count("strong") <= model.n_clusters_ / 2


def test_few_samples_are_not_judged_and_as_many_clusters_are_doubtful():
    model = fitted(clustered_views(40, 3, (6, 8))[0])
    assert model.structure_ is None
    assert model.borders_ is None
    assert "at least 50 samples" in structure_sentence(model.structure_)
    model = fitted(noise(0, n=60), 59)
    assert share_of_doubtful(model) > 0.9
    # So few samples say nothing about it.
    assert model.structure_ is None


def test_summary_and_report_say_how_clusters_are_separated(tmp_path, set_constants):
    set_constants(findings, MAX_REFIT_COST=0)
    views, _ = clustered_views(200, 4, (6, 8), separation=8.0)
    model = fitted(views, 4)
    model._borders = ("strong", "none", "weak", "strong")
    assert model.summary(views)["border"].tolist() == list(model.borders_)
    write_fit_report(tmp_path / "page.html", model, views)
    page = (tmp_path / "page.html").read_text()
    said = "By cluster: strong for cluster 0 and cluster 3; weak for cluster 2; none for cluster 1."
    assert said in page
    assert "“cluster 1” and “cluster 2” are less clearly apart" in page
    for border, count in (("strong", 2), ("weak", 1), ("no", 1)):
        assert page.count(f">{border} evidence<") == count
    assert "border" not in DALMC(4).fit(views).summary(views)
    # There is no more evidence for merged clusters than for any of them.
    model.relabel({0: "a", 1: "a", 2: "b", 3: "c"})
    assert model.borders_ == ("none", "weak", "strong")
    sentence = structure_sentences(model, model.cluster_names_)[1]
    assert sentence == "by cluster: strong for c; weak for b; none for a"


def reference(views):
    data = MultiViewData(views)
    coordinates = {"zscore-unit": data, "zscore": data}
    return without_clusters(coordinates, np.random.default_rng(0))["zscore-unit"]


def test_reference_is_a_normalized_normal_distribution():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((3000, 4)) ** 3
    views = [base @ rng.standard_normal((4, 5)) + 7, base @ rng.standard_normal((4, 3)) - 2]
    normal = rng.multivariate_normal(
        np.mean(np.hstack(views), axis=0), np.cov(np.hstack(views).T), 3000
    )
    for drawn, expected in zip(reference(views).views, np.split(normal, [5], axis=1), strict=True):
        lengths = np.linalg.norm(drawn, axis=1)
        np.testing.assert_allclose(lengths, lengths.mean())
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        drawn = drawn / lengths[:, None]
        np.testing.assert_allclose(drawn.mean(axis=0), expected.mean(axis=0), atol=0.05)
        np.testing.assert_allclose(np.cov(drawn.T), np.cov(expected.T), atol=0.03)
