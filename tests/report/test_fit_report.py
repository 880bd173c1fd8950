"""Contents of the report of a fit, for every kind of model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import silhouette_score

from anchorview import DALMC, AutoDALMC, MultiViewData, make_multiview
from anchorview._utils.errors import OutputFileError
from anchorview.compared import AMGL, OPMC
from anchorview.report import write_fit_report
from anchorview.report.checked_fit import check_fit
from anchorview.report.cluster_sections import cluster_section, confusion_section, silhouettes
from anchorview.report.model_sections import convergence_section, python_call
from anchorview.report.view_sections import pattern_section, view_section
from helpers.pages import ParsedPage


@pytest.fixture(scope="module")
def problem():
    views, y = make_multiview(90, n_clusters=3, separation=6, random_state=0)
    return views, y, DALMC(n_clusters=3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def framed(problem):
    """The same with sample ids."""
    views, y, _ = problem
    ids = [f"s{row}" for row in range(len(y))]
    frames = {name: pd.DataFrame(view, index=ids) for name, view in views.items()}
    return frames, pd.Series(y, index=ids), DALMC(n_clusters=3, random_state=0).fit(frames)


@pytest.fixture
def report(tmp_path):
    """Write a report and parse it."""

    def write(model, X, **options):
        path = tmp_path / "report.html"
        write_fit_report(path, model, X, **options)
        return ParsedPage(path)

    return write


def checked(model, X, target=None, sample_ids=None):
    return check_fit(model, X, target, sample_ids, None)


PREDICTIONS = "predictions of the model from each view"


def test_sections_of_a_complete_report(report_path):
    assert ", ".join(ParsedPage(report_path).section_titles) == (
        "Overview, Map of the samples, Clusters, Views, Convergence, Available views, Clusters and "
        "classes, Candidate settings, How to reproduce"
    )


def test_sections_of_a_plain_fit(problem, report):
    views, _, model = problem
    page = report(model, views, seconds=1.25)
    assert ", ".join(page.section_titles) == (
        "Overview, Map of the samples, Clusters, Views, Convergence, How to reproduce"
    )
    assert "Seconds 1.25" in page.text
    assert PREDICTIONS in page.text
    assert "Scores against the known classes" not in page.text


def test_without_views_parts_that_need_them_are_omitted(problem, report):
    _, y, model = problem
    page = report(model, None, target=y)
    assert PREDICTIONS not in page.text
    assert "Scores against the known classes" in page.text
    assert "Clusters and classes" in page.section_titles


def test_method_without_embedding_and_predict(problem, report):
    views, y, _ = problem
    model = OPMC(n_clusters=3, random_state=0).fit(views)
    page = report(model, views, target=y)
    assert "There is no map of the samples: OPMC computes no embedding." in page.text
    assert "Mean silhouette" not in page.text
    assert PREDICTIONS not in page.text


def test_sample_ids_of_the_model_are_the_default(framed):
    frames, _, model = framed
    assert checked(model, frames).sample_ids[5] == "s5"
    given = [f"t{row}" for row in range(90)]
    assert checked(model, frames, sample_ids=given).sample_ids[5] == "t5"


def test_given_scores_replace_computed_ones(problem, report):
    views, y, model = problem
    page = report(model, views, target=y, scores={"Mine": 0.125})
    assert "Mine 0.125" in page.text
    assert "ACC" not in page.texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": 50}, "X has 50 samples"),
        ({"target": np.zeros(5)}, "target has 5 samples, but the model was fitted on 90"),
        ({"target": np.zeros((90, 1))}, r"target must have one class per sample; .*\(90, 1\)"),
        ({"sample_ids": ["a"]}, "sample_ids has 1 samples"),
    ],
)
def test_inconsistent_samples_raise(problem, tmp_path, options, message):
    views, _, model = problem
    X = MultiViewData(views)[: options.pop("X", 90)]
    with pytest.raises(ValueError, match=message):
        write_fit_report(tmp_path / "a.html", model, X, **options)
    assert not list(tmp_path.iterdir())


def test_unfitted_model_and_missing_folder_raise(problem, tmp_path):
    views, _, model = problem
    with pytest.raises(ValueError, match="DALMC is not fitted yet"):
        write_fit_report(tmp_path / "a.html", DALMC(), views)
    with pytest.raises(OutputFileError, match="there is no folder"):
        write_fit_report(tmp_path / "none" / "a.html", model, views)


def test_clusters_have_sizes_and_silhouettes(problem):
    views, _, model = problem
    fit = checked(model, views)
    means, overall = silhouettes(fit)
    assert 0.5 < means.min() <= overall <= means.max() <= 1
    table = cluster_section(fit, means).parts[0].frame
    assert table["Samples"].tolist() == np.bincount(model.labels_).tolist()
    assert table["Share"].sum() == pytest.approx(1)
    assert "Mean confidence" not in table


def test_silhouettes_are_computed_from_the_clustered_embedding(problem):
    views, _, _ = problem
    model = AMGL(n_clusters=3, random_state=0).fit(views)
    _, overall = silhouettes(checked(model, views))
    assert len(set(np.bincount(model.labels_))) == 1
    assert overall == pytest.approx(silhouette_score(model.embedding_, model.labels_), abs=1e-6)


def test_confidence_per_cluster(incomplete_fit):
    model, data, *_ = incomplete_fit
    table = cluster_section(checked(model, data), None).parts[0].frame
    for cluster, row in table.iterrows():
        confidence = model.confidence_[model.labels_ == cluster]
        assert row["Mean confidence"] == pytest.approx(confidence.mean())
        assert row["Doubtful"] == pytest.approx((confidence < 0.5).mean())


def test_classes_are_matched_to_clusters(problem):
    views, y, model = problem
    names = np.array(["zebra", "ape", "cat"])[y]
    (chart,) = confusion_section(checked(model, views, names)).parts
    assert sorted(chart.table.columns[1:]) == ["ape", "cat", "zebra"]
    counts = chart.table.iloc[:, 1:].to_numpy()
    assert counts.sum() == np.trace(counts) == 90


def test_confusion_matrix_is_limited_to_the_largest_classes(problem):
    views, _, model = problem
    (chart,) = confusion_section(checked(model, views, np.arange(90) % 70)).parts
    assert chart.table.shape == (3, 51)
    assert "Only the 50 largest" in chart.description


def test_views(problem):
    views, _, model = problem
    table, *charts = view_section(checked(model, views)).parts
    assert table.frame["Weight"].tolist() == pytest.approx(model.view_weights_.tolist())
    assert table.frame["Samples"].tolist() == [90] * len(views)
    agreement = charts[-1].table.iloc[:, 1:].to_numpy()
    assert agreement.shape == (len(views) + 1, len(views) + 1)
    assert (np.diag(agreement) == 1).all()
    assert (agreement == agreement.T).all()


def test_patterns_of_available_views_are_sorted_and_rare_ones_are_summed():
    random = np.random.RandomState(0)
    available = random.random_sample((400, 7)) > 0.5
    available[~available.any(axis=1), 0] = True
    data = MultiViewData([random.rand(400, 2) for _ in range(7)], available=available)
    (chart,) = pattern_section(data).parts
    assert len(chart.table) == 21
    assert "other patterns" in chart.table["Views"].iloc[-1]
    assert chart.table["Samples"].sum() == 400
    assert chart.table["Samples"].iloc[0] == max(group.size for group in data.groups)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_iter": 1, "tol": 0}, "after 1 iteration, at max_iter=1"),
        ({"tol": 0.5}, "of at most 50: the change fell below tol=0.5"),
    ],
)
def test_stopping_reason(problem, options, reason):
    views, *_ = problem
    model = DALMC(n_clusters=3, random_state=0, **options).fit(views)
    assert reason in convergence_section(checked(model, views)).parts[0].text


@pytest.mark.parametrize(("estimator", "first"), [(DALMC, 0), (OPMC, 1)])
def test_iterations_are_numbered_as_the_method_records_them(problem, estimator, first):
    views, *_ = problem
    model = estimator(n_clusters=3, random_state=0).fit(views)
    table = convergence_section(checked(model, views)).parts[1].table
    assert table["Iteration"].tolist() == list(range(first, model.n_iter_ + 1))


@pytest.mark.parametrize(
    "model",
    [
        DALMC(n_clusters=4, beta=0.5, n_components=[3, 4], scaling="unit", random_state=3),
        AutoDALMC(n_clusters=range(2, 5), random_state=1),
        OPMC(n_clusters=2),
    ],
)
def test_python_call_creates_the_same_estimator(model):
    code = python_call(model).replace(".fit(views)", "")
    namespace = {}
    exec(code, namespace)
    assert type(namespace["model"]) is type(model)
    assert namespace["model"].get_params() == model.get_params()
    assert "verbose" not in code  # It has its default value.


def test_python_call_has_no_numpy_values():
    generator = np.random.RandomState(0)
    model = DALMC(n_clusters=np.int64(3), n_components=np.array([4, 5, 6]), random_state=generator)
    assert "DALMC(n_clusters=3, n_components=[4, 5, 6])" in python_call(model)


def test_samples_are_reordered_by_id(framed):
    frames, y, model = framed
    order = np.random.RandomState(0).permutation(len(y))
    shuffled = {name: view.iloc[order] for name, view in frames.items()}
    expected, fit = checked(model, frames, y), checked(model, shuffled, y.iloc[order])
    assert fit.scores == expected.scores
    for view, expected_view in zip(fit.data.views, expected.data.views, strict=True):
        np.testing.assert_array_equal(view, expected_view)


def test_unknown_sample_ids_raise(framed):
    frames, y, model = framed
    unknown = [f"z{row}" for row in range(len(y))]
    with pytest.raises(ValueError, match=r"X has samples .* not fitted on.* 'z0'"):
        checked(model, {name: view.set_axis(unknown) for name, view in frames.items()})
    with pytest.raises(ValueError, match=r"target has samples .* not fitted on.* 'z1'"):
        checked(model, frames, y.set_axis([*y.index[:1], *unknown[1:]]))
    assert checked(model, frames, y.reset_index(drop=True)).scores["ACC"] == 1


def test_samples_without_a_class_are_ignored(problem, report):
    views, y, model = problem
    partial = pd.Series(y).astype("Int64")
    partial[::2] = pd.NA
    fit = checked(model, views, partial)
    assert fit.scores == checked(model, views, y).scores
    section = confusion_section(fit)
    assert section.parts[0].table.drop(columns="Cluster").to_numpy().sum() == 45
    assert "45 of 90 samples have a class" in section.text
    report(model, views, target=partial)
    unknown = checked(model, views, [None] * 90)
    assert unknown.classes is None
    assert unknown.scores == {}


def test_names_with_invalid_bytes_are_escaped(problem, report):
    _, _, model = problem
    page = report(model, None, name="f\udcfcd", call="anchorview fit f\udcfcd")
    assert "f\\udcfcd" in page.text
