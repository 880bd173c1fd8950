"""The file format of fitted models: one JSON document and named arrays, under a checksum.

The file is a zip archive of uncompressed members, ``anchorview.json`` first and then one ``.npy``
per array. The archive's comment, the last 64 bytes of the file, is the SHA-256 of all bytes before
it, so that every change is detected. Nothing in the file is ever executed or looked up by name, and
no size that the file declares is trusted before it fits in the size of the file.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from anchorview import __version__
from anchorview._utils.atomic_files import atomic_write_binary, require_writable
from anchorview._utils.typing import Array

FORMAT = "anchorview-model"
FORMAT_VERSION = 1
"""Raise it with every change of the layout."""

DOCUMENT = "anchorview.json"
DIGEST_SIZE = 64
NPY_VERSION = (1, 0)
MAX_HEADER_SIZE = 256
"""Characters of a ``.npy`` header; those of numeric arrays need about 70."""

DTYPES = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int32))


class ModelFileError(ValueError):
    """A file that is not a usable model; the message says what was found and what to do."""


def invalid(path: Path, reason: object) -> ModelFileError:
    """Error for an intact file that was not made by :func:`write_model_file`."""
    # What a file says about itself may be long.
    what = " ".join(str(reason).split()).rstrip(".")[:200]
    return ModelFileError(f"{path}: is not a valid model ({what}). Save the model again.")


def write_model_file(path: Path, document: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file that appears under its name only once it is complete.

    The same content gives the same bytes.
    """
    require_writable(path)
    identity = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "anchorview_version": __version__,
    }
    with atomic_write_binary(path) as (stream,):
        with ZipFile(stream, "w", ZIP_STORED) as archive:
            archive.comment = bytes(DIGEST_SIZE)
            archive.writestr(ZipInfo(DOCUMENT), json.dumps({**identity, **document}))
            for name, array in arrays.items():
                # The memory layout is kept, because products with another one round differently.
                whole = array if array.flags.forc else array.copy(order="K")
                with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    npy.write_array(member, whole, NPY_VERSION, allow_pickle=False)
        digest = _digest(stream)
        stream.seek(-DIGEST_SIZE, 2)
        stream.write(digest)


def read_model_file(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Document of a model file, without what identifies the format, and its arrays.

    Raises ModelFileError unless it is an intact file of this format and version.
    """
    try:
        # Opening a pipe would wait for someone to write to it.
        if path.exists() and not path.is_file():
            raise _foreign(path)
        with path.open("rb") as stream:
            return _parse(path, stream, _checked_size(path, stream))
    except (ModelFileError, MemoryError):
        raise
    except OSError as error:
        reason = error.strerror or error
        raise ModelFileError(f"{path}: cannot be read ({reason}). Check the path.") from error
    except Exception as error:
        # A correct checksum does not prove good intent, and the parsers of zip, JSON and .npy fail
        # on malicious bytes in more ways than they document.
        raise invalid(path, error) from error


def _foreign(path: Path) -> ModelFileError:
    return ModelFileError(f"{path}: is not an anchorview model. Pass a file written by save.")


def _digest(stream: BinaryIO) -> bytes:
    """SHA-256, in hexadecimal, of all bytes but those that hold it."""
    left = stream.seek(0, 2) - DIGEST_SIZE
    stream.seek(0)
    sha = hashlib.sha256()
    while left > 0 and (chunk := stream.read(min(left, 2**20))):
        sha.update(chunk)
        left -= len(chunk)
    return sha.hexdigest().encode()


def _checked_size(path: Path, stream: BinaryIO) -> int:
    """Size of the file, whose checksum is correct."""
    beginning = stream.read(64)
    if not beginning.startswith(b"PK") or DOCUMENT.encode() not in beginning:
        raise _foreign(path)
    digest = _digest(stream)
    if stream.read() != digest:
        raise ModelFileError(
            f"{path}: is damaged (its checksum does not match). Copy or download it again, or save "
            "the model again."
        )
    return stream.tell()


def _parse(path: Path, stream: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, Array]]:
    with ZipFile(stream) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if DOCUMENT not in members:
            raise _foreign(path)
        _require_stored([members[DOCUMENT]], size)
        document = json.loads(archive.read(members.pop(DOCUMENT)))
        _require_version(path, document)
        if len(members) + 1 != len(archive.infolist()):
            raise ValueError("a member occurs twice")
        if not all(name.endswith(".npy") for name in members):
            raise ValueError("a member is not an array")
        _require_stored(members.values(), size)
        with warnings.catch_warnings():
            # Python warns about escape sequences in the text of damaged headers.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", SyntaxWarning)
            arrays = _read_arrays(archive, members)
    return document, arrays


def _read_arrays(archive: ZipFile, members: Mapping[str, ZipInfo]) -> dict[str, Array]:
    return {name.removesuffix(".npy"): _read_array(archive, info) for name, info in members.items()}


def _require_version(path: Path, document: Any) -> None:
    """Remove what identifies the format from the document; raises if it is another format."""
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise _foreign(path)
    version = document.pop("format_version", None)
    writer = document.pop("anchorview_version", None)
    if type(version) is not int or version < 1 or not isinstance(writer, str):
        raise ValueError("its format has no version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: was written by anchorview {writer[:20]!r} in a newer format "
            f"({str(version)[:20]}; this is anchorview {__version__}, which reads up to "
            f"{FORMAT_VERSION}). Upgrade anchorview: pip install --upgrade anchorview."
        )


def _require_stored(members: Iterable[ZipInfo], size: int) -> None:
    """Raise unless the members are uncompressed and fit in the file side by side."""
    for info in members:
        if info.compress_type != ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"{info.filename!r} is compressed")
        size -= info.file_size
    if size < 0:
        raise ValueError("its members are larger than the file")


def _read_array(archive: ZipFile, info: ZipInfo) -> Array:
    with archive.open(info) as stream:
        if npy.read_magic(stream) != NPY_VERSION:
            raise ValueError(f"{info.filename!r} is not an array of a known kind")
        shape, _, dtype = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER_SIZE)
        if dtype not in DTYPES or min(shape, default=0) < 0:
            raise ValueError(f"{info.filename!r} has dtype {dtype} and shape {shape}")
        if math.prod(shape) * dtype.itemsize != info.file_size - stream.tell():
            raise ValueError(f"{info.filename!r} is not as large as it declares")
        stream.seek(0)
        return npy.read_array(stream, allow_pickle=False, max_header_size=MAX_HEADER_SIZE)
