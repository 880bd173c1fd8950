"""The arguments `views` and `join`: matrices of AnnData and MuData, in memory and in files."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview import DALMC, AutoDALMC, MultiViewData, load, open_views, read_views
from anchorview.datasets import DataFileError, convert
from anchorview.distributed import dask_views
from anchorview.sources import disk_source
from anchorview.sources.open_source import open_source
from anchorview.views.anndata_matrices import MatrixChoice
from anchorview.views.input_grammar import parse
from anchorview.views.stored_view import StoredView
from helpers.cells import N_CELLS, cells

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b"),
    pytest.mark.filterwarnings("ignore:Observation names are not unique"),
]

VIEWS = {"rna": "X:highly_variable", "protein": "X"}


@pytest.fixture(scope="module")
def mdata():
    return cells()


@pytest.fixture
def path(mdata, tmp_path):
    mdata.write(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


def by_cell(model):
    return pd.Series(model.labels_, model.sample_ids_).sort_index()


@pytest.mark.parametrize(
    "text", ["", "x", "X:", "X:a:b", "layer:", "layer:a:", "obsm:a:b", "var:a", 3]
)
def test_unknown_choices_are_refused(text):
    with pytest.raises(ValueError, match="'rna'"):
        MatrixChoice.parse(text, "rna")


def test_all_forms_give_the_same_clusters(mdata, path, set_constants):
    set_constants(disk_source, PART=1000)
    both = {"rna": mdata["rna"], "protein": mdata["protein"]}
    forms = {
        "MuData": (mdata, VIEWS),
        "dict": (both, VIEWS),
        "backed": (mudata.read_h5mu(path, backed=True), VIEWS),
        "opened": (open_views(path, views=VIEWS), None),
        "read": (read_views(path, views=VIEWS), None),
    }
    expected = None
    for form, (X, views) in forms.items():
        model = DALMC(3, random_state=0, solver="compressed").fit(X, views=views)
        found = by_cell(model)
        expected = found if expected is None else expected
        pd.testing.assert_series_equal(found, expected, obj=form)
    unnamed = DALMC(3, random_state=0, solver="compressed").fit(
        list(both.values()), views={"view_0": "X:highly_variable", "view_1": "X"}
    )
    pd.testing.assert_series_equal(by_cell(unnamed), expected)
    assert unnamed.view_names_in_ == ("view_0", "view_1")


@pytest.mark.parametrize("form", ["MuData", "dict", "frames", "file"])
def test_inner_join_keeps_cells_with_all_views(mdata, path, form):
    X = open_views(path) if form == "file" else mdata
    if form in ("dict", "frames"):
        X = {name: own if form == "dict" else own.to_df() for name, own in mdata.mod.items()}
    source = open_source(parse(X, None, "inner"))
    data = source.read() if form == "file" else source
    assert data.available is None
    assert set(data.sample_ids) == set(mdata["protein"].obs_names)
    rna, protein = data.views
    rna = rna.toarray() if sparse.issparse(rna) else rna
    ids = list(data.sample_ids)
    np.testing.assert_array_equal(rna, mdata["rna"][ids].X.toarray())
    np.testing.assert_array_equal(protein, mdata["protein"][ids].X)


def test_inner_join_needs_ids_and_samples(mdata):
    with pytest.raises(ValueError, match="join='inner' needs views with sample ids"):
        parse([np.ones((3, 2)), np.ones((3, 2))], None, "inner")
    with pytest.raises(ValueError, match="join must be"):
        parse(mdata, None, "left")
    with pytest.raises(TypeError, match="join='inner' does not apply to MultiViewData"):
        parse(MultiViewData(np.eye(3)), None, "inner")
    for views in ("X", ["X"], {}, {1: "X"}):
        with pytest.raises(TypeError, match="views must"):
            DALMC(2).fit(mdata, views=views)
    frames = [pd.DataFrame(np.eye(2), list("ab")), pd.DataFrame(np.eye(2), list("cd"))]
    with pytest.raises(ValueError, match="No sample has all views"):
        parse(frames, None, "inner")


def test_predict_selects_what_fit_selected_also_of_one_object(mdata, path, tmp_path):
    views = {"rna": "layer:twice:highly_variable", "protein": "X"}
    model = DALMC(3, random_state=0).fit(mdata, views=views)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.view_selection_ == views
    shuffled = mdata[np.random.default_rng(0).permutation(N_CELLS)].copy()
    labels = loaded.predict(shuffled)[mdata.obs_names]
    np.testing.assert_array_equal(labels, by_cell(model)[mdata.obs_names])
    backed = mudata.read_h5mu(path, backed=True)
    np.testing.assert_array_equal(loaded.predict(backed), model.labels_)
    # A modality may be left out, and other forms are matched by name as always.
    assert len(loaded.predict(mudata.MuData({"rna": mdata["rna"]}))) == N_CELLS
    frame = mdata["rna"].to_df().iloc[:, ::2] * 2
    np.testing.assert_array_equal(
        loaded.predict({"rna": frame}), loaded.predict({"rna": mdata["rna"]})
    )
    rna = mdata["rna"]
    views = {"pca": "obsm:X_pca", "genes": "X"}
    model = AutoDALMC(3, random_state=0, budget="fast").fit(rna, views=views)
    np.testing.assert_array_equal(model.predict(rna), model.labels_)
    lacking = rna.copy()
    del lacking.obsm["X_pca"]
    with pytest.raises(ValueError, match="View 'pca' has no 'X_pca' in obsm; there is nothing"):
        model.predict(lacking)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"atac": "X"}, "views names 'atac', but the modalities are rna, protein"),
        ({"rna": "layer:raw"}, "Modality 'rna' has no layer 'raw'; there is twice"),
        ({"rna": "obsm:X_umap"}, "Modality 'rna' has no 'X_umap' in obsm; there is X_pca"),
        ({"rna": "X:hv"}, "Modality 'rna' has no column 'hv' in var"),
    ],
)
def test_unknown_names(mdata, path, views, message):
    with pytest.raises(ValueError, match=message):
        parse(mdata, views)
    with pytest.raises(DataFileError, match=message):
        open_views(path, views=views)


def test_files_stay_on_disk_and_sparse(mdata, path, tmp_path):
    opened = open_views(path)
    assert all(isinstance(view, StoredView) for view in opened.views.values())
    rna, protein = opened.views.values()
    assert sparse.issparse(rna[3:9]) and rna.is_sparse and not protein.is_sparse
    assert list(rna.feature_names) == list(mdata["rna"].var_names)
    assert rna.nbytes == mdata["rna"].X.nnz * 8
    with pytest.raises(TypeError, match="cannot become an array"):
        np.asarray(rna)
    np.testing.assert_array_equal(rna[3:9].toarray(), mdata["rna"].X[3:9].toarray())
    mdata["rna"].write(tmp_path / "rna.h5ad")
    backed = anndata.read_h5ad(tmp_path / "rna.h5ad", backed="r")
    source = open_source(backed)
    assert isinstance(source, disk_source.DiskSource)
    in_memory = MultiViewData(backed)
    np.testing.assert_array_equal(in_memory.views[0].toarray(), mdata["rna"].X.toarray())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_matrices_of_an_h5ad_file(mdata, tmp_path, form):
    rna = mdata["rna"].copy()
    rna.X = form(rna.X.toarray())
    rna.obsm["frame"] = pd.DataFrame({"one": np.arange(N_CELLS) / 4}, index=rna.obs_names)
    rna.write(tmp_path / "rna.h5ad")
    views = {"x": "X:highly_variable", "pca": "obsm:X_pca", "one": "obsm:frame"}
    for file in (f(tmp_path / "rna.h5ad", views=views) for f in (open_views, read_views)):
        source = open_source(file)
        data = source if isinstance(source, MultiViewData) else source.read()
        x = data.views[0].toarray() if sparse.issparse(data.views[0]) else data.views[0]
        np.testing.assert_array_equal(x, mdata["rna"].X.toarray()[:, ::2])
        np.testing.assert_array_equal(data.views[1], rna.obsm["X_pca"])
        np.testing.assert_array_equal(data.views[2][:, 0], np.arange(N_CELLS) / 4)
        assert list(data.feature_names[2]) == ["one"]
        assert list(data.sample_ids) == list(rna.obs_names)
    default = open_views(tmp_path / "rna.h5ad")
    assert list(default.views) == ["view_0"]


def test_files_are_converted_with_missing_rows_and_damaged_ones_refused(path, tmp_path):
    folder = convert(path, tmp_path / "arrays")
    opened = open_views(folder)
    protein = opened.views["protein"][:]
    assert np.isnan(protein).all(axis=1).sum() == 40
    np.testing.assert_array_equal(protein, read_views(path).views["protein"].to_numpy())
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as file:
        file["mod/rna/X/indices"][5] = 10**6
    view = open_views(path).views["rna"]
    with pytest.raises(DataFileError, match="an entry is outside of the 60 columns"):
        view[:10]


def test_files_in_dask_unless_samples_lack_sparse_views(mdata, path, tmp_path):
    views = dask_views(open_views(path, views={"rna": "X"}))
    model = DALMC(3, random_state=0, preprocess="lognorm").fit(views)
    expected = DALMC(3, random_state=0, preprocess="lognorm").fit(mdata["rna"].X)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    gaps = {"rna": mdata["rna"][:100].copy(), "protein": mdata["protein"]}
    mudata.MuData(gaps).write(tmp_path / "gaps.h5mu")
    with pytest.raises(ValueError, match=r"view 0 \('rna'\) is sparse, and \d+ samples lack it"):
        dask_views(open_views(tmp_path / "gaps.h5mu"))
