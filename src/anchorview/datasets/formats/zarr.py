"""Views in Zarr stores, read by slices. Needs zarr."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anchorview._utils.optional_imports import optional_import
from anchorview._utils.typing import Array
from anchorview.views.stored_view import StoredView


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


def zarr_view(path: Path, node: Any) -> ZarrView:
    """View of an open 2-D numeric array."""
    dtype = node.dtype.newbyteorder("=")
    return ZarrView(path, node.shape, dtype, node.path, row_step=node.chunks[0])


def zarr_arrays(path: Path) -> list[tuple[str, Any]]:
    """List all arrays, in groups too, with their names."""
    zarr = _zarr()
    with warnings.catch_warnings():
        # Files of others in the folder are none of our business.
        warnings.filterwarnings("ignore", message=".*not recognized as a component")
        group = zarr.open_group(str(path), mode="r")
        members = group.members(max_depth=None)
    return [(name, node) for name, node in members if isinstance(node, zarr.Array)]


def read_zarr(node: Any) -> Array:
    """Read a whole array; text as strings."""
    values = np.asarray(node[...])
    return np.array(values.tolist(), dtype=str) if values.dtype.kind in "TO" else values
