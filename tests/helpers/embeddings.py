"""Comparison of embeddings."""

import numpy as np


def assert_same_embedding(embedding, expected, atol=1e-10):
    """Assert that embeddings are equal up to the signs of columns, which rounding decides."""
    embedding = np.asarray(embedding)
    signs = np.sign((embedding * expected).sum(axis=0))
    np.testing.assert_allclose(embedding * signs, expected, atol=atol)
