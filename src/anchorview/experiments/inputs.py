"""What experiments are run with: data sets, and external methods.

Data sets are built in, or files and folders in a data folder. External methods are classes and
functions outside of this package, named by ``module:name``; ``docs/own_methods.md`` has their
contract.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, signature
from pathlib import Path
from typing import Any, Self

import numpy as np

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array, Matrix
from anchorview.datasets import load_digits, make_multiview, paper_set, read_views
from anchorview.datasets.data_sets import recognized
from anchorview.datasets.file_contents import natural
from anchorview.datasets.reading import find_format
from anchorview.estimators import methods
from anchorview.estimators.methods import Method, method_class
from anchorview.views.container import MultiViewData, without_nan

LabeledData = tuple[MultiViewData, Array]
"""Views, and the true class of each sample."""


def _digits() -> LabeledData:
    views, classes = load_digits(return_X_y=True)
    return MultiViewData(views), classes


def _synthetic() -> LabeledData:
    """Slightly overlapping clusters in three views of different quality and one view of noise."""
    views, classes = make_multiview(
        1000,
        n_clusters=6,
        n_features=(10, 25, 60),
        separation=4.0,
        noise=3.0,
        n_noise_views=1,
        random_state=0,
    )
    # The last digits of a matrix product depend on the machine; the digest must not.
    return MultiViewData({name: view.round(4) for name, view in views.items()}), classes


BUILT_IN: Mapping[str, Callable[[], LabeledData]] = {"digits": _digits, "synthetic": _synthetic}
"""Data sets that are always available."""


@dataclass(frozen=True)
class DataSet:
    """Description of a data set in a file or folder, or built in, which can load it."""

    name: str
    path: Path | None
    n_samples: int
    n_clusters: int
    n_features_per_view: tuple[int, ...]
    digest: str
    published_as: str | None = None
    """Name in the paper, if it is one of the paper's data sets."""
    complete: bool = True
    """Whether every sample has every view."""

    def load(self) -> LabeledData:
        """Load the views and the class of each sample."""
        return _load(self.name, self.path)


def data_sets(folder: Path | None, names: Sequence[str] | None) -> list[DataSet]:
    """Find and describe data sets: all in a folder, the built-in ones without, or those named.

    Names are those of files without suffix, which precede those built in, or of data sets of the
    paper, which are looked for among the files that start with their name and have their shape.
    Unusable files that are not named are skipped with a single warning.
    """
    paths = {} if folder is None else _paths_by_name(folder)
    if names is not None:
        # A file may be given twice: by its name and by that in the paper.
        return list(dict.fromkeys(_named(name, folder, paths) for name in names))
    if folder is None:
        return [_describe(name, None) for name in BUILT_IN]
    usable = _usable(paths)
    if not usable:
        raise ValueError(
            f"{folder}: no data set with classes found. Put .npz or .mat files with views and "
            "classes there, or leave the folder out to use the built-in data sets."
        )
    return usable


def _named(name: str, folder: Path | None, paths: Mapping[str, Path]) -> DataSet:
    if name in paths or name in BUILT_IN:
        return _describe(name, paths.get(name))
    where = "without a data folder" if folder is None else f"in {folder}"
    try:
        published = paper_set(name)
    except ValueError:
        known = ", ".join(dict.fromkeys([*paths, *BUILT_IN]))
        raise ValueError(
            f"Unknown data set {name!r}; available {where} or built in: {known}."
        ) from None
    candidates = _usable({stem: path for stem, path in paths.items() if published.may_be(stem)})
    matching = [data for data in candidates if data.published_as == published.name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        stems = " and ".join(data.name for data in matching)
        raise ValueError(f"{published.name} is found in {stems}. Name one of these files instead.")
    raise ValueError(f"{published.name}: not available {where}. {published.obtain}")


def _paths_by_name(folder: Path) -> dict[str, Path]:
    """Files and folders that may be data sets, by the name of the data set."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder. Give the folder of the data sets.")
    paths: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.name)):
        if path.name.startswith(".") or find_format(path) is None:
            continue
        # The name of a folder may have a dot that does not start a suffix.
        name = path.stem if path.is_file() or path.suffix.lower() == ".zarr" else path.name
        if name in paths:
            raise ValueError(
                f"{folder}: {paths[name].name} and {path.name} would be data sets with the same "
                "name. Rename one of them."
            )
        paths[name] = path
    return paths


def _usable(paths: Mapping[str, Path]) -> list[DataSet]:
    """Describe the usable data sets, and warn of the others."""
    usable, skipped = [], []
    for name, path in paths.items():
        try:
            usable.append(_describe(name, path))
        except ValueError as error:
            skipped.append(one_line(error))
    if skipped:
        # A single warning, as the command line shows only one per line of code.
        warnings.warn(f"Skipped: {' '.join(skipped)}", stacklevel=2)
    return usable


def _describe(name: str, path: Path | None) -> DataSet:
    data, classes = _load(name, path)
    n_clusters = len(np.unique(classes))
    published = recognized(name, (len(data), n_clusters, len(data.views)))
    return DataSet(
        name,
        path,
        len(data),
        n_clusters,
        data.n_features_per_view,
        _digest_of_arrays(*data.views, classes) if path is None else _digest_of_path(path),
        None if published is None else published.name,
        data.available is None,
    )


def _load(name: str, path: Path | None) -> LabeledData:
    if path is None:
        return BUILT_IN[name]()
    file = read_views(path)
    if file.target is None:
        raise DataFileError(f"{path}: has no classes, which scores require. Add them as 'y'.")
    classes = np.asarray(file.target)
    if len(np.unique(classes)) < 2:
        raise DataFileError(f"{path}: all samples are of the same class; scores require two.")
    try:
        return without_nan(MultiViewData(file)), classes
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from error


def _digest_of_arrays(*arrays: Matrix) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _digest_of_path(path: Path) -> str:
    """Digest of a file, or of the names and contents of all files in a folder."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digest = hashlib.sha256()
    names = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name, file in sorted(names.items()):
        digest.update(f"{name}\0{_digest_of_path(file)}\n".encode())
    return digest.hexdigest()


SET_BY_JOBS = ("n_clusters", "random_state", "verbose")
"""Parameters that are set from the data set, the seed and the options."""

CHECKED_SAMPLES, CHECKED_CLUSTERS = 90, 3
"""Size of the data on which :func:`check_method` tries a method."""


def is_external(name: str) -> bool:
    """Whether a method is not of this package, but named by its module."""
    return ":" in name


def find_method(name: str) -> Method:
    """Entry of a method of the registry, or one made for ``module:name``."""
    if not is_external(name):
        return methods.find_method(name)
    imported(name)
    return Method(name, name, name.rpartition(":")[2], color="", grid={})


class ExternalMethod:
    """An external class or function as an estimator; `fit` sets `labels_` only."""

    def __init__(self, name: str, n_clusters: int, **settings: Any) -> None:
        self.name, self.target = name, imported(name)
        self.settings = {"n_clusters": n_clusters, **settings}

    def fit(self, data: MultiViewData) -> Self:
        """Cluster the views, which are passed as a dict of arrays or sparse matrices."""
        views = dict(zip(data.names, data.views, strict=True))
        if isclass(self.target):
            model: Any = self.target(**self.settings)
            if hasattr(model, "fit_predict"):
                found = model.fit_predict(views)
            else:
                model.fit(views)
                found = model.labels_
        else:
            found = self.target(views, **self.settings)
        labels = np.asarray(found)
        if labels.shape != (len(data),) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"{self.name} returned labels of shape {labels.shape} and type {labels.dtype} for "
                f"{len(data)} samples; return one integer per sample"
            )
        self.labels_ = labels.astype(np.int32)
        return self


@cache
def imported(name: str) -> Any:
    """Import the class or function ``module:name``, and check that jobs can call it."""
    module, _, attribute = name.partition(":")
    try:
        target = getattr(import_module(module), attribute)
        views = [] if isclass(target) else ["views"]
        signature(target).bind(*views, n_clusters=2, random_state=0)
        return target
    except Exception as error:
        raise ValueError(
            f"Method {name!r} cannot be used ({type(error).__name__}: {one_line(error)}). Write "
            "module:Class or module:function, with the module in the current folder or installed; "
            "it takes n_clusters and random_state, and has defaults for all other parameters."
        ) from error


def default_settings(name: str) -> dict[str, Any]:
    """Default values of the parameters of a method."""
    target = imported(name) if is_external(name) else method_class(name)
    taken = list(signature(target).parameters.values())
    # The first parameter of a function is the views.
    return {each.name: each.default for each in taken[0 if isclass(target) else 1 :]}


@cache
def code_digest(name: str) -> str:
    """Digest of the code of an external method, else "": one that was changed is run again."""
    if not is_external(name):
        return ""
    spec = find_spec(name.partition(":")[0].partition(".")[0])
    folders = spec.submodule_search_locations if spec else None
    origin = [Path(spec.origin)] if spec and spec.origin else []
    files = sorted(p for each in folders for p in Path(each).rglob("*.py")) if folders else origin
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def check_method(name: str) -> Iterator[str]:
    """Try a method on small data; yields warnings, and raises for what no experiment runs with."""
    views, _ = make_multiview(CHECKED_SAMPLES, n_clusters=CHECKED_CLUSTERS, random_state=0)
    found = []
    for _ in range(2):
        data = MultiViewData({key: view.copy() for key, view in views.items()})
        model = ExternalMethod(name, CHECKED_CLUSTERS, random_state=0)
        try:
            model.fit(data)
        except Exception as error:
            raise ValueError(
                f"Method {name!r} failed on a dict of {len(views)} arrays with {CHECKED_SAMPLES} "
                f"samples each, n_clusters={CHECKED_CLUSTERS} ({type(error).__name__}: "
                f"{one_line(error)})."
            ) from error
        for key, view in zip(data.names, data.views, strict=True):
            if not np.array_equal(view, views[key]):
                raise ValueError(
                    f"Method {name!r} changes its input, the array {key!r}. Other runs get the "
                    "same arrays: copy before writing."
                )
        found.append(model.labels_)
    if not np.array_equal(found[0], found[1]):
        yield f"{name} gives other labels for the same random_state: results cannot be repeated."
    n_found = len(np.unique(found[0]))
    if n_found != CHECKED_CLUSTERS:
        yield f"{name} found {n_found} clusters with n_clusters={CHECKED_CLUSTERS}."
