"""Sums over groups of sparse samples equal those of the same samples as dense arrays."""

import numpy as np
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.core.compress import summarize_groups
from anchorview.core.scale import fit_scalings, with_unit_norms
from anchorview.core.scaled_view import ScaledBlock
from helpers.blocks import rows_per_block


def sparse_and_dense(dtype=np.float64, missing=False):
    rng = np.random.default_rng(0)
    views = [
        sparse.random_array((200, d), density=0.1, random_state=rng, format="csr") for d in (15, 20)
    ]
    available = np.ones((200, 2), bool)
    if missing:
        available[::3, 0] = False
        available[1::3, 1] = False
    thin = MultiViewData([view.astype(dtype) for view in views], available=available)
    dense = MultiViewData([view.toarray().astype(dtype) for view in views], available=available)
    return thin, dense


def summaries_of(data, scalings, block_rows=None):
    with rows_per_block(data, block_rows):
        return list(summarize_groups(data, scalings).values())


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_products_of_sparse_views(dtype, error, missing):
    thin, dense = sparse_and_dense(dtype, missing)
    scalings = with_unit_norms(thin, fit_scalings(thin, "none"), [4.0, 9.0])
    found, expected = (summaries_of(data, scalings, 30) for data in (thin, dense))
    assert len(found) == (3 if missing else 1)
    for a, b, group in zip(found, expected, thin.groups, strict=True):
        assert a.is_gram
        assert a.views == b.views == group.views
        np.testing.assert_allclose(a.matrix, b.matrix, atol=error)
        rows = np.hstack([dense.views[p][group.rows] / (2.0, 3.0)[p] for p in group.views])
        rows = rows.astype(np.float64)
        np.testing.assert_allclose(a.matrix, rows.T @ rows, atol=error)


@pytest.mark.parametrize("scaling", ["zscore-unit", "unit-center", "zscore", "unit", "none"])
def test_blocks_stay_sparse_only_if_views_and_scaling_allow(scaling):
    thin, dense = sparse_and_dense()
    mixed = MultiViewData([thin.views[0], dense.views[1]])
    scalings = fit_scalings(thin, scaling)
    (block,) = thin.blocks()
    assert ScaledBlock(thin, scalings, block).stays_sparse == (scaling == "none")
    assert not ScaledBlock(mixed, scalings, block).stays_sparse
    expected = summaries_of(dense, scalings)[0].matrix
    for data in (thin, mixed):
        np.testing.assert_allclose(summaries_of(data, scalings)[0].matrix, expected, atol=1e-10)
