"""Fitted models to files and back: one JSON document and named arrays.

The file is a zip archive of uncompressed members, ``anchorview.json`` first and then one ``.npy``
per array; the checksums of the archive detect damage. Nothing in the file is ever executed or
looked up by name.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from sklearn.utils.validation import check_is_fitted

from anchorview import __version__
from anchorview._utils.atomic_files import atomic_write_binary, require_writable
from anchorview._utils.errors import MissingPackageError
from anchorview._utils.typing import Array
from anchorview.estimators.methods import REGISTRY, method_class
from anchorview.estimators.persistence.codec import (
    Tree,
    decode,
    encode,
    entries,
    insert_arrays,
    require,
    split_arrays,
)
from anchorview.estimators.persistence.fitted_state import UntrustedTypeError, parameter_of

if TYPE_CHECKING:
    from anchorview.estimators.auto.auto_dalmc import AutoDALMC
    from anchorview.estimators.dalmc import DALMC

FORMAT = "anchorview-model"
FORMAT_VERSION = 1
"""Raise it only if the meaning of an entry changes, not if one is added or renamed."""

TRANSFORMERS = "transformers"
"""Stands for a parameter `preprocess` that holds transformers."""

DOCUMENT = "anchorview.json"
NPY_VERSION = (1, 0)
MAX_HEADER_SIZE = 256
"""Characters of a ``.npy`` header; those of numeric arrays need about 70."""

DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.int32, np.int16, np.uint8)))

METHODS_BY_CLASS = {
    method.class_path.rpartition(".")[2]: method.name
    for method in REGISTRY
    if not method.is_compared
}
"""Estimators that can be saved. Each has a `FittedState` subclass as `_state_class`."""


class ModelFileError(ValueError):
    """A file that is not a usable model; the message says what is wrong and what to do."""


def save_model(model: "DALMC | AutoDALMC", path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; saving it again gives the same file.

    Sums over past batches are not saved: a loaded model cannot continue `DALMC.partial_fit`.
    Sequences and ranges that are parameters become lists, a RandomState instance becomes None, and
    sample ids that are neither integers nor strings become strings.
    """
    check_is_fitted(model, "labels_")
    try:
        # What is written has been read before, so every file that is written can be loaded.
        document, arrays = _stored(model)
        document = json.loads(json.dumps(document))
        insert_arrays(document, arrays)
        document, arrays = _stored(_restored(document))
    except MissingPackageError:
        raise
    except (ValueError, TypeError, OverflowError, LookupError) as error:
        raise ValueError(f"The model cannot be saved: {error}. Fit it again.") from error
    _write(Path(path), document, arrays)


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> "DALMC | AutoDALMC":
    """Read a model that :func:`save_model` wrote; it embeds and predicts as the saved one.

    Parameters
    ----------
    path : str or path
    trusted : iterable of str, default=()
        Types of transformers of other packages in `preprocess` that may be loaded, such as
        ``"mypackage.MyTransformer"``, beside those that skops trusts. Loading them runs their code,
        so name only what you trust.

    Returns
    -------
    model : DALMC or AutoDALMC

    Raises
    ------
    ModelFileError
        If the file does not exist, is damaged, is not a model, or was written by a newer version of
        anchorview.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import anchorview
    >>> views, _ = anchorview.make_multiview(60, n_clusters=3, random_state=0)
    >>> model = anchorview.DALMC(n_clusters=3, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "clusters.anchorview")
    ...     loaded = anchorview.load(Path(folder) / "clusters.anchorview")
    >>> loaded
    DALMC(n_clusters=3, random_state=0)
      60 samples in 3 clusters of 21, 20, 19
      view_0: 20 features, weight 0.45
      view_1: 30 features, weight 0.29
      view_2: 40 features, weight 0.26
    >>> bool((loaded.predict(views) == model.labels_).all())
    True
    """
    path, writer = Path(path), ""
    names = (trusted,) if isinstance(trusted, str) else trusted
    if not (isinstance(names, Iterable) and all(isinstance(name, str) for name in names)):
        raise TypeError(
            f"trusted={trusted!r} must be a list of names of types, such as "
            "['mypackage.MyTransformer']; the error of load without it names them."
        )
    try:
        # Opening a pipe would wait for someone to write to it.
        if path.exists() and not path.is_file():
            raise _foreign(path)
        with ZipFile(path) as archive:
            document, arrays = _parse(path, archive)
        writer = document.pop("anchorview_version")
        insert_arrays(document, arrays)
        return _restored(document, tuple(names))
    except (ModelFileError, MemoryError, ImportError):
        raise
    except UntrustedTypeError as error:
        raise ModelFileError(f"{path}: {error}.") from error
    except BadZipFile as error:
        raise _foreign(path) from error
    except OSError as error:
        reason = error.strerror or error
        raise ModelFileError(f"{path}: cannot be read ({reason}). Check the path.") from error
    except Exception as error:
        # The parsers of zip, JSON and .npy fail on malicious bytes in more ways than they document,
        # and values are not checked one by one.
        # What a file says about itself may be long.
        what = " ".join(str(error).split()).rstrip(".")[:200]
        by = "" if writer in ("", __version__) else f" of anchorview {writer[:20]!r}"
        raise ModelFileError(
            f"{path}: is not a valid model{by} ({what}). Save the model again."
        ) from error


def _stored(model: "DALMC | AutoDALMC") -> tuple[dict[str, Any], dict[str, Array]]:
    """JSON document and arrays of a fitted model."""
    # A subclass is stored as the estimator that it extends.
    names = (cls.__name__ for cls in type(model).__mro__)
    params = model.get_params(deep=False)
    steps = params["preprocess"]
    steps = steps.values() if isinstance(steps, Mapping) else (steps,)
    if not all(isinstance(each, str | None) for each in steps):
        # Transformers are stored once, as they were fitted.
        params["preprocess"] = TRANSFORMERS
    return split_arrays(
        {
            "estimator": next(name for name in names if name in METHODS_BY_CLASS),
            "params": json.loads(json.dumps(params, default=_plain)),
            "state": encode(model._state_class.of(model)),
        }
    )


def _plain(value: Any) -> Any:
    """JSON value of a parameter that is of another type; of a random generator, None."""
    if isinstance(value, np.random.RandomState):
        return None
    return dict(value) if isinstance(value, Mapping) else np.asarray(value).tolist()


def _restored(tree: Tree, trusted: tuple[str, ...] | None = None) -> "DALMC | AutoDALMC":
    """Model of a tree, which is checked completely."""
    tree = entries(tree, {"estimator", "params", "state"}, "")
    name, params = tree["estimator"], tree["params"]
    require(isinstance(name, str) and name in METHODS_BY_CLASS, "its estimator is unknown")
    require(isinstance(params, dict), "'params' is not an object")
    estimator = method_class(METHODS_BY_CLASS[name])
    unknown = min(params.keys() - estimator().get_params().keys(), default=None)
    require(unknown is None, f"the parameter {unknown!r} is unknown")
    # Parameters that are newer than the file have their defaults.
    model: DALMC | AutoDALMC = estimator(**params)
    model._validate_params()
    state = decode(tree["state"], model._state_class, "state")
    state.restore(model, trusted)
    if model.preprocess == TRANSFORMERS and model._prepared is not None:
        model.preprocess = parameter_of(model._prepared, model.view_names_in_)
    return model


def _write(path: Path, document: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file, complete or not at all; the same content gives the same bytes."""
    require_writable(path)
    versions = {"format_version": FORMAT_VERSION, "anchorview_version": __version__}
    with atomic_write_binary(path) as (stream,), ZipFile(stream, "w", ZIP_STORED) as archive:
        archive.writestr(ZipInfo(DOCUMENT), json.dumps({"format": FORMAT, **versions, **document}))
        for name, array in arrays.items():
            # The memory layout is kept, because products with another one round differently.
            whole = array if array.flags.forc else array.copy(order="K")
            with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, whole, NPY_VERSION, allow_pickle=False)


def _foreign(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path}: is not an anchorview model, or is damaged. Pass a file written by save, or copy "
        "it again."
    )


def _parse(path: Path, archive: ZipFile) -> tuple[dict[str, Any], dict[str, Array]]:
    """Document of a model file, without its format, and its arrays."""
    names = archive.namelist()
    if DOCUMENT not in names:
        raise _foreign(path)
    document = json.loads(archive.read(DOCUMENT))
    _require_version(path, document)
    arrays = {name.removesuffix(".npy"): name for name in names if name != DOCUMENT}
    return document, {place: _read_array(archive, name) for place, name in arrays.items()}


def _require_version(path: Path, document: Any) -> None:
    """Remove the format from the document; raises if it is another one."""
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise _foreign(path)
    version = document.pop("format_version", None)
    writer: Any = document.get("anchorview_version")
    known = type(version) is int and version >= 1 and isinstance(writer, str)
    require(known, "its format has no version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: was written by anchorview {writer[:20]!r} in a newer format "
            f"({str(version)[:20]}; this is anchorview {__version__}, which reads up to "
            f"{FORMAT_VERSION}). Upgrade anchorview: pip install --upgrade anchorview."
        )


def _read_array(archive: ZipFile, name: str) -> Array:
    with archive.open(name) as stream:
        require(npy.read_magic(stream) == NPY_VERSION, f"{name!r} is not an array of a known kind")
        shape, _, dtype = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER_SIZE)
        size = archive.getinfo(name).file_size - stream.tell()
        complete = dtype in DTYPES and math.prod(shape) * dtype.itemsize == size
        require(complete, f"{name!r} has dtype {dtype} and shape {shape}, but {size} bytes")
    # Opened again: a seek would turn off the checksum.
    with archive.open(name) as stream:
        return npy.read_array(stream, allow_pickle=False, max_header_size=MAX_HEADER_SIZE)
