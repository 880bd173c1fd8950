"""
========================
Cells in a MuData object
========================

Which kinds of cells are there, and which genes tell them apart? ``scverse.tl`` clusters the cells
of a MuData object and writes the results into it, where scanpy and muon find them, and
``scverse.pl`` draws them. Here the counts are made, and a sixth of the cells lack proteins.
"""

import warnings

import anndata
import matplotlib.pyplot as plt
import mudata
import numpy as np
import pandas as pd

from anchorview import scverse as av
from anchorview.metrics import clustering_accuracy

rng = np.random.default_rng(0)
kind = np.arange(300) % 4
names = [f"cell{i}" for i in range(300)]


def counted(feature, n_features, mean):
    """Counts of features; five are high in each kind of cell."""
    means = mean * rng.lognormal(0, 0.5, (4, 1)) * np.ones((4, n_features))
    for k in range(4):
        means[k, 5 * k : 5 * k + 5] *= 5
    counts = rng.poisson(means[kind]).astype(np.float32)
    features = pd.DataFrame(index=[f"{feature}{j}" for j in range(n_features)])
    return anndata.AnnData(counts, obs=pd.DataFrame(index=names), var=features)


rna = counted("gene", 100, mean=1)
protein = counted("protein", 25, mean=8)[:250].copy()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of mudata before 0.4, about columns of cells
    mdata = mudata.MuData({"rna": rna, "protein": protein})

# %%
# Counts are normalized as a step of the fit: logarithms for RNA, centered log-ratios for proteins.

preprocess = {"rna": "lognorm", "protein": "clr"}
av.tl.auto(mdata, range(2, 7), budget="fast", preprocess=preprocess)
clusters = mdata.obs["auto_dalmc"]
print(clusters.value_counts())

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
av.pl.cluster_map(mdata, "auto_dalmc", ax=axes[0])
axes[0].set_title("Cells")
av.pl.number_of_clusters(mdata, "auto_dalmc", ax=axes[1])
plt.show()

# %%
# Markers have the structure of ``scanpy.tl.rank_genes_groups``, which scanpy prints and draws.

av.tl.markers(mdata, "auto_dalmc", n_features=5)
markers = pd.DataFrame(mdata["rna"].uns["rank_genes_groups"]["names"])
print(markers)

high = {frozenset(genes) for _, genes in markers.items()}
assert len(clusters.cat.categories) == 4
assert clustering_accuracy(kind, clusters.astype(int)) > 0.95
assert high == {frozenset(rna.var_names[5 * k : 5 * k + 5]) for k in range(4)}
