"""Views, labels and availability among arrays that are not read yet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import label_vector, natural
from anchorview.datasets.formats.table_folders import one_of_labels
from anchorview.datasets.variables import binary, is_mask_name, not_a_mask
from anchorview.views.stored_view import StoredView
from anchorview.views.view_file import View


@dataclass(frozen=True)
class Item:
    """An array in a file or folder, not read yet."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    read: Callable[[], NDArray[Any]]
    view: Callable[[], StoredView]

    def __str__(self) -> str:
        return f"{' x '.join(map(str, self.shape)) or 'one'} {self.dtype} values"

    @property
    def is_matrix(self) -> bool:
        """Whether it can be a view."""
        return len(self.shape) == 2 and self.dtype.kind in "biuf" and 0 not in self.shape


def told_apart(
    items: dict[str, Item],
) -> "tuple[dict[str, View], NDArray[Any] | None, NDArray[np.bool_] | None]":
    """Open views, in natural order, and read labels and availability; samples are rows."""
    label_name = one_of_labels(list(items))
    matrices = {
        name: items[name]
        for name in sorted(items, key=natural)
        if items[name].is_matrix and name != label_name
    }
    mask_name, available = _mask(matrices)
    if mask_name is not None:
        del matrices[mask_name]
    if not matrices:
        names = ", ".join(map(repr, items)) or "nothing"
        raise DataFileError(
            f"no views inside, only {names}. Store each view as a 2-D numeric array, samples x "
            "features, under a name that is not one of labels."
        )
    first, n_samples = next((name, item.shape[0]) for name, item in matrices.items())
    for name, item in matrices.items():
        if item.shape[0] != n_samples:
            raise DataFileError(
                f"{first!r} has {n_samples} samples, but {name!r} has {item.shape[0]}. All views "
                "need the same samples as rows, in the same order."
            )
    target = None if label_name is None else _labels(label_name, items[label_name], n_samples)
    return {name: item.view() for name, item in matrices.items()}, target, available


def _mask(matrices: dict[str, Item]) -> "tuple[str | None, NDArray[np.bool_] | None]":
    """Find and read the matrix that says which samples have which views."""
    named = [name for name in matrices if is_mask_name(name.rpartition("/")[2])]
    views = [item for name, item in matrices.items() if name not in named]
    if not views:
        return None, None
    shape = (views[0].shape[0], len(views))
    # Anything else of such a name is a view.
    masks = [n for n in named if matrices[n].shape == shape or matrices[n].dtype.kind == "b"]
    if len(masks) > 1:
        raise DataFileError(
            f"{' and '.join(map(repr, masks))} all look like an index of which samples have "
            "which views. Keep one."
        )
    for name in masks:
        mask = binary(matrices[name].read()) if matrices[name].shape == shape else None
        if mask is None:
            raise not_a_mask(name, *shape)
        return name, mask
    return None, None


def _labels(name: str, item: Item, n_samples: int) -> NDArray[Any]:
    # What is not a vector may be too large to read.
    vector = np.prod(item.shape) == max(item.shape, default=0)
    labels = label_vector(item.read()) if vector else None
    if labels is None:
        raise DataFileError(
            f"{name!r} is named like labels but is not one vector of whole numbers or strings. "
            "Store one label per sample, or rename it."
        )
    if len(labels) != n_samples:
        raise DataFileError(
            f"{len(labels)} labels do not fit the {n_samples} samples of the views. Store one "
            "label per sample."
        )
    return labels
