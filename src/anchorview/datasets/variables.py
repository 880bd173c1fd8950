"""Views, labels and availability among the variables of a ``.npz`` or ``.mat`` file."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import LABEL_NAMES, is_label_name, label_vector, natural
from anchorview.datasets.formats.hdf5 import Hdf5View
from anchorview.views.view_file import View

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
Matrix: TypeAlias = "NDArray[Any] | sparse.csr_array[Any] | sparse.csc_array[Any] | Hdf5View"
Variables: TypeAlias = dict[str, object]

#: Names, in any case, of a matrix that says which samples have which views.
MASK_NAMES = ("available", "availability", "mask", "index", "ind", "indicator", "presence")


def sort_out(
    variables: Variables, choose: Callable[[Variables], dict[str, Matrix]]
) -> tuple[dict[str, View], NDArray[Any] | None, "NDArray[np.bool_] | None"]:
    """Tell views, labels and availability apart.

    Parameters
    ----------
    variables : dict of str to object
        All that the file holds.
    choose : callable
        Picks the views of such a file: :func:`npz_views` or :func:`matlab_views`.

    Returns
    -------
    views, target, available
        With samples as rows; the last two None if there are none.
    """
    masks = {
        name: mask
        for name, value in variables.items()
        if is_mask_name(name) and _is_matrix(value)
        if (mask := binary(value)) is not None
    }
    found = choose(_without(variables, masks))
    if not found:
        masks, found = {}, choose(variables)
    if not found:
        names = ", ".join(map(repr, variables)) or "nothing"
        raise DataFileError(
            f"no views inside, only {names}. Store each view as a 2-D numeric array, samples x "
            "features, under a name that is not one of labels."
        )
    target = _find_target(variables)
    views = _samples_as_rows(found, target)
    shape = (next(iter(views.values())).shape[0], len(views))
    fitting = {name: m for name, m in masks.items() if shape in (m.shape, m.shape[::-1])}
    possible = choose(_without(variables, fitting))
    for name, value in _without(variables, [*found, *fitting]).items():
        if not (is_mask_name(name) and _is_matrix(value)):
            continue
        # MATLAB's vectors are 2-D too, and often hold an order of the samples.
        alike = name in masks or shape in (value.shape, value.shape[::-1])
        if name in possible:
            # Only the name is like that of a mask if it fits the views as one of them.
            refused = shape[0] not in value.shape
        else:
            refused = alike and min(value.shape) > 1
        if refused:
            raise not_a_mask(name, *shape)
    if len(possible) > len(found):
        views = _samples_as_rows(possible, target)
        if fitting:
            raise not_a_mask(next(iter(fitting)), shape[0], len(views))
    if len(fitting) > 1:
        raise DataFileError(
            f"{' and '.join(map(repr, fitting))} all look like an index of which samples have "
            "which views. Keep one."
        )
    for mask in fitting.values():
        return views, target, mask if mask.shape == shape else mask.T
    return views, target, None


def not_a_mask(name: str, n_samples: int, n_views: int) -> DataFileError:
    """Error about something that is named like a mask but cannot be one."""
    return DataFileError(
        f"{name!r} is named like an index of which samples have which views, but is not "
        f"{n_samples} x {n_views} (samples x views) of zeros and ones. Correct or rename it."
    )


def _without(items: dict[str, Any], names: Any) -> dict[str, Any]:
    return {name: value for name, value in items.items() if name not in names}


def is_mask_name(name: str) -> bool:
    """Whether what has this name may say which samples have which views."""
    return name.lower() in MASK_NAMES


def binary(matrix: Matrix) -> "NDArray[np.bool_] | None":
    """Read a matrix of zeros and ones as booleans; None if it is not one."""
    matrix = np.asarray(matrix) if isinstance(matrix, Hdf5View) else matrix
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isin(entries, (0, 1)).all():
        return None
    return (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()).astype(bool)


def matlab_views(variables: Variables) -> dict[str, Matrix]:
    """Pick the views by the habits of MATLAB: a cell array, numbered matrices, or any others."""
    cells = {
        name: value
        for name, value in variables.items()
        if not is_label_name(name) and isinstance(value, list) and value
        if all(map(_is_matrix, value))
    }
    if cells:
        if "X" not in cells and len(cells) > 1:
            names = ", ".join(map(repr, cells))
            raise DataFileError(
                f"several cell arrays of matrices: {names}. Name the one with the views X."
            )
        matrices = cells["X"] if "X" in cells else next(iter(cells.values()))
        return {f"view_{i}": matrix for i, matrix in enumerate(matrices)}
    views = npz_views(variables)
    numbered = {name: view for name, view in views.items() if re.fullmatch(r"[xX]_?\d+", name)}
    # MATLAB's scalars and vectors are 2-D too: parameters, indices, weights.
    return numbered or {name: view for name, view in views.items() if min(view.shape) > 1}


def npz_views(variables: Variables) -> dict[str, Matrix]:
    """Pick all matrices that are not labels, in the natural order of their names."""
    matrices = {
        name: value
        for name, value in variables.items()
        if not is_label_name(name) and _is_matrix(value)
    }
    return {name: matrices[name] for name in sorted(matrices, key=natural)}


def _is_matrix(value: object) -> TypeGuard[Matrix]:
    return (
        isinstance(value, np.ndarray | sparse.csc_array | Hdf5View)
        and value.ndim == 2
        and value.dtype.kind in "biuf"
        and min(value.shape) > 0
    )


def _find_target(variables: Variables) -> NDArray[Any] | None:
    names = sorted(filter(is_label_name, variables), key=lambda n: LABEL_NAMES.index(n.lower()))
    if not names:
        return None
    for name in names:
        labels = label_vector(variables[name])
        if labels is not None:
            return labels
    raise DataFileError(
        f"{names[0]!r} is named like labels but is not one vector of whole numbers or strings. "
        "Store one label per sample, or rename it."
    )


def _samples_as_rows(matrices: dict[str, Matrix], target: NDArray[Any] | None) -> dict[str, View]:
    rows = {matrix.shape[0] for matrix in matrices.values()}
    columns = {matrix.shape[1] for matrix in matrices.values()}
    if target is None:
        in_columns = len(columns) == 1 and len(rows) > 1
    else:
        in_columns = columns == {len(target)} and rows != {len(target)}
    if in_columns:
        matrices = {name: matrix.T for name, matrix in matrices.items()}
        rows = columns
    shapes = ", ".join(f"{name} {m.shape[0]} x {m.shape[1]}" for name, m in matrices.items())
    if len(rows) > 1:
        raise DataFileError(
            f"the views differ in their number of samples: {shapes}. All views need the same "
            "samples as rows, in the same order."
        )
    if target is not None and rows != {len(target)}:
        raise DataFileError(
            f"{len(target)} labels do not fit the views: {shapes}. Store one label per sample."
        )
    return {name: _as_view(matrix) for name, matrix in matrices.items()}


def _as_view(matrix: Matrix) -> View:
    if isinstance(matrix, Hdf5View):
        return matrix
    view = matrix if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix)
    # Compiled code downstream takes numbers in the machine's own byte order only.
    return view.astype(view.dtype.newbyteorder("="), copy=False)
