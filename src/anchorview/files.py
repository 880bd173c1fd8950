"""Files that are written whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, TextIO


class OutputFileError(OSError):
    """A file that cannot be written; the message says why and what to do."""


def require_writable(path: Path) -> None:
    """Raise, before any work is done, if :func:`replacing` could not write the file.

    Parameters
    ----------
    path : Path
        The file to be written later; an existing one stays as it is.

    Raises
    ------
    OutputFileError
        If the folder is missing or read-only, or the path names something that is not a file.
    """
    target = _resolved(path)
    if target.is_dir():
        raise OutputFileError(f"{path}: is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        raise OutputFileError(
            f"{path}: there is no folder {path.parent}. Create it, or give another place."
        )
    # Renaming a file over a device, such as /dev/null, would destroy the device.
    if target.exists() and not target.is_file():
        raise OutputFileError(f"{path}: is not a regular file. Give the name of a file.")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputFileError(f"{path}: is write-protected. Give another name.")
    with _part_beside(target, path):
        pass


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    r"""Write a text file that appears under its name only once it is complete.

    If the block fails or is interrupted, a file that existed before stays as it was and nothing
    else is left behind.

    Parameters
    ----------
    path : Path
        The file to write. A symbolic link stays, and the file it leads to is replaced.

    Raises
    ------
    OutputFileError
        If the file cannot be written, or the disk is full.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt"
    ...     with replacing(path) as stream:
    ...         print("hello", file=stream)
    ...         exists_early = path.exists()
    ...     exists_early, path.read_text()
    (False, 'hello\n')
    """
    with _replacing(path, mode="w", encoding="utf-8", newline="\n") as stream:
        yield stream


@contextmanager
def replacing_binary(path: Path) -> Iterator[BinaryIO]:
    """Write a binary file as :func:`replacing` does; what was written can be read back."""
    with _replacing(path, mode="w+b") as stream:
        yield stream


@contextmanager
def _replacing(path: Path, **how_to_open: Any) -> Iterator[Any]:
    target = _resolved(path)
    with _part_beside(target, path) as part:
        if target.exists():
            shutil.copymode(target, part)
        with part.open(**how_to_open) as stream:
            yield stream
            stream.flush()
            # A disk may report that it is full only now; after the renaming it would be too late.
            os.fsync(stream.fileno())
        os.replace(part, target)


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


@contextmanager
def _part_beside(target: Path, path: Path) -> Iterator[Path]:
    """Make an empty file in the folder of `target`, gone after the block unless renamed."""
    part = target.with_name(f".anchorview-{token_hex(8)}.part")
    try:
        part.touch(exist_ok=False)
        yield part
    except OSError as error:
        reason = error.strerror or error
        raise OutputFileError(
            f"{path}: cannot be written ({reason}). Free the place, or give another one."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()
