"""Embeddings of all candidates, computed together in blocks, equal those of each candidate."""

import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.core import embed
from anchorview.estimators.auto import candidate_embeddings
from anchorview.estimators.auto.candidate_embeddings import for_candidate_embeddings
from anchorview.estimators.auto.candidates import CandidatePool
from anchorview.estimators.auto.settings import candidate_settings
from anchorview.views import low_rank_sum
from helpers.data import clustered_data


@pytest.mark.parametrize("rows_for_a_map", [1, 1000])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    ("kind", "few_entries"),
    [(np.float64, 0), (np.float32, 0), (sparse.csr_array, 0), (sparse.csr_array, 1)],
)
def test_equal_those_of_each_candidate(kind, few_entries, missing, rows_for_a_map, set_constants):
    set_constants(candidate_embeddings, MIN_BLOCK=7, BLOCK_BYTES=1, ROWS_FOR_A_MAP=rows_for_a_map)
    set_constants(embed, ROWS_FOR_A_MAP=rows_for_a_map)
    set_constants(low_rank_sum, FEW_ENTRIES=few_entries)
    data, _ = clustered_data(90, missing=missing)
    data = MultiViewData([kind(view) for view in data.views], available=data.available)
    pool = CandidatePool(data, 0)
    jobs = [(setting, 3) for setting in candidate_settings(3, 90)]
    outcomes = pool.fit_all(jobs)
    fitted = [outcome[0] for _, outcome in outcomes]
    families = {own.setting.family: pool.problem(own.setting.family).fitted for own in fitted}
    found = [np.full((90, own.embedder.n_anchors), np.nan) for own in fitted]

    def keep(rows, embeddings):
        for S, part in zip(found, embeddings, strict=True):
            assert part.dtype == data.dtype
            S[rows] = part

    for_candidate_embeddings(keep, families, fitted, data)
    for S, own in zip(found, fitted, strict=True):
        expected = own.embedder(families[own.setting.family].transform(data))
        # A landmark that rounding makes one of the nearest has the smallest weight.
        tolerance = 1e-9 if data.dtype == np.float64 else 1e-3
        np.testing.assert_allclose(S, expected, atol=tolerance)


def test_sparse_views_with_many_features_are_never_dense(monkeypatch):
    rng = np.random.default_rng(0)
    n, d = 900, 4000
    # Each of three clusters has words of its own.
    words = rng.integers(d // 3, size=(n, 30)) + (d // 3) * rng.integers(3, size=(n, 1))
    entries = np.ones(words.size, np.float32)
    view = sparse.csr_array((entries, words.ravel(), 30 * np.arange(n + 1)), shape=(n, d))
    data = MultiViewData([view])
    pool = CandidatePool(data[:600], 0)
    jobs = [(setting, 3) for setting in candidate_settings(3, 3000)]
    fitted = [outcome[0] for _, outcome in pool.fit_all(jobs)]
    families = {own.setting.family: pool.problem(own.setting.family).fitted for own in fitted}
    lifts = [family.lift for family in families.values() if family.lift is not None]
    assert lifts

    def dense(*_):
        raise AssertionError("rows became dense")

    monkeypatch.setattr(sparse.csr_array, "toarray", dense)
    sizes = []
    for_candidate_embeddings(
        lambda rows, _: sizes.append(rows.stop - rows.start), families, fitted, data
    )
    assert sum(sizes) == n
    assert [len(lift(data)) for lift in lifts] == [n] * len(lifts)
