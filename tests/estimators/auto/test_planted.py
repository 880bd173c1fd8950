"""What is said of planted clusters, and of data without clusters, does not contradict itself."""

import importlib.util
import warnings
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC
from anchorview.estimators.representation import evidence_word, result_lines, structure_sentences

PATH = Path(__file__).parents[3] / "benchmarks" / "planted.py"
QUICK = {"4 with outliers", "normal"}


@pytest.fixture(scope="module")
def kinds():
    """Functions that draw data, by name, from the benchmark."""
    if not PATH.exists():
        pytest.skip("the source distribution is without the benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PATH.parent))
        spec = importlib.util.spec_from_file_location("planted_kinds", PATH)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    without = {name: partial(_of_300, draw) for name, draw in module.WITHOUT.items()}
    return {name: partial(_views_of, make) for name, make in module.PLANTED.items()} | without


def _views_of(make, rng):
    return make(rng)[0]


def _of_300(draw, rng):
    return draw(rng, 300)


NAMES = """2 equal; 3 equal; 8 equal; 30 equal; 1 : 2 : 3 : 4; 5 of sizes halving;
2 of 98 % and 2 %; 3 in one view of five; 4 with outliers; 4 under a nuisance; 2 half moons; normal;
log-normal; uniform; Student, 3 degrees; 4 shared factors; shared square"""
KINDS = [
    pytest.param(name.strip(), marks=[] if name.strip() in QUICK else pytest.mark.slow)
    for name in NAMES.split(";")
]


def test_no_kind_is_left_out(kinds):
    assert set(kinds) == {param.values[0] for param in KINDS}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_words_structure_borders_and_confidence_agree(kinds, name, n_clusters):
    views = kinds[name](np.random.default_rng([0, zlib.crc32(name.encode())]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoDALMC(n_clusters, random_state=0).fit(views)
    doubtful = (model.confidence_ < model.confidence_threshold_).mean()
    sentences = structure_sentences(model, range(model.n_clusters_))
    text = " ".join(result_lines(model))
    assert len(model.borders_) == model.n_clusters_
    assert "disagree" not in text
    assert "orders" not in text
    if model.structure_ == 0:
        assert set(model.borders_) == {"none"}
        assert doubtful == 1
        assert "no evidence of clusters" in sentences[0]
        assert "no evidence of clusters" in text
        return
    word = evidence_word(model.structure_)
    assert model.n_clusters_ > 1
    assert sentences[0].startswith(f"{word} evidence of clusters")
    assert set(model.borders_) != {"none"}
    if word == "strong":
        assert doubtful < 0.5
        sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
        clear = np.isin(model.borders_, ["strong", "moderate"])
        assert sizes[clear].sum() > sizes.sum() / 2


def test_half_moons_are_found_without_their_number():
    # Only neighbors in one scaling find them: no edges join the moons, whatever their shape.
    rng = np.random.default_rng(3)
    y, t = rng.integers(2, size=400), np.pi * rng.random(400)
    plane = np.c_[np.where(y, 1 - np.cos(t), np.cos(t)), np.where(y, 0.5 - np.sin(t), np.sin(t))]
    views = [plane @ rng.normal(size=(2, 6)) + 0.04 * rng.normal(size=(400, 6)) for _ in range(2)]
    model = AutoDALMC(budget="fast", random_state=0).fit(views)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert evidence_word(model.structure_) == "strong"


def test_clear_clusters_are_not_merged_to_two_that_no_edges_join():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    color = (y + (rng.random(300) < 0.1)) % 4
    numbers = np.c_[30 * y + rng.normal(0, 3, 300), y % 2 * 4 + rng.normal(0, 0.3, 300)]
    usage = np.c_[rng.poisson(5 + 10 * y), 5 * (y > 1) + rng.normal(0, 0.6, 300)]
    model = AutoDALMC(random_state=0).fit([np.c_[numbers, np.eye(4)[color]], usage])
    assert model.n_clusters_ == 4
