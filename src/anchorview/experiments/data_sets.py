"""Data sets of experiments: built in, or files and folders in a data folder."""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array, Matrix
from anchorview.datasets import load_digits, make_multiview, paper_set, read_views
from anchorview.datasets.file_contents import natural
from anchorview.datasets.paper_sets import recognized
from anchorview.datasets.reading import find_format
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
    """Description of a data set, which can load it."""

    name: str
    path: Path | None
    """File or folder; None for a built-in data set."""
    n_samples: int
    n_clusters: int
    n_features_per_view: tuple[int, ...]
    digest: str
    """Digest of the contents."""
    published_as: str | None = None
    """Name in the paper, if it is one of the paper's data sets."""
    complete: bool = True
    """Whether every sample has every view."""

    def load(self) -> LabeledData:
        """Load the views and the class of each sample."""
        return _load(self.name, self.path)


def data_sets(folder: Path | None, names: Sequence[str] | None) -> list[DataSet]:
    """Find and describe data sets.

    In a folder, each file and folder that :func:`anchorview.read_views` reads, with classes, is a
    data set. `names` selects and orders them: names of files without suffix, which precede those
    built in, or data sets of the paper, which are looked for among the files that start with their
    name and have their shape. None means all data sets in the folder, or without a folder the
    built-in ones. Unusable files that are not named are skipped with a single warning.
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
