"""Encoding of typed values as trees of JSON values and arrays, and strict decoding.

Decoding follows type annotations, never what the tree says about itself. A class is stored as an
object with one entry per parameter of its constructor. Anything unexpected raises ValueError.
Shapes are not checked: the checksums of a file prove that it is as it was written.
"""

import math
from collections.abc import Set
from dataclasses import dataclass
from functools import cache, singledispatch
from inspect import signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array, ExtendedArray

Tree = Any
"""A JSON value that may contain arrays."""

if TYPE_CHECKING:
    AnyIndex = pd.Index[Any]
    FloatSeries = pd.Series[float]
else:
    AnyIndex, FloatSeries = pd.Index, pd.Series

PANDAS_PARAMETERS: dict[Any, dict[str, Any]] = {
    pd.Index: {"data": list[int | str], "name": str | None},
    pd.Series: {"data": list[float | None], "index": pd.Index, "name": str | None},
}


@dataclass
class Table:
    """How a DataFrame is stored; the index is the first column if it has a name."""

    columns: dict[str, list[bool | int | float | str | None]]
    dtypes: list[Literal["bool", "int64", "Int64", "float64", "object", "str"]]
    index: str | None

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Table of a frame."""
        index: Any = frame.index.name
        plain = frame if index is None else frame.reset_index()
        values = plain.astype(object).where(plain.notna(), None)
        columns = {str(name): column.tolist() for name, column in values.items()}
        dtypes: list[Any] = [str(dtype) for dtype in plain.dtypes]
        return cls(columns, dtypes, index)

    def restored(self) -> pd.DataFrame:
        """Frame of the table."""
        types = dict(zip(self.columns, self.dtypes, strict=True))
        frame = pd.DataFrame(self.columns).astype(types)
        return frame if self.index is None else frame.set_index(self.index)


FORMS: dict[Any, Any] = {pd.DataFrame: Table}
"""What is stored of the instances of some classes: a class with `of` and `restored`."""

RENAMED = {"level_labels_": "_level_labels"}
"""Present names of entries that files of earlier versions have under another name."""


def require(condition: bool | np.bool_, reason: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(reason)


@singledispatch
def validate(value: Any) -> Any:
    """Return a decoded instance, or raise ValueError if no fitted model can contain it."""
    return value


@validate.register(pd.Series)
def _(series: FloatSeries) -> FloatSeries:
    # Without any number, None would not have become NaN.
    return series.astype(np.float64)


@cache
def _parameters(cls: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Annotations of the constructor's parameters, and names of those that may be left out."""
    if cls in PANDAS_PARAMETERS:
        return PANDAS_PARAMETERS[cls], frozenset()
    hints = get_type_hints(cls.__init__, include_extras=True)
    hints.pop("return", None)
    parameters = signature(cls).parameters.values()
    return hints, frozenset(own.name for own in parameters if own.default is not own.empty)


def encode(value: Any) -> Tree:
    """Tree of a value."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype == object else np.asarray(value)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: encode(item) for key, item in value.items()}
        return [[encode(key), encode(item)] for key, item in value.items()]
    if isinstance(value, pd.Index | pd.Series):
        name = value.name if isinstance(value.name, str) else None
        if isinstance(value, pd.Index):
            ids = [item if type(item) is int else str(item) for item in value.tolist()]
            return {"data": ids, "name": name}
        # JSON has no NaN.
        values = [None if math.isnan(item) else item for item in value.tolist()]
        return {"data": values, "index": encode(value.index), "name": name}
    form = next((form for kind, form in FORMS.items() if isinstance(value, kind)), None)
    value = value if form is None else form.of(value)
    kind: Any = type(value)
    return {name: encode(getattr(value, name)) for name in _parameters(kind)[0]}


def decode(tree: Tree, annotation: Any, path: str) -> Any:
    """Value of the annotated type; `path` is the place of its tree in the file."""
    annotation = _without_alias(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in (bool, int, float, str):
        return _decode_scalar(tree, annotation, path)
    if origin is Literal:
        require(isinstance(tree, str) and tree in args, f"{path!r} is not one of {args}")
        return tree
    if origin in (Union, UnionType):
        if tree is None and NoneType in args:
            return None
        options = [arg for arg in args if arg is not NoneType]
        if isinstance(tree, list):
            options = [arg for arg in options if get_origin(arg) in (list, tuple)] or options
        require(len(options) == 1 or type(tree) in options, f"{path!r} is not of type {annotation}")
        return tree if len(options) > 1 else decode(tree, options[0], path)
    if annotation is ExtendedArray:
        return _decode_array(tree, Any, path)
    if origin is np.ndarray:
        (dtype,) = get_args(args[-1])
        array = _decode_array(tree, dtype, path)
        finite = array.dtype == object or np.isfinite(array).all()
        require(finite, f"{path!r} contains infinity")
        return array
    if origin in (list, tuple):
        require(isinstance(tree, list), f"{path!r} is not a list")
        if origin is list or args[-1] is Ellipsis:
            args = args[:1] * len(tree)
        require(len(tree) == len(args), f"{path!r} has {len(tree)} items")
        items = enumerate(zip(tree, args, strict=True))
        return origin(decode(item, arg, f"{path}/{i}") for i, (item, arg) in items)
    if origin is dict:
        pairs = list(map(list, tree.items())) if isinstance(tree, dict) else tree
        decoded = decode(pairs, list[tuple[args]], path)  # type: ignore[valid-type]
        require(len(dict(decoded)) == len(decoded), f"{path!r} has an entry twice")
        return dict(decoded)
    if annotation in FORMS:
        return decode(tree, FORMS[annotation], path).restored()
    types, optional = _parameters(annotation)
    if isinstance(tree, dict):
        tree = {RENAMED.get(name, name): part for name, part in tree.items()}
    parts = entries(tree, set(types), path, optional)
    parts = {name: decode(part, types[name], f"{path}/{name}") for name, part in parts.items()}
    try:
        return validate(annotation(**parts))
    except ValueError as error:
        raise ValueError(f"in {path!r}, {error}") from error


def _without_alias(annotation: Any) -> Any:
    """What an alias with parameters stands for: from NumPy 2.5 on, ``NDArray`` is one."""
    value = getattr(get_origin(annotation), "__value__", None)
    return annotation if value is None else value[get_args(annotation)]


def _decode_scalar(tree: Tree, kind: type, path: str) -> Any:
    if kind is float and type(tree) is int:
        tree = float(tree)
    require(type(tree) is kind, f"{path!r} is not of type {kind.__name__}")
    require(kind is not float or math.isfinite(tree), f"{path!r} is not finite")
    return tree


def _decode_array(tree: Tree, dtype: Any, path: str) -> Array:
    """Array of a type, by default in double precision."""
    if dtype is np.object_:
        return np.array(decode(tree, list[str], path), dtype=object)
    require(isinstance(tree, np.ndarray), f"the array {path!r} is missing")
    expected = np.float64 if dtype is Any else get_origin(dtype) or dtype
    require(np.issubdtype(tree.dtype, expected), f"{path!r} has dtype {tree.dtype}")
    require(tree.ndim > 0, f"{path!r} has shape ()")
    require(not np.isnan(tree).any(), f"{path!r} contains NaN")
    return np.asarray(tree)


def entries(
    tree: Tree, names: set[str], path: str, optional: Set[str] = frozenset()
) -> dict[str, Tree]:
    """Entries of an object, which must be those named; optional ones may be missing."""
    require(isinstance(tree, dict), f"{path!r} is not an object")
    other = min((names - optional) - tree.keys() | tree.keys() - names, default=None)
    reason = "missing" if other in names else "unknown"
    require(other is None, f"{f'{path}/{other}'.lstrip('/')!r} is {reason}")
    return dict(tree)


def split_arrays(tree: Tree, path: str = "") -> tuple[Tree, dict[str, Array]]:
    """JSON document of a tree, null in place of the arrays, and the arrays by their paths."""
    if isinstance(tree, np.ndarray):
        return None, {path[1:]: tree}
    if not isinstance(tree, dict | list):
        return tree, {}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    parts = {key: split_arrays(item, f"{path}/{key}") for key, item in items}
    arrays = {name: array for _, some in parts.values() for name, array in some.items()}
    document = {key: item for key, (item, _) in parts.items()}
    return document if isinstance(tree, dict) else list(document.values()), arrays


def insert_arrays(document: Tree, arrays: dict[str, Array]) -> None:
    """Put arrays in the places of a JSON document from which :func:`split_arrays` took them."""
    for name, array in arrays.items():
        place, keys = document, name.split("/")
        try:
            for key in keys[:-1]:
                place = place[int(key) if isinstance(place, list) else key]
            last = int(keys[-1]) if isinstance(place, list) else keys[-1]
            require(place[last] is None, "the place is taken")
            place[last] = array
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"the array {name!r} is unknown") from error
