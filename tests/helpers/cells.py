"""Small AnnData and MuData objects of counts with planted types."""

import anndata
import mudata
import numpy as np
import pandas as pd
from scipy import sparse

N_CELLS, N_GENES, N_PROTEINS, N_TYPES = 240, 60, 12, 3


def counts(n_features, types, seed, high=0.3, mean=3.0):
    """Counts whose features differ between types."""
    rng = np.random.default_rng(seed)
    means = mean * rng.lognormal(0, 0.5, n_features)
    means = means * np.where(rng.random((types.max() + 1, n_features)) < high, 4.0, 1.0)
    depth = rng.lognormal(0, 0.3, len(types))[:, None]
    return rng.poisson(means[types] * depth).astype(np.float32)


def annotated(X, ids, feature):
    names = [f"{feature}{i}" for i in range(X.shape[1])]
    return anndata.AnnData(X, obs=pd.DataFrame(index=ids), var=pd.DataFrame(index=names))


def cells():
    """Cells with genes, sparse, and proteins, which 40 cells lack and which are in other order."""
    types = np.arange(N_CELLS) % N_TYPES
    ids = np.array([f"cell{i}" for i in range(N_CELLS)])
    rna = annotated(sparse.csr_matrix(counts(N_GENES, types, 0, mean=0.7)), ids, "gene")
    rna.layers["twice"] = rna.X * 2
    rna.obsm["X_pca"] = np.random.default_rng(1).normal(size=(N_CELLS, 4)) + types[:, None] * 3
    rna.var["highly_variable"] = np.arange(N_GENES) % 2 == 0
    rna.obs["type"] = pd.Categorical([f"type{t}" for t in types])
    order = np.random.default_rng(2).permutation(N_CELLS)[40:]
    protein = annotated(counts(N_PROTEINS, types, 3)[order], ids[order], "protein")
    return mudata.MuData({"rna": rna, "protein": protein})
