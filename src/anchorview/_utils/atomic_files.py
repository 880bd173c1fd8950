"""Files and folders that are written completely or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Any, BinaryIO, TextIO

from anchorview._utils.errors import OutputFileError

ABANDONED = 24 * 3600
"""Seconds without a change after which an unfinished file is that of a process that was killed."""

_PART = ".anchorview-{}.part"
"""Names of unfinished files."""


def require_writable(path: Path) -> None:
    """Raise if :func:`atomic_write` could not write the file, which is not changed by this check.

    That is, if the folder is missing or read-only, or the path is not that of a file.
    """
    with _explained(path):
        target = _resolved(path)
        _require_parent(path)
        # Renaming a file over a device, such as /dev/null, would destroy the device.
        if target.exists() and not target.is_file():
            kind = "a folder" if target.is_dir() else "not a regular file"
            raise OutputFileError(f"{path}: is {kind}. Give the name of a file.")
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputFileError(f"{path}: is write-protected. Give another name.")
        with _part_beside(target):
            pass


def require_writable_folder(path: Path) -> None:
    """Raise if files cannot be written to a folder, which need not exist if its parent does."""
    with _explained(path):
        target = _resolved(path)
        if target.exists() and not target.is_dir():
            raise OutputFileError(f"{path}: is not a folder. Give the name of a folder.")
        if not target.exists():
            _require_parent(path)
        with _part_beside(target / "any" if target.exists() else target):
            pass


@contextmanager
def created_folder(path: Path) -> Iterator[None]:
    """Create a folder unless it exists; a new one is removed again if the block fails."""
    with _explained(path):
        is_new = not path.exists()
        path.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def atomic_write(path: Path) -> Iterator[TextIO]:
    r"""Write a text file that appears under its name only once it is complete.

    If the block fails or is interrupted, an existing file is kept and nothing else is left. A
    symbolic link is kept, and the file it points to is replaced. Raises an OutputFileError if the
    file cannot be written. What a killed process left is removed, a day later, by the next one
    that writes to the same folder.
    """
    with _replacing([path], mode="w", encoding="utf-8", newline="\n") as (stream,):
        yield stream


@contextmanager
def atomic_write_binary(*paths: Path) -> Iterator[list[BinaryIO]]:
    """Write binary files as :func:`atomic_write` does; the streams can be read back.

    All files are complete before the first appears under its name. Earlier files of these names
    are removed before, the last first, so that the last file never stands beside others of an
    earlier set, even if the process is killed.
    """
    with _replacing(paths, mode="w+b") as streams:
        yield streams


@contextmanager
def _replacing(paths: Sequence[Path], **how_to_open: Any) -> Iterator[list[Any]]:
    # The system does not tell which of several files did not fit on the disk.
    reported = paths[0] if len(paths) == 1 else paths[0].parent
    with _explained(reported), ExitStack() as stack:
        targets = [_resolved(path) for path in paths]
        parts = [stack.enter_context(_part_beside(target)) for target in targets]
        for target, part in zip(targets, parts, strict=True):
            if target.exists():
                shutil.copymode(target, part)
        with ExitStack() as opened:
            streams = [opened.enter_context(part.open(**how_to_open)) for part in parts]
            yield streams
            for stream in streams:
                stream.flush()
                # A full disk may be reported only now; after renaming it would be too late.
                os.fsync(stream.fileno())
        for target in reversed(targets[1:]):
            target.unlink(missing_ok=True)
        for target, part in zip(targets, parts, strict=True):
            os.replace(part, target)


def _require_parent(path: Path) -> None:
    if not _resolved(path).parent.is_dir():
        raise OutputFileError(
            f"{path}: there is no folder {path.parent}. Create it, or give another one."
        )


def _resolved(path: Path) -> Path:
    resolved = Path(os.path.realpath(path))
    if resolved.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return resolved


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder that appears under its name only once it is complete.

    Yields a hidden folder beside it, to which the files are written. If the block fails or is
    interrupted, nothing is left. Raises an OutputFileError before the block if the name exists
    already (an empty folder may) or the parent folder does not.
    """
    with _explained(path):
        target = _resolved(path)
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise OutputFileError(f"{path}: already exists. Give another name, or remove it first.")
        _require_parent(path)
        with _part_beside(target, folder=True) as part:
            yield part
            for file in part.iterdir():
                with file.open("rb+") as stream:
                    # As above: a full disk may be reported only now.
                    os.fsync(stream.fileno())
            if target.exists():
                target.rmdir()
            part.rename(target)


@contextmanager
def _part_beside(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Create an empty file or folder beside `target`, removed after the block unless renamed."""
    for part in target.parent.glob(_PART.format("*")):
        with suppress(OSError):
            if time() - part.stat().st_mtime > ABANDONED:
                _remove(part)
    part = target.with_name(_PART.format(token_hex(8)))
    try:
        part.mkdir() if folder else part.touch(exist_ok=False)
        yield part
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the system into an :class:`OutputFileError` that names the path."""
    try:
        yield
    except OutputFileError:
        raise
    except OSError as error:
        reason = error.strerror or error
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "Free some space, or give another path." if full else "Give another path."
        raise OutputFileError(f"{path}: cannot be written ({reason}). {advice}") from error


@contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes that call this; raise if one holds the lock.

    The lock ends with the process, however it ends. Without file locks, nothing is locked.
    """
    with (folder / ".lock").open("w") as lock:
        if find_spec("fcntl") is not None:
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{folder} is in use by another run. Wait until it ends, or give another "
                    "folder."
                ) from None
        yield
