"""Several embeddings and several labelings computed together equal those computed one by one."""

import numpy as np
import pytest

from anchorview import MultiViewData
from anchorview.core.assign import Assignment, labels_of_runs
from anchorview.core.compress import compress
from anchorview.core.embed import embedder_of, for_embeddings
from anchorview.core.scale import fit_scalings
from anchorview.core.sizes import Sizes
from anchorview.core.solve import SolverSettings, solve
from anchorview.views import schema
from helpers.data import clustered_data


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("scaling", ["zscore-unit", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_embeddings_of_several_solutions(scaling, missing, dtype, set_constants):
    data, _ = clustered_data(90, missing=missing)
    data = MultiViewData([view.astype(dtype) for view in data.views])
    problem = compress(data, fit_scalings(data, scaling), "compressed", unit_norm=True)
    embedders = []
    for n_anchors, n_components in ((3, 3), (4, 4), (2, 1)):
        sizes = Sizes(3, n_anchors, n_components)
        solution, _ = solve(problem, data, SolverSettings(sizes, 0.1, 50, 1e-4))
        embedders.append(embedder_of(solution, problem))
    expected = [embedder(data) for embedder in embedders]
    set_constants(schema, LARGEST_BLOCK=8 * data.shape[1] * 7)
    found = [np.full(S.shape, np.nan) for S in expected]

    def keep(rows, embeddings):
        for S, part in zip(found, embeddings, strict=True):
            assert part.dtype == dtype
            S[rows] = part

    for_embeddings(keep, embedders, data)
    for S, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(S, own, atol=1e-10 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_of_several_assignments(normalize, dtype):
    rng = np.random.default_rng(0)
    embedding = rng.standard_normal((50, 3)).astype(dtype)
    runs = [Assignment(rng.standard_normal((4, 3)), normalize) for _ in range(5)]
    found = labels_of_runs(runs, embedding)
    assert found.shape == (5, 50)
    points = embedding / (np.linalg.norm(embedding, axis=1, keepdims=True) if normalize else 1)
    for labels, run in zip(found, runs, strict=True):
        nearest = [np.argmin([np.sum((x - c) ** 2) for c in run.centroids]) for x in points]
        np.testing.assert_array_equal(labels, nearest)
        np.testing.assert_array_equal(labels, run(embedding))


def test_normalized_rows_with_one_column_keep_their_signs():
    run = Assignment(np.array([[-1.0], [2.0]]), normalize=True)
    found = labels_of_runs([run], np.array([[-3.0], [0.1], [0.9], [5.0]]))
    np.testing.assert_array_equal(found, [[0, 0, 1, 1]])
