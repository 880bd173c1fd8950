"""Files of AnnData and MuData objects: what a view may be, without reading the matrices."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from anchorview._utils.optional_imports import optional_import
from anchorview.views.stored_matrices import open_matrix

MATRIX_ENCODINGS = ("array", "csr_matrix", "csc_matrix")
"""Encodings of elements that are matrices; a file may have tables and others beside them."""


def _open(path: Path) -> Any:
    return optional_import("h5py", "Files of AnnData and MuData", "mudata").File(path, "r")


def _read_elem(node: Any) -> Any:
    return optional_import("anndata.io", "Files of AnnData and MuData", "mudata").read_elem(node)


def read_table(path: Path, key: str) -> pd.DataFrame:
    """A table of a file, such as ``obs``."""
    with _open(path) as file:
        table = _read_elem(file[key])
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"{key!r} is not a table")
    return table


def modality_names(path: Path) -> list[str]:
    """Names of the modalities of a MuData file, in the order that it gives."""
    with _open(path) as file:
        if "mod" not in file:
            raise ValueError("it has no modalities")
        if int(file.attrs.get("axis", 0)) == 1:
            raise ValueError(
                "its modalities share features, not samples (axis=1), so they are not views"
            )
        order = [str(name) for name in file["mod"].attrs.get("mod-order", ())]
        return [name for name in order if name in file["mod"]] or list(file["mod"])


@dataclass(frozen=True)
class StoredCells:
    """An AnnData object in a file, with those of its attributes that views are made of."""

    path: Path
    key: str = "/"
    """Group of the object."""

    def _key(self, name: str) -> str:
        return f"{self.key.rstrip('/')}/{name}"

    @cached_property
    def obs_names(self) -> "pd.Index[Any]":
        """Names of the samples."""
        return _index(self.path, self._key("obs"))

    @cached_property
    def var_names(self) -> "pd.Index[Any]":
        """Names of the features."""
        return _index(self.path, self._key("var"))

    @property
    def n_obs(self) -> int:
        """Number of samples."""
        return len(self.obs_names)

    @property
    def var(self) -> pd.DataFrame:
        """Table of the features."""
        return read_table(self.path, self._key("var"))

    @property
    def X(self) -> Any:
        """The main matrix; None if there is none."""
        with _open(self.path) as file:
            found = self._key("X") in file
            empty = found and str(file[self._key("X")].attrs.get("encoding-type")) == "null"
            return None if not found or empty else open_matrix(file[self._key("X")])

    @property
    def layers(self) -> "StoredElements":
        """Other matrices of the same features."""
        return StoredElements(self.path, self._key("layers"))

    @property
    def obsm(self) -> "StoredElements":
        """Other matrices of the same samples."""
        return StoredElements(self.path, self._key("obsm"))


@dataclass(frozen=True)
class StoredElements:
    """Elements of a group of a file, by name."""

    path: Path
    key: str

    def keys(self) -> list[str]:
        """Names of the elements."""
        with _open(self.path) as file:
            return list(file[self.key]) if self.key in file else []

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> Any:
        with _open(self.path) as file:
            node = file[self.key][name]
            if str(node.attrs.get("encoding-type", "array")) in MATRIX_ENCODINGS:
                return open_matrix(node)
            return _read_elem(node)


def _index(path: Path, key: str) -> "pd.Index[Any]":
    with _open(path) as file:
        node = file[key]
        name = node.attrs.get("_index")
        if not isinstance(name, str) or name not in node:
            raise ValueError(f"{key!r} is not a table with an index")
        return pd.Index(_read_elem(node[name])).astype(str)
