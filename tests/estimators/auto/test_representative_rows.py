"""How many rows everything is fitted to."""

import numpy as np
import pytest

from anchorview import AutoDALMC
from anchorview.estimators.auto import auto_dalmc
from anchorview.estimators.auto.model_fit import n_sampled


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "budget", "expected"),
    [
        (300, None, "default", 300),
        (300, 10, "fast", 300),
        (10**6, None, "thorough", 10_000),
        (10**6, 50, "default", 5_000),
        (10**6, 51, "default", 5_100),
        (10**6, 500, "thorough", 10_000),
        (10**6, 10, "fast", 2_500),
        (10**6, 80, "fast", 4_000),
        (10**6, 500, "fast", 5_000),
        (4_000, 10, "default", 4_000),
        (4_000, 10, "fast", 2_500),
        (7_000, 80, "default", 7_000),
    ],
)
def test_number_of_rows(n_samples, n_clusters, budget, expected):
    assert n_sampled(n_samples, n_clusters, budget) == expected


@pytest.mark.parametrize(
    ("n_clusters", "budget", "expected"),
    [
        (4, "default", 5_000),
        ([70, 2, 60], "default", 7_000),
        ([70, 2, 60], "fast", 3_500),
        (np.int64(90), "thorough", 9_000),
        (None, "default", 10_000),
        (None, "fast", 5_000),
    ],
)
def test_the_largest_number_of_clusters_counts(n_clusters, budget, expected, monkeypatch):
    counts = []

    def record(source, count):
        counts.append(count)
        raise ValueError("recorded")

    monkeypatch.setattr(auto_dalmc, "representative_sample", record)
    with pytest.raises(ValueError, match="recorded"):
        AutoDALMC(n_clusters, budget=budget).fit(np.arange(24_000.0).reshape(-1, 2))
    assert counts == [expected]
