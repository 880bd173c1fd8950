"""Tools and plots on AnnData and MuData objects, read by scanpy and kept in files."""

import anndata
import matplotlib.pyplot as plt
import mudata
import numpy as np
import pandas as pd
import pytest
import scanpy
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, make_multiview
from anchorview import scverse as av
from helpers.cells import N_CELLS, cells

# They announce changes, and use deprecated functions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:::(mudata|anndata|scanpy|legacy_api_wrap)\\b"),
    pytest.mark.filterwarnings("ignore:.*is deprecated"),
]

KEY = "auto_dalmc"
PREPROCESS = {"rna": "lognorm", "protein": "clr"}


@pytest.fixture(scope="module")
def clustered():
    """Cells whose number of clusters was chosen, and their markers."""
    mdata = cells()
    model = AutoDALMC(range(2, 6), budget="fast", preprocess=PREPROCESS, random_state=0).fit(mdata)
    av.tl.auto(mdata, range(2, 6), budget="fast", preprocess=PREPROCESS)
    av.tl.markers(mdata, KEY)
    return mdata, model


def test_results_are_written_by_cell(clustered):
    mdata, model = clustered
    labels = pd.Series(model.labels_, model.sample_ids_)[mdata.obs_names]
    assert mdata.obs[KEY].dtype == "category"
    np.testing.assert_array_equal(mdata.obs[KEY].astype(int), labels)
    assert adjusted_rand_score(mdata["rna"].obs["type"], mdata.obs[KEY]) > 0.9
    np.testing.assert_array_equal(mdata.obs[f"{KEY}_confidence"], model.confidence_)
    np.testing.assert_array_equal(mdata.obsm[f"X_{KEY}"], model.embedding_)
    results = mdata.uns[KEY]
    assert list(results["view_names"]) == ["rna", "protein"]
    assert list(results["view_preprocessing"]) == ["lognorm", "clr"]
    np.testing.assert_array_equal(results["view_agreement"], model.views_["agreement_with_result"])
    np.testing.assert_array_equal(results["levels"]["n_clusters"], model.levels_.index)
    for modality in mdata.mod.values():
        assert (modality.obs[KEY] == mdata.obs[KEY][modality.obs_names]).all()
        rows = mdata.obs_names.get_indexer(modality.obs_names)
        np.testing.assert_array_equal(modality.obsm[f"X_{KEY}"], mdata.obsm[f"X_{KEY}"][rows])


def test_markers_are_ranked_by_the_t_test(clustered):
    mdata, _ = clustered
    rna = mdata["rna"]
    counts = rna.X.toarray().astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    values = np.log1p(counts * np.median(totals) / totals)
    for group in rna.obs[KEY].cat.categories:
        ranked = scanpy.get.rank_genes_groups_df(rna, group=group).set_index("names")
        assert ranked["scores"].is_monotonic_decreasing
        inside = (rna.obs[KEY] == group).to_numpy()
        expected = stats.ttest_ind(values[inside], values[~inside], equal_var=False)
        ranked = ranked.loc[rna.var_names]
        np.testing.assert_allclose(ranked["scores"], expected.statistic, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ranked["pvals"], expected.pvalue, rtol=0.02, atol=1e-9)
        ratio = np.expm1(values[inside].mean(axis=0)) / np.expm1(values[~inside].mean(axis=0))
        np.testing.assert_allclose(ranked["logfoldchanges"], np.log2(ratio), rtol=1e-3, atol=1e-4)
        adjusted = stats.false_discovery_control(ranked["pvals"])
        np.testing.assert_allclose(ranked["pvals_adj"], adjusted, rtol=1e-6)
    assert "rank_genes_groups" in mdata["protein"].uns


def test_plots_of_scanpy_and_of_this_package(clustered):
    mdata, _ = clustered
    for modality in mdata.mod.values():
        scanpy.pl.rank_genes_groups(modality, n_genes=5, show=False)
        titles = {ax.get_title() for ax in plt.gcf().axes}
        assert "0 vs. rest" in titles
        names = {text.get_text() for ax in plt.gcf().axes for text in ax.texts}
        assert modality.uns["rank_genes_groups"]["names"]["0"][0] in names
        scanpy.pl.rank_genes_groups_dotplot(modality, n_genes=2, show=False, dendrogram=False)
        axes = scanpy.pl.embedding(modality, basis=f"X_{KEY}", color=KEY, show=False)
        assert len(axes.collections[0].get_offsets()) == modality.n_obs
    mdata, model = clustered
    assert len(av.pl.cluster_map(mdata, KEY, color=f"{KEY}_confidence").points) == N_CELLS
    assert av.pl.sizes(mdata, KEY).sizes.sum() == N_CELLS
    assert list(av.pl.views(mdata, KEY).weights.index) == ["rna", "protein"]
    assert av.pl.number_of_clusters(mdata, KEY).n_clusters == model.n_clusters_


@pytest.mark.parametrize("kind", ["h5mu", "h5ad"])
def test_round_trip_through_files(clustered, tmp_path, kind):
    mdata, _ = clustered
    data = mdata if kind == "h5mu" else mdata["rna"]
    data.write(tmp_path / f"data.{kind}")
    read = mudata.read_h5mu if kind == "h5mu" else anndata.read_h5ad
    again = read(tmp_path / f"data.{kind}")
    pd.testing.assert_series_equal(again.obs[KEY], data.obs[KEY])
    np.testing.assert_array_equal(again.obsm[f"X_{KEY}"], data.obsm[f"X_{KEY}"])
    rna = again["rna"] if kind == "h5mu" else again
    scanpy.pl.rank_genes_groups(rna, n_genes=3, show=False)
    if kind == "h5mu":
        av.pl.views(again, KEY)
        av.pl.number_of_clusters(again, KEY)
        av.tl.markers(again, KEY, key_added="again")
        for name in ("names", "scores"):
            found, expected = (
                again["rna"].uns[key][name] for key in ("again", "rank_genes_groups")
            )
            np.testing.assert_array_equal(found, expected)


def test_backed_objects(clustered, tmp_path):
    mdata, _ = clustered
    mdata.write(tmp_path / "cells.h5mu")
    backed = mudata.read_h5mu(tmp_path / "cells.h5mu", backed=True)
    av.tl.dalmc(backed, 3, preprocess=PREPROCESS, key_added="again")
    in_memory = mdata.copy()
    av.tl.dalmc(in_memory, 3, preprocess=PREPROCESS, key_added="again")
    assert (backed.obs["again"] == in_memory.obs["again"]).all()
    av.tl.markers(backed, "again")
    av.tl.markers(in_memory, "again")
    found, expected = (own["rna"].uns["rank_genes_groups"] for own in (backed, in_memory))
    np.testing.assert_allclose(
        pd.DataFrame(found["scores"]), pd.DataFrame(expected["scores"]), atol=1e-4
    )


@pytest.mark.parametrize("tool", [av.tl.dalmc, av.tl.auto])
def test_batches_are_taken_out(tool):
    views, y = make_multiview(120, n_clusters=3, separation=8, random_state=0)
    plate = np.arange(120) % 4
    shifts = np.random.default_rng(0).normal(scale=10, size=(4, views["view_0"].shape[1]))
    adata = anndata.AnnData(views["view_0"] + shifts[plate])
    adata.obs["plate"] = plate.astype(str)
    settings = {"budget": "fast"} if tool is av.tl.auto else {}
    uncorrected = tool(adata, 3, key_added="key", copy=True, **settings)
    assert adata.obs.columns.tolist() == ["plate"]
    assert tool(adata, 3, batch="plate", key_added="key", **settings) is None
    assert adjusted_rand_score(y, adata.obs["key"]) == 1
    assert adjusted_rand_score(y, uncorrected.obs["key"]) < 0.9


def test_refused_calls():
    mdata = cells()
    with pytest.raises(ValueError, match="no 'dalmc' in obs\\. Cluster the cells first"):
        av.tl.markers(mdata, "dalmc")
    with pytest.raises(ValueError, match="no 'view_weights' in uns\\['dalmc'\\]"):
        av.pl.views(mdata, "dalmc")
    with pytest.raises(ValueError, match="Write into a copy"):
        av.tl.dalmc(mdata[:50], 3)
    with pytest.raises(ValueError, match="name without slashes"):
        av.tl.auto(mdata, 3, key_added="a/b")
    with pytest.raises(TypeError, match="MuData or AnnData"):
        av.tl.dalmc({"a": np.eye(4)}, 2)
    part = av.tl.dalmc(mdata[:50], 3, copy=True)
    with pytest.raises(ValueError, match="no 'curve' in uns"):
        av.pl.number_of_clusters(part, "dalmc")
    with pytest.raises(ValueError, match="n_features=0 should be"):
        av.tl.markers(part, "dalmc", n_features=0)
