"""Several labelings computed together equal those computed one by one."""

import numpy as np
import pytest

from anchorview.core.assign import Assignment, labels_of_runs


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
