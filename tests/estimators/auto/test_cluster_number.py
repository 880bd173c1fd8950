"""The number of clusters: what is tried, what is chosen, and that it is right where it is clear."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, MultiViewData, make_multiview
from anchorview.estimators.auto.cluster_number import (
    AS_GOOD,
    agreement_by_number,
    chosen_number,
    numbers_to_try,
)

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def made(n, k, separation=8.0, seed=0, missing=0.0, widths=(20, 30, 40)):
    return make_multiview(
        n,
        n_clusters=k,
        n_features=widths,
        separation=separation,
        missing=missing,
        random_state=seed,
    )


def curve_of(values):
    return pd.Series(values, name="agreement").rename_axis("n_clusters")


class TestNumbersToTry:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (3, [3]),
            (np.int64(7), [7]),
            (np.uint8(2), [2]),
            (1000, [1000]),
            (range(2, 6), [2, 3, 4, 5]),
            (range(6, 1, -2), [2, 4, 6]),
            ([5, 2, 5, 3, 2], [2, 3, 5]),
            ((4,), [4]),
            (np.array([9, 4, 4]), [4, 9]),
            ([np.int32(3), 50], [3, 50]),
        ],
    )
    def test_numbers_that_are_given(self, given, expected):
        numbers = numbers_to_try(given, 100)
        assert numbers == expected
        assert all(type(number) is int for number in numbers)

    @pytest.mark.parametrize(
        ("n", "most"), [(5, 2), (29, 2), (30, 3), (250, 25), (300, 30), (10**6, 30)]
    )
    def test_numbers_by_the_samples(self, n, most):
        assert numbers_to_try(None, n) == list(range(2, most + 1))

    @pytest.mark.parametrize(
        "given",
        [[], range(5, 5), [1, 3], [0], [-2, 4], [2, 51], range(2, 52), np.array([1, 2])],
        ids=str,
    )
    def test_numbers_that_cannot_be(self, given):
        with pytest.raises(ValueError, match=r"n_clusters=.* from 2 to n_samples // 2 = 50 "):
            numbers_to_try(given, 100)


class TestChosenNumber:
    def test_largest_that_is_as_good_as_the_best(self):
        curve = curve_of({2: 0.9, 3: 0.9 - 0.9 * AS_GOOD, 4: 0.9 - 1.1 * AS_GOOD, 5: 0.3})
        assert chosen_number(curve) == 3
        assert chosen_number(curve_of({2: 0.5, 3: 0.9, 4: 0.6})) == 3
        assert chosen_number(curve_of({2: 1.0, 3: 1.0, 9: 1.0})) == 9
        assert chosen_number(curve_of({2: -0.1, 3: -0.3})) == 2

    def test_numbers_that_could_not_be_had_do_not_count(self):
        assert chosen_number(curve_of({2: np.nan, 3: 0.4, 4: 0.2, 5: np.nan})) == 3
        assert type(chosen_number(curve_of({3: 0.4}))) is int

    def test_none_could_be_had(self):
        with pytest.raises(ValueError, match=r"\[4, 7\] can be had .* one number as n_clusters"):
            chosen_number(curve_of({4: np.nan, 7: np.nan}))


@pytest.mark.parametrize("k", [2, 3, 6, 11])
def test_separated_clusters_are_counted(k):
    views, _ = made(220, k)
    data = MultiViewData(views)
    curve = agreement_by_number(data, list(range(2, 15)), 0)
    assert curve.index.tolist() == list(range(2, 15))
    assert (curve.name, curve.index.name) == ("agreement", "n_clusters")
    assert curve[k] == pytest.approx(1)
    assert (curve <= 1 + 1e-12).all()
    assert chosen_number(curve) == k


def test_separated_clusters_are_counted_where_views_are_missing():
    views, _ = made(200, 4, missing=0.25)
    assert chosen_number(agreement_by_number(MultiViewData(views), range(2, 9), 0)) == 4


@pytest.mark.parametrize("separation", [3.0, 1.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_order_of_the_samples_does_not_matter(separation, missing):
    views, _ = made(100, 3, separation, missing=missing, widths=(8, 10))
    data = MultiViewData(views)
    curve = agreement_by_number(data, [2, 3, 4], 0)
    order = np.random.default_rng(0).permutation(100)
    moved = agreement_by_number(data[order], [2, 3, 4], 0)
    pd.testing.assert_series_equal(moved, curve, rtol=0, atol=1e-12)


def test_order_of_separated_samples_does_not_matter_for_the_number():
    views, _ = made(120, 4, missing=0.2)
    data = MultiViewData(views)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(120)
        assert chosen_number(agreement_by_number(data[order], range(2, 8), 0)) == 4


@pytest.mark.filterwarnings("ignore:.* could not be fitted")
@pytest.mark.parametrize("n_distinct", [3, 5])
def test_no_more_clusters_than_there_are_different_samples(n_distinct):
    rng = np.random.default_rng(0)
    rows = rng.integers(n_distinct, size=60)
    rows[:n_distinct] = range(n_distinct)
    views = [rng.standard_normal((n_distinct, d))[rows] for d in (6, 8)]
    model = AutoDALMC(range(2, 9), max_candidates=4, random_state=0).fit(views)
    assert model.n_clusters_ <= n_distinct
    assert model.curve_.loc[n_distinct + 1 :].isna().all()
    for row in range(n_distinct):
        assert len(set(model.labels_[rows == row])) == 1
    with pytest.raises(ValueError, match="None of the numbers of clusters"):
        AutoDALMC([n_distinct + 1, n_distinct + 2], random_state=0).fit(views)


def test_the_estimator_chooses_by_the_curve():
    views, _ = made(150, 4)
    model = AutoDALMC(range(2, 8), max_candidates=4, random_state=0).fit(views)
    assert model.n_clusters_ == chosen_number(model.curve_) == 4
    assert len(model._consensus.offsets) == 4
    # The number that was found gives what it gives when it is known.
    known = AutoDALMC(4, max_candidates=4, random_state=0).fit(views)
    assert adjusted_rand_score(model.labels_, known.labels_) == 1
    assert known.curve_ is None
    assert known.n_clusters_ == 4


def test_a_few_samples_decide(monkeypatch):
    views, _ = made(300, 4)
    whole = AutoDALMC(range(2, 8), max_candidates=2, random_state=0).fit(views)
    monkeypatch.setattr("anchorview.estimators.auto.candidates.FEW", 100)
    few = AutoDALMC(range(2, 8), max_candidates=2, random_state=0).fit(views)
    assert whole.n_clusters_ == few.n_clusters_ == 4
    assert not whole.curve_.equals(few.curve_)
