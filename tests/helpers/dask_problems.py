"""Data for the tests of Dask, and loaders that workers can import."""

import os
import signal
from functools import partial

import dask.array as da
import numpy as np

WIDTHS = {"a": 12, "b": 7, "c": 5}
K = 4


def make_views(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.integers(K, size=n)
    return {
        name: (3 * rng.normal(size=(K, d))[member] + rng.normal(size=(n, d))).astype(dtype)
        for name, d in WIDTHS.items()
    }


def with_missing(views, chunk):
    """Rows of NaN: a view missing in a whole chunk, a pattern in one chunk only, some anywhere."""
    views = {name: view.copy() for name, view in views.items()}
    views["b"][chunk : 2 * chunk] = np.nan
    views["a"][2 * chunk + 5 : 2 * chunk + 90] = np.nan
    views["b"][2 * chunk + 5 : 2 * chunk + 90] = np.nan
    views["c"][3 * chunk :: 7] = np.nan
    return views


def stored(folder, views):
    """Memory maps of .npy files."""
    folder.mkdir(exist_ok=True)
    for name, view in views.items():
        np.save(folder / f"{name}.npy", view)
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in views}


def in_dask(views, chunk):
    return {name: da.from_array(view, chunks=(chunk, -1)) for name, view in views.items()}


def generated(n, chunk):
    """Views that workers make up, of any size."""
    chunks = tuple(min(chunk, n - start) for start in range(0, n, chunk))
    return {
        name: da.map_blocks(
            partial(_made, name=name, chunks=chunks), chunks=(chunks, (d,)), meta=np.empty((0, 0))
        )
        for name, d in WIDTHS.items()
    }


def _made(block_id, name, chunks):
    rng = np.random.default_rng(block_id[0])
    member = rng.integers(K, size=chunks[block_id[0]])
    shape = (len(member), WIDTHS[name])
    centers = np.random.default_rng(ord(name)).normal(size=(K, shape[1]))
    return 3 * centers[member] + np.random.default_rng([block_id[0], ord(name)]).normal(size=shape)


def deadly(view, chunk, block, read, folder):
    """Dask array of a memory map; the given read of a block kills the worker that does it, once."""
    n, d = view.shape
    chunks = tuple(min(chunk, n - start) for start in range(0, n, chunk))
    load = partial(
        _killing,
        path=view.filename,
        chunk=chunk,
        fatal=(block, read),
        folder=folder,
    )
    return da.map_blocks(load, chunks=(chunks, (d,)), meta=np.empty((0, 0), view.dtype))


def _killing(block_id, path, chunk, fatal, folder):
    i = block_id[0]
    read = 1
    while not _created(folder / f"block-{i}-read-{read}"):
        read += 1
    if (i, read) == fatal and _created(folder / "killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    return np.array(np.load(path, mmap_mode="r")[i * chunk : (i + 1) * chunk])


def _created(path):
    """Whether a file was not there yet; now it is."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def distance(E, F, rows=700):
    """Largest difference of S S' on some rows, relative to the largest entry."""
    chosen = np.linspace(0, len(E) - 1, rows).astype(int)
    A, B = (X[chosen].astype(np.float64) @ X[chosen].T.astype(np.float64) for X in (E, F))
    return np.abs(A - B).max() / np.abs(A).max()
