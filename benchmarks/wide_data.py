"""Made data with thousands of features, dense and sparse, for the benchmarks of wide views."""

import numpy as np
from scipy import sparse

ROWS = 1000
"""Number of rows that are made at a time."""


def made_cells(n: int, n_genes: int, k: int, seed: int = 0):
    """Sparse log counts of genes, standardized levels of 150 proteins, and types of cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    rates = np.exp(1.6 * rng.standard_normal(n_genes) - 4.15)
    marked = rng.random((k, n_genes)) < 0.02
    profiles = rates * np.where(marked, np.exp(rng.normal(0.8, 0.5, (k, n_genes))), 1)
    sizes = np.exp(0.4 * rng.standard_normal(n))
    blocks = []
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        counts = rng.poisson(profiles[y[rows]] * sizes[rows, None])
        blocks.append(sparse.csr_array(np.log1p(counts).astype(np.float32)))
    proteins = 0.5 * rng.standard_normal((k, 150))[y] + rng.standard_normal((n, 150))
    return sparse.csr_array(sparse.vstack(blocks, format="csr")), proteins.astype(np.float32), y


def made_words(n: int, n_words: int, per_row: int, y: np.ndarray, seed: int = 0):
    """Sparse rows of unit norm, tf-idf of words by Zipf's law; a third of them by topic."""
    rng = np.random.default_rng(seed)
    k = int(y.max()) + 1
    zipf = np.cumsum(1 / np.arange(2, n_words + 2))
    zipf /= zipf[-1]
    orders = [rng.permutation(n_words) for _ in range(k)]
    blocks = []
    for start in range(0, n, ROWS):
        topics = y[start : start + ROWS]
        words = np.searchsorted(zipf, rng.random((len(topics), per_row)))
        for row, topic in enumerate(topics):
            words[row, : per_row // 3] = orders[topic][words[row, : per_row // 3]]
        ends = per_row * np.arange(len(topics) + 1)
        ones = np.ones(words.size, np.float32)
        block = sparse.csr_array((ones, words.ravel(), ends), shape=(len(topics), n_words))
        block.sum_duplicates()
        blocks.append(block)
    counts = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    del blocks
    present = np.bincount(counts.indices, minlength=n_words)
    weights = np.log((1 + n) / (1 + present)).astype(np.float32) + 1
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    lengths = np.sqrt(np.add.reduceat(counts.data**2, counts.indptr[:-1]))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def nbytes(view) -> int:
    """Bytes of an array or a sparse matrix."""
    if isinstance(view, np.ndarray):
        return view.nbytes
    return view.data.nbytes + view.indices.nbytes + view.indptr.nbytes
