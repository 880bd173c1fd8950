"""Views in Dask on the schedulers of one machine: accepted input, task graphs, results."""

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview._utils.errors import MissingPackageError
from anchorview.datasets.formats.arrays import open_npy
from anchorview.distributed import dask_views
from anchorview.sources.open_source import open_source
from helpers.dask_problems import (
    K,
    assert_same,
    distance,
    fit,
    in_dask,
    make_views,
    stored,
    with_missing,
)

pytestmark = pytest.mark.usefixtures("small_parts")

N, CHUNK = 1500, 400


@pytest.fixture(scope="module")
def views():
    return make_views(N)


@pytest.fixture(scope="module")
def reference(views):
    return fit(views)


def frames(views, ids=None):
    return {name: pd.DataFrame(view, index=ids) for name, view in views.items()}


@pytest.fixture(scope="module")
def processes():
    """One pool for all computations; without it, each would start its own processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


PROCESSES = pytest.param("processes", marks=pytest.mark.system)


@pytest.mark.parametrize("scheduler", ["threads", PROCESSES, "synchronous"])
def test_schedulers_equal_memory(views, reference, scheduler, request):
    pool = request.getfixturevalue("processes") if scheduler == "processes" else None
    with dask.config.set(scheduler=scheduler, pool=pool):
        model = fit(in_dask(views, CHUNK))
        assert_same(model, reference)
        broken = {name: view.copy() for name, view in views.items()}
        broken["a"][1234, 2] = np.nan
        with pytest.raises(ValueError) as raised:
            model.predict(in_dask(broken, CHUNK)).compute()
    assert type(raised.value) is ValueError
    assert str(raised.value).startswith("view 0 ('a') contains NaN at row 1234, column 2. Input")


@pytest.mark.parametrize("missing", [False, True])
def test_unaligned_chunks(views, missing):
    views = with_missing(views, CHUNK) if missing else views
    chunks = {"a": (350, 5), "b": ((700, 0, 100, 700), 7), "c": (1500, 2)}
    X = {name: da.from_array(view, chunks=chunks[name]) for name, view in views.items()}
    assert_same(fit(X), fit(views))


def test_unknown_chunks_are_computed(views, reference):
    X = in_dask(views, CHUNK)
    X["b"] = X["b"][da.ones(N, chunks=CHUNK) > 0]
    assert np.isnan(X["b"].shape[0])
    assert_same(fit(X), reference)
    assert np.isnan(X["b"].shape[0])


def test_sparse_blocks():
    rng = np.random.default_rng(0)
    views = make_views(N)
    views["b"][rng.random(views["b"].shape) < 0.7] = 0
    X = in_dask(views, CHUNK)
    X["b"] = X["b"].map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))
    X["a"] = X["a"].rechunk((300, -1))
    assert_same(fit(X, scaling="unit"), fit(views, scaling="unit"))


def test_new_samples(views):
    model = fit(in_dask(views, CHUNK))
    alone = fit(da.from_array(views["a"], chunks=CHUNK))
    assert_same(alone, fit(views["a"]))
    assert alone.n_features_in_ == views["a"].shape[1]
    np.testing.assert_array_equal(alone.predict(views["a"]), alone.labels_.compute())
    new = with_missing(make_views(N, seed=1), CHUNK)
    labels, embedding = model.predict(in_dask(new, 333)), model.transform(in_dask(new, 333))
    assert labels.dtype == np.int32 and labels.shape == (N,)
    assert embedding.shape == (N, K) and embedding.dtype == np.float64
    assert (labels.compute() == model.predict(new)).all()
    np.testing.assert_allclose(embedding.compute(), model.transform(new), atol=1e-12)
    assert (model.labels_.compute() == model.predict(views)).all()


def test_absent_view(views, reference):
    X = in_dask(views, CHUNK)
    expected = reference.predict({"a": views["a"], "c": views["c"]})
    assert (reference.predict({"c": X["c"], "a": X["a"]}).compute() == expected).all()
    by_position = fit(list(views.values()))
    labels = by_position.predict([X["a"], None, X["c"]]).compute()
    assert (labels == by_position.predict([views["a"], None, views["c"]])).all()
    with pytest.raises(ValueError, match="'b'\\) is missing for all samples"):
        fit({**X, "b": None})


def test_frames_are_aligned_by_index():
    rng = np.random.default_rng(0)
    all_ids = np.array([f"s{i:04}" for i in range(N)])
    own = {name: np.sort(rng.choice(N, int(0.8 * N), replace=False)) for name in "abc"}
    # One frame has no sample of the last third.
    own["c"] = own["c"][own["c"] < 1000]
    views = make_views(N)
    tables = {
        name: pd.DataFrame(views[name][rows], index=all_ids[rows]) for name, rows in own.items()
    }
    X = {
        name: dd.from_pandas(table, npartitions=parts)
        for (name, table), parts in zip(tables.items(), (3, 5, 2), strict=True)
    }
    in_pandas, model = fit(tables), fit(X)
    ids = pd.Index(model.sample_ids_.compute())
    assert len(ids) == len(in_pandas.sample_ids_) and set(ids) == set(in_pandas.sample_ids_)
    order = ids.get_indexer(in_pandas.sample_ids_)
    assert distance(model.embedding_.compute()[order], in_pandas.embedding_) <= 1e-6
    assert adjusted_rand_score(model.labels_.compute()[order], in_pandas.labels_) >= 0.999
    assert (model.predict(X).compute() == model.labels_.compute()).all()


# The warning comes from dask, as it writes the tables.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("columns", [None, 1])
@pytest.mark.parametrize("filesystem", ["fsspec", "arrow"])
@pytest.mark.parametrize("known", [False, True])
def test_partitions_combined_by_dask(views, tmp_path, known, filesystem, columns):
    X, tables = {}, {}
    for name, frame in frames(views).items():
        frame.columns = [f"c{j}" for j in range(frame.shape[1])]
        dd.from_pandas(frame, npartitions=3).to_parquet(tmp_path / name)
        read = dd.read_parquet(tmp_path / name, calculate_divisions=known, filesystem=filesystem)
        assert (read.known_divisions, read.npartitions) == (known, 3)
        # Dask combines more partitions if fewer columns are read.
        X[name], tables[name] = read[list(read.columns[:columns])], frame.iloc[:, :columns]
    # Arrow lists files in any order, so frames without divisions may not match.
    several = [["a", "b"], ["c", "b", "a"]] if known or filesystem == "fsspec" else []
    for chosen in (["a"], *several):
        data = open_source({name: X[name] for name in chosen}).read()
        assert sorted(data.sample_ids) == list(range(N))
        for name, view in zip(data.names, data.views, strict=True):
            np.testing.assert_array_equal(view, tables[name].loc[data.sample_ids])
    if columns is None:
        model, reference = fit(X["a"]), fit(tables["a"])
        ids = model.sample_ids_.compute()
        labels = pd.Series(reference.labels_, index=reference.sample_ids_)
        assert adjusted_rand_score(model.labels_.compute(), labels.loc[ids]) >= 0.999


def test_different_ids_at_the_same_position_raise(views):
    tables = frames(views)
    tables["b"] = tables["b"].rename(index={777: 9999})
    X = {
        name: dd.from_pandas(table, npartitions=3, sort=False).clear_divisions()
        for name, table in tables.items()
    }
    with pytest.raises(ValueError, match=r"row 777 is the sample 9999 in .*'b'\) but 777 in .*set"):
        fit(X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (da.ones((N + 1, 3), chunks=100), r"'a'\) has 1500 samples, but view 1 \('b'\) has 1501"),
        (da.ones(N, chunks=100), r"'b'\) has shape \(1500,\)"),
        (da.ones((N, 0), chunks=100), r"'b'\) is empty: Found array with 0 feature"),
        (da.ones((0, 4)), r"'b'\) is empty: Found array with 0 sample"),
        (da.ones((N, 3), chunks=100, dtype=complex), r"'b'\) is complex"),
        (da.full((N, 3), "x", chunks=100), r"'b'\) is not numeric"),
    ],
)
def test_invalid_arrays_raise(views, wrong, message):
    with pytest.raises(ValueError, match=message):
        fit({**in_dask(views, CHUNK), "b": wrong})


def test_dask_views_of_files(tmp_path):
    views = make_views(N, np.float32)
    maps = stored(tmp_path, views)
    arrays = dask_views([open_npy(tmp_path / f"{name}.npy") for name in views], part_rows=640)
    assert [array.chunks[0] for array in arrays] == [(640, 640, 220)] * 3
    for array, view in zip(arrays, views.values(), strict=True):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array.compute(), view)
    assert dask_views(maps)["a"].numblocks == (1, 1)


def test_without_dask(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("anchorview.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(MissingPackageError, match=r'need dask: pip install "anchorview\[dask\]"'):
        import anchorview.distributed  # noqa: F401


@pytest.mark.parametrize("method", ["fit", "predict", "transform"])
def test_out_raises_before_a_block_is_read(views, tmp_path, method):
    def unreadable(block):
        raise AssertionError("read")

    model = fit([views["a"]])
    X = [da.from_array(views["a"], chunks=(400, -1)).map_blocks(unreadable, dtype=np.float64)]
    with pytest.raises(ValueError, match="out= cannot be used with views in Dask"):
        getattr(model, method)(X, out=tmp_path / "results")
    assert not (tmp_path / "results").exists()
