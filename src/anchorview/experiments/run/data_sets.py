"""Data sets of experiments: built in, or files in a folder."""

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview.datasets import load_digits, make_multiview, paper_set, read_views
from anchorview.datasets.file_contents import natural
from anchorview.datasets.paper_sets import PaperSet, recognized
from anchorview.views.container import MultiViewData

FILE_SUFFIXES = (".npz", ".mat", ".h5", ".hdf5", ".h5mu")
"""Endings of files that may be a data set."""

TABLE_SUFFIXES = (".csv", ".parquet", ".npy")
"""Endings of files that make their folder a possible data set."""

ZARR = ".zarr"

Labeled = tuple[MultiViewData, NDArray[Any]]
"""Views, and the true class of each sample."""


def _digits() -> Labeled:
    views, labels = load_digits(return_X_y=True)
    return MultiViewData(views), labels


def _synthetic() -> Labeled:
    """Clusters that overlap a little, in three views of unequal worth and one without any."""
    views, labels = make_multiview(
        1000,
        n_clusters=6,
        n_features=(10, 25, 60),
        separation=4.0,
        noise=3.0,
        n_noise_views=1,
        random_state=0,
    )
    # The last digits of a matrix product depend on the machine; the data set must not.
    return MultiViewData({name: view.round(4) for name, view in views.items()}), labels


BUILT_IN: Mapping[str, Callable[[], Labeled]] = {"digits": _digits, "synthetic": _synthetic}
"""Data sets that are always there."""


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before its views are loaded.

    Attributes
    ----------
    name : str
        The file's name without its ending, or that of a built-in data set.
    path : Path or None
        The file or folder; None if built in.
    n_samples : int
    n_clusters : int
        Number of classes of its labels.
    n_features_per_view : tuple of int
    digest : str
        Of the contents: other contents have another one.
    published_as : str or None
        Its name in the paper, if it is one of the paper's.
    complete : bool
        Whether every sample has every view.

    Examples
    --------
    >>> digits, synthetic = data_sets(None, None)
    >>> digits.n_samples, digits.n_clusters, digits.n_features_per_view
    (2000, 10, (240, 76, 216, 47, 64, 6))
    >>> data, labels = digits.load()
    >>> len(data), labels.shape
    (2000, (2000,))
    """

    name: str
    path: Path | None
    n_samples: int
    n_clusters: int
    n_features_per_view: tuple[int, ...]
    digest: str
    published_as: str | None = None
    complete: bool = True

    def load(self) -> Labeled:
        """Load the views, and the label of each sample."""
        return BUILT_IN[self.name]() if self.path is None else _read(self.path)


def data_sets(folder: Path | None, names: Sequence[str] | None) -> list[DataSet]:
    """Find data sets and look at what they hold.

    Parameters
    ----------
    folder : Path or None
        Every file and folder in it that :func:`anchorview.read_views` reads, with labels, is a
        data set.
    names : sequence of str or None
        The ones to take, in this order: names of files without their endings, ``"digits"`` and
        ``"synthetic"``, which are always there, and names of the paper's data sets, for which a
        file is looked for that starts with the name and has the right numbers of samples, classes
        and views. A file comes before a built-in data set of its name, with a warning. None: all
        of the folder, or the two built-in ones without a folder.

    Returns
    -------
    list of DataSet

    Raises
    ------
    ValueError
        If a named data set is not there or cannot be used, or there is none at all. What is not
        named and cannot be used is left out with a warning for all of it.
    """
    paths = {} if folder is None else _paths_by_name(folder)
    if names is not None:
        _warn_of_shadows([paths[name] for name in names if name in paths and name in BUILT_IN])
        # The same file may have been named as the paper has it too.
        return list(dict.fromkeys(_named(name, folder, paths) for name in names))
    if folder is None:
        return [_built_in(name) for name in BUILT_IN]
    found = _usable(paths)
    if not found:
        raise ValueError(
            f"{folder}: there is no data set with labels inside. Put .npz or .mat files with views "
            "and labels there, or leave the folder out for the built-in data sets."
        )
    return found


def _named(name: str, folder: Path | None, paths: Mapping[str, Path]) -> DataSet:
    if name in paths:
        return _described(name, paths[name])
    if name in BUILT_IN:
        return _built_in(name)
    try:
        published = paper_set(name)
    except ValueError:
        known = ", ".join(dict.fromkeys([*paths, *BUILT_IN]))
        where = "without a data folder" if folder is None else f"with those in {folder}"
        raise ValueError(
            f"Data set {name!r} is unknown; {where} there are {known}. Name one of them."
        ) from None
    return _of_paper(published, folder, paths)


def _of_paper(published: PaperSet, folder: Path | None, paths: Mapping[str, Path]) -> DataSet:
    """Find the one file that holds a data set of the paper."""
    alike = {stem: path for stem, path in paths.items() if published.may_be(stem)}
    found = _usable(alike)
    matching = [data for data in found if data.published_as == published.name]
    if len(matching) > 1:
        raise ValueError(
            f"{published.name} is in {' and in '.join(data.name for data in matching)}. Name the "
            "one to take."
        )
    if not matching:
        place = "no data folder is given" if folder is None else f"it is not in {folder}"
        others = "".join(
            f" {data.name} has {data.n_samples} samples, {data.n_clusters} classes and "
            f"{len(data.n_features_per_view)} views."
            for data in found
        )
        raise ValueError(f"{published.name}: {place}.{others} {published.obtain}")
    return matching[0]


def _paths_by_name(folder: Path) -> dict[str, Path]:
    """Files and folders that may be data sets, by the names they have as such."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder. Give the folder of the data sets.")
    paths: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.name)):
        if path.name.startswith(".") or not _may_be_data(path):
            continue
        # A folder may have a dot in its name that starts no ending.
        name = path.stem if path.is_file() or path.suffix.lower() == ZARR else path.name
        if name in paths:
            raise ValueError(
                f"{folder}: {paths[name].name} and {path.name} would be data sets of the same "
                "name. Rename one."
            )
        paths[name] = path
    return paths


def _may_be_data(path: Path) -> bool:
    if not path.is_dir():
        return path.suffix.lower() in FILE_SUFFIXES
    return path.suffix.lower() == ZARR or any(
        name.lower().endswith(TABLE_SUFFIXES) and not name.startswith(".")
        for name in os.listdir(path)
    )


def _warn_of_shadows(paths: Sequence[Path]) -> None:
    if paths:
        files = " and ".join(dict.fromkeys(map(str, paths)))
        warnings.warn(
            f"{files}: taken instead of the built-in data of the same name. Rename what is in the "
            "folder to have the built-in data.",
            stacklevel=2,
        )


def _usable(paths: Mapping[str, Path]) -> list[DataSet]:
    """Describe those that are data sets, and warn once of all others."""
    found: list[DataSet] = []
    left_out: list[str] = []
    for name, path in paths.items():
        try:
            found.append(_described(name, path))
        except ValueError as error:
            left_out.append(one_line(error))
    if left_out:
        # The command line shows one warning of a place: it must have all that there is to say.
        warnings.warn(f"Left out: {' '.join(left_out)}", stacklevel=2)
    return found


def _described(name: str, path: Path) -> DataSet:
    return _with_contents(name, path, _read(path), _digest_of_files(path))


def _built_in(name: str) -> DataSet:
    contents = BUILT_IN[name]()
    return _with_contents(name, None, contents, _digest_of_arrays(contents))


def _with_contents(name: str, path: Path | None, contents: Labeled, digest: str) -> DataSet:
    data, labels = contents
    n_clusters = len(np.unique(labels))
    published = recognized(name, (len(data), n_clusters, len(data.views)))
    return DataSet(
        name,
        path,
        len(data),
        n_clusters,
        data.n_features_per_view,
        digest,
        None if published is None else published.name,
        data.available is None,
    )


def _read(path: Path) -> Labeled:
    file = read_views(path)
    if file.target is None:
        raise DataFileError(
            f"{path}: there are no labels, which scores need. Add them, for example as 'y'."
        )
    labels = np.asarray(file.target)
    if len(np.unique(labels)) < 2:
        raise DataFileError(f"{path}: all labels are the same. At least two classes are needed.")
    try:
        return MultiViewData(file), labels
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from error


def _digest_of_files(path: Path) -> str:
    """Digest of a file's bytes, or of the names and bytes of all files in a folder."""
    if path.is_file():
        return _digest_of_file(path)
    whole = hashlib.sha256()
    names = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(names):
        whole.update(f"{name}\0{_digest_of_file(names[name])}\n".encode())
    return whole.hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest_of_arrays(contents: Labeled) -> str:
    data, labels = contents
    whole = hashlib.sha256()
    for array in (*data.views, labels):
        whole.update(f"{array.dtype.str}{array.shape}".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()
