"""Data in object stores and on web servers, by fsspec: ``s3://``, ``gs://``, ``https://``, ...

A place in a store is a ``UPath``, which has the methods of a ``Path`` that readers use, and is
annotated as one.
"""

import os
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from anchorview._utils.errors import DataFileError, MissingPackageError, optional_import
from anchorview._utils.typing import PathLike

STORE_ADVICE = (
    "Check that the store can be reached and permits reading, and that the object is whole."
)


def data_path(path: PathLike) -> Path:
    """Path on this machine, or place in a store from an address with a scheme or a ``UPath``."""
    is_address = isinstance(path, str) and "://" in path
    if not (is_address or in_store(path)):
        return Path(path)
    universal = optional_import("upath", "Stores", "remote")
    if not is_address:
        return cast(Path, path)
    address = str(path)
    scheme, _ = address.split("://", 1)
    _require_no_credentials(address, scheme)
    try:
        place = universal.UPath(address)
        # What was listed earlier may have changed.
        place.fs.invalidate_cache()
    except (ImportError, ValueError) as error:
        raise MissingPackageError(
            f"{scheme}://: no access to such stores ({error}). pip install "
            '"anchorview[remote]" adds S3 and HTTP, and gcsfs Google Cloud Storage.'
        ) from error
    return cast(Path, place)


def in_store(path: object) -> bool:
    """Whether a path is a place in a store, which has no name on this machine."""
    return hasattr(path, "fs") and not isinstance(path, os.PathLike)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; a web server would send a table as a whole to find out."""
    return not (in_store(path) and path.suffix.lower() == ".parquet") and path.is_dir()


def open_store_file(path: Path) -> Any:
    """File in a store; exactly the bytes that are asked for are read."""
    place: Any = path
    # Files in memory are shared, with their position, by all who open them.
    if place.protocol == "memory":
        return BytesIO(place.fs.cat_file(place.path))
    return place.fs.open(place.path, "rb", cache_type="none")


def _require_no_credentials(address: str, scheme: str) -> None:
    """Raise if an address has credentials, which messages and reports would show."""
    parts = urlsplit(address)
    host, _, port = parts.netloc.partition(":")
    is_port = scheme in ("http", "https") and port.isdigit()
    if "@" in host or (port and not is_port) or (parts.query and scheme in ("http", "https")):
        raise DataFileError(
            f"{scheme}://: the address has credentials or a query in it. Give the address without "
            "them, and the credentials in the environment or in the configuration of fsspec."
        )
