"""Bytes that opening a large file of each format reads, and the time that it takes.

Usage: ``python benchmarks/opening.py [--gigabytes 2] [--folder FOLDER] [--only NAME]``.
Needs Linux, which counts what a process reads. Pages of the files are dropped from memory first, so
that reading by a memory map is counted too if the folder is on a disk.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from anndata import AnnData
from anndata.io import write_elem
from scipy import sparse

from anchorview.datasets import open_views

WIDTH = 100
"""Number of features; 8 bytes each."""
BLOCK = 100_000
"""Rows that are written at a time, and rows of a row group of Parquet."""


def blocks(n_rows: int) -> "list[int]":
    return [min(BLOCK, n_rows - start) for start in range(0, n_rows, BLOCK)]


def values(n_rows: int) -> np.ndarray:
    return np.random.default_rng(n_rows).normal(size=(n_rows, WIDTH))


def write_npy(path: Path, n_rows: int) -> Path:
    path.mkdir()
    array = np.lib.format.open_memmap(path / "a.npy", "w+", float, (n_rows, WIDTH))
    for k, size in enumerate(blocks(n_rows)):
        array[k * BLOCK : k * BLOCK + size] = values(size)
    array.flush()
    return path


def write_hdf5(path: Path, n_rows: int) -> Path:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        node = file.create_dataset("a", (n_rows, WIDTH), float, chunks=(1000, WIDTH))
        for k, size in enumerate(blocks(n_rows)):
            node[k * BLOCK : k * BLOCK + size] = values(size)
        file["y"] = (np.arange(n_rows) % 10).astype("i1")
    return path.with_suffix(".h5")


def write_h5ad(path: Path, n_rows: int) -> Path:
    """Counts of 20,000 genes, of which a cell has a tenth, and text in obs."""
    n_rows = n_rows // 20 + 1
    few = AnnData(sparse.csr_array((n_rows, 20_000), dtype=np.float32))
    few.obs["cell_type"] = np.array(["a", "b", "c"])[np.arange(n_rows) % 3]
    few.write_h5ad(path.with_suffix(".h5ad"))
    with h5py.File(path.with_suffix(".h5ad"), "a") as file:
        del file["X"]
        write_elem(file, "X", sparse.random_array(few.shape, density=0.1, format="csr", dtype="f4"))
    return path.with_suffix(".h5ad")


def write_zarr(path: Path, n_rows: int) -> Path:
    group = zarr.open_group(str(path), mode="w")
    array = group.create_array("a", shape=(n_rows, WIDTH), chunks=(10_000, WIDTH), dtype="f8")
    for k, size in enumerate(blocks(n_rows)):
        array[k * BLOCK : k * BLOCK + size] = values(size)
    return path


def write_parquet(path: Path, n_rows: int, group_rows: int = BLOCK) -> Path:
    path.mkdir()
    names = [f"f{j}" for j in range(WIDTH)]
    writer = None
    for k, size in enumerate(blocks(n_rows)):
        ids = pa.array([f"s{k * BLOCK + i}" for i in range(size)])
        table = pa.table([ids, *values(size).T], names=["id", *names])
        writer = writer or pq.ParquetWriter(path / "a.parquet", table.schema)
        writer.write_table(table, group_rows)
    writer.close()
    return path


WRITERS = {
    "folder of .npy": write_npy,
    "HDF5": write_hdf5,
    ".h5ad": write_h5ad,
    "Zarr": write_zarr,
    "Parquet": write_parquet,
}


def bytes_read() -> int:
    """Bytes that the process has read by calls, or from the disk if these are more."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return max(int(fields["rchar"]), int(fields["read_bytes"]))


def drop_pages(path: Path) -> int:
    """Write a file or folder to the disk and drop it from memory; return the size."""
    size = 0
    for file in [path] if path.is_file() else filter(Path.is_file, path.rglob("*")):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            size += file.stat().st_size
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--folder", type=Path, help="where the files are written")
    parser.add_argument("--only", help="name of one format")
    wanted = parser.parse_args()
    n_rows = int(wanted.gigabytes * 1e9 / 8 / WIDTH)
    print("| format | size | read | share | seconds |\n|---|---|---|---|---|")
    for name, write in WRITERS.items():
        if wanted.only not in (None, name):
            continue
        folder = Path(tempfile.mkdtemp(dir=wanted.folder))
        try:
            # Imports what the format needs.
            open_views(write(folder / "small", 1000))
            path = write(folder / "large", n_rows)
            size, before, start = drop_pages(path), bytes_read(), time.perf_counter()
            open_views(path)
            seconds, count = time.perf_counter() - start, bytes_read() - before
            print(f"| {name} | {size:,} | {count:,} | {count / size:.2%} | {seconds:.2f} |")
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
