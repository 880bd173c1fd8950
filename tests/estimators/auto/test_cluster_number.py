"""The number of clusters: which are tried, which is chosen, and that separated ones are counted."""

import numpy as np
import pandas as pd
import pytest

from anchorview import AutoDALMC
from anchorview.estimators.auto import candidates
from anchorview.estimators.auto.cluster_number import (
    AGREEMENT_TOLERANCE,
    agreement_by_number,
    chosen_number,
    numbers_to_try,
)
from helpers.data import clustered_data

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")

WIDTHS = (20, 30, 40)


def fitted(X, numbers=range(2, 8), budget="fast"):
    return AutoDALMC(numbers, budget=budget, random_state=0).fit(X)


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
        ("n", "largest"), [(5, 2), (29, 2), (30, 3), (250, 25), (300, 30), (10**6, 30)]
    )
    def test_default_numbers(self, n, largest):
        assert numbers_to_try(None, n) == list(range(2, largest + 1))

    @pytest.mark.parametrize(
        "given",
        [[], range(5, 5), [1, 3], [0], [-2, 4], [2, 51], range(2, 52), np.array([1, 2])],
        ids=str,
    )
    def test_impossible_numbers(self, given):
        with pytest.raises(ValueError, match=r"n_clusters=.* from 2 to n_samples // 2 = 50 "):
            numbers_to_try(given, 100)


@pytest.mark.parametrize(
    ("curve", "chosen"),
    [
        ({2: 0.9, 3: 0.9 - 0.9 * AGREEMENT_TOLERANCE, 4: 0.9 - 1.1 * AGREEMENT_TOLERANCE}, 3),
        ({2: 0.5, 3: 0.9, 4: 0.6}, 3),
        ({2: 1.0, 3: 1.0, 9: 1.0}, 9),
        ({2: -0.1, 3: -0.3}, 2),
        ({2: np.nan, 3: 0.4, 4: 0.2, 5: np.nan}, 3),
    ],
)
def test_largest_number_within_the_tolerance_is_chosen(curve, chosen):
    found = chosen_number(pd.Series(curve))
    assert found == chosen
    assert type(found) is int


def test_no_number_is_possible():
    with pytest.raises(ValueError, match=r"\[4, 7\]\. Give a single number as n_clusters"):
        chosen_number(pd.Series({4: np.nan, 7: np.nan}))


@pytest.mark.parametrize(("k", "missing"), [(2, 0), (3, 0), (4, 0.25), (6, 0), (11, 0)])
def test_separated_clusters_are_counted(k, missing):
    data, _ = clustered_data(220, k, WIDTHS, separation=8.0, missing=missing)
    curve = agreement_by_number(data, list(range(2, 15)), 0)
    assert curve.index.tolist() == list(range(2, 15))
    assert (curve.name, curve.index.name) == ("agreement", "n_clusters")
    assert curve[k] == pytest.approx(1, abs=1e-6 if missing == 0 else 0.1)
    assert (curve <= 1 + 1e-12).all()
    assert chosen_number(curve) == k


@pytest.mark.parametrize("separation", [3.0, 1.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_order_of_samples_does_not_matter(separation, missing):
    data, _ = clustered_data(100, 3, (8, 10), separation=separation, missing=missing)
    curve = agreement_by_number(data, [2, 3, 4], 0)
    order = np.random.default_rng(0).permutation(100)
    moved = agreement_by_number(data[order], [2, 3, 4], 0)
    pd.testing.assert_series_equal(moved, curve, rtol=0, atol=1e-12)


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


def test_small_sample_decides(set_constants):
    data, _ = clustered_data(300, 4, WIDTHS, separation=8.0)
    whole = fitted(data, budget="fast")
    set_constants(candidates, SMALL_SAMPLE_SIZE=100)
    small = fitted(data, budget="fast")
    assert whole.n_clusters_ == small.n_clusters_ == 4
    assert not whole.curve_.equals(small.curve_)
