"""Views in Zarr stores, read by slices. Needs zarr."""

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.optional_imports import optional_import
from anchorview._utils.typing import Array
from anchorview.datasets.file_arrays import UnreadArray, open_arrays
from anchorview.datasets.file_contents import ReadOptions
from anchorview.views.stored_view import StoredView, ViewFile

METADATA_FILES = ("zarr.json", ".zgroup", ".zattrs")
"""Files of which every store has one."""


def _zarr() -> Any:
    return optional_import("zarr", "Zarr stores", "zarr")


@dataclass(frozen=True, eq=False)
class ZarrView(StoredView):
    """An array in a Zarr store in a folder."""

    key: str

    def _read(self, start: int, stop: int) -> Array:
        node = _zarr().open_array(str(self.path), path=self.key, mode="r")
        if node.shape != self.shape:
            raise ValueError(f"the array {self.key!r} now has the shape {node.shape}")
        return np.asarray(node[start:stop])


def open_zarr(path: Path, options: ReadOptions) -> ViewFile:
    """Open the arrays of a store, including those in groups."""
    zarr = _zarr()
    with warnings.catch_warnings():
        # Other files in the folder are not our concern.
        warnings.filterwarnings("ignore", message=".*not recognized as a component")
        members = zarr.open_group(str(path), mode="r").members(max_depth=None)
    arrays = {
        name: UnreadArray(
            node.shape, node.dtype, partial(_read_array, node), partial(_view_of_array, path, node)
        )
        for name, node in members
        if isinstance(node, zarr.Array)
    }
    return open_arrays(path, arrays, options.labels)


def _view_of_array(path: Path, node: Any) -> ZarrView:
    dtype = node.dtype.newbyteorder("=")
    return ZarrView(path, node.shape, dtype, node.path, row_step=node.chunks[0])


def _read_array(node: Any) -> Array:
    """Read a whole array; text as strings."""
    values = np.asarray(node[...])
    return np.array(values.tolist(), dtype=str) if values.dtype.kind in "TO" else values
