"""Agreement by number of clusters: which are tried, on which samples, and by chance."""

import numpy as np
import pandas as pd
import pytest

from anchorview import AutoDALMC
from anchorview.estimators.auto import auto_dalmc
from anchorview.estimators.auto.levels import chosen_number
from anchorview.estimators.auto.number_curve import compare_numbers, numbers_to_try
from anchorview.estimators.auto.structure import gaussian_like
from helpers.data import clustered_data

pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.usefixtures("unjudged"),
]

WIDTHS = (20, 30, 40)


def fitted(X, numbers=range(2, 8)):
    return AutoDALMC(numbers, budget="fast", random_state=0).fit(X)


def compared(data, numbers):
    return compare_numbers(data, gaussian_like(data, np.random.default_rng(0)), numbers, 0)


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
    def test_given_numbers(self, given, expected):
        numbers = numbers_to_try(given, 100)
        assert numbers == expected
        assert all(type(number) is int for number in numbers)

    @pytest.mark.parametrize(
        ("n", "largest", "sparse"),
        [
            (5, 2, []),
            (14, 2, []),
            (15, 3, []),
            (125, 25, []),
            (150, 30, []),
            (280, 30, [40, 55]),
            (10**6, 30, [40, 55, 75, 100]),
        ],
    )
    def test_default_numbers(self, n, largest, sparse):
        assert numbers_to_try(None, n) == [*range(2, largest + 1), *sparse]

    @pytest.mark.parametrize(
        "given",
        [[], range(5, 5), [1, 3], [0], [-2, 4], [2, 51], range(2, 52), np.array([1, 2])],
        ids=str,
    )
    def test_impossible_numbers(self, given):
        with pytest.raises(ValueError, match=r"n_clusters=.* from 2 to n_samples // 2 = 50 "):
            numbers_to_try(given, 100)


@pytest.mark.parametrize(("k", "missing"), [(2, 0), (3, 0), (4, 0.25), (11, 0)])
def test_separated_clusters_are_counted(k, missing):
    data, _ = clustered_data(165, k, WIDTHS, separation=8.0, missing=missing)
    curve = compared(data, range(2, 13))
    agreement, chance = curve.agreement, curve.chance
    assert agreement.index.tolist() == chance.index.tolist() == list(range(2, 13))
    assert (agreement.name, agreement.index.name) == ("agreement", "n_clusters")
    assert (chance.name, chance.index.name) == ("chance", "n_clusters")
    assert agreement[k] == pytest.approx(1, abs=1e-6 if missing == 0 else 0.1)
    assert (agreement <= 1 + 1e-12).all()
    assert (chance < 1).all()
    assert chosen_number(agreement, chance) == k


def test_larger_numbers_are_tried_while_agreement_rises():
    data, _ = clustered_data(216, 36, (40, 44), separation=10.0)
    curve = compared(data, None).agreement
    assert set(range(2, 31)) <= set(curve.index)
    assert max(curve.index) > 36
    best = curve.idxmax()
    assert abs(best - 36) <= 2
    # The numbers next to the best one are tried too.
    assert {best - 1, best + 1} <= set(curve.index)


def test_few_clusters_need_no_larger_numbers():
    data, _ = clustered_data(150, 4, (8, 10), separation=8.0)
    assert compared(data, None).agreement.index.tolist() == list(range(2, 31))


def test_partitions_are_those_of_the_curve_in_the_order_of_the_samples():
    data, y = clustered_data(120, 3, WIDTHS, separation=8.0)
    partitions = compared(data, [2, 3, 4]).partitions(3)
    assert len(partitions) == 4
    for runs in partitions.values():
        counts = pd.crosstab(y, runs[0]).to_numpy()
        assert (counts > 0).sum() == 3


@pytest.mark.parametrize("separation", [3.0, 1.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_order_of_samples_does_not_matter(separation, missing):
    data, _ = clustered_data(100, 3, (8, 10), separation=separation, missing=missing)
    reference = gaussian_like(data, np.random.default_rng(0))
    order = np.random.default_rng(0).permutation(100)
    first = compare_numbers(data, reference, [2, 3, 4], 0)
    moved = compare_numbers(data[order], reference[order], [2, 3, 4], 0)
    pd.testing.assert_series_equal(moved.agreement, first.agreement, rtol=0, atol=1e-12)
    pd.testing.assert_series_equal(moved.chance, first.chance, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.* could not be fitted")
@pytest.mark.parametrize("n_distinct", [3, 5])
def test_at_most_as_many_clusters_as_distinct_samples(n_distinct):
    rng = np.random.default_rng(0)
    rows = rng.integers(n_distinct, size=60)
    rows[:n_distinct] = range(n_distinct)
    views = [rng.standard_normal((n_distinct, d))[rows] for d in (6, 8)]
    model = fitted(views, range(2, 9))
    assert model.n_clusters_ <= n_distinct
    assert model.curve_.loc[n_distinct + 1 :].isna().all()
    for row in range(n_distinct):
        assert len(set(model.labels_[rows == row])) == 1
    with pytest.raises(ValueError, match="cannot be divided into any of the numbers of clusters"):
        fitted(views, [n_distinct + 1, n_distinct + 2])


def test_some_of_many_samples_decide(set_constants):
    data, _ = clustered_data(200, 4, WIDTHS, separation=8.0)
    whole = fitted(data)
    set_constants(auto_dalmc, ROWS=100)
    small = fitted(data)
    assert whole.n_clusters_ == small.n_clusters_ == 4
    assert not whole.curve_.equals(small.curve_)
