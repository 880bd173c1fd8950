"""Files and folders that are written whole or not at all, and the errors of files."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, TextIO

from anchorview._utils.errors import OutputFileError


def require_writable(path: Path) -> None:
    """Raise, before any work is done, if :func:`atomic_write` could not write the file.

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
    with _explained(path), _part_beside(target):
        pass


def require_writable_folder(path: Path) -> None:
    """Raise, before any work is done, if files cannot be written to a folder.

    It need not be there yet, but the one that it is to be made in.
    """
    if path.exists() and not path.is_dir():
        raise OutputFileError(f"{path}: is not a folder. Give the name of a folder.")
    if not path.exists() and not _resolved(path).parent.is_dir():
        raise OutputFileError(
            f"{path}: there is no folder {path.parent}. Create it, or give another place."
        )
    with _explained(path), _part_beside((path / "any") if path.exists() else _resolved(path)):
        pass


@contextmanager
def created_folder(path: Path) -> Iterator[None]:
    """Make a folder unless it is there; if the block fails, one that was made is gone again."""
    made = not path.exists()
    with _explained(path):
        path.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def atomic_write(path: Path) -> Iterator[TextIO]:
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
    ...     with atomic_write(path) as stream:
    ...         print("hello", file=stream)
    ...         exists_early = path.exists()
    ...     exists_early, path.read_text()
    (False, 'hello\n')
    """
    with _replacing([path], mode="w", encoding="utf-8", newline="\n") as (stream,):
        yield stream


@contextmanager
def atomic_write_binary(*paths: Path) -> Iterator[list[BinaryIO]]:
    """Write binary files as :func:`atomic_write` does; what was written can be read back.

    All of them are complete before the first appears under its name.
    """
    with _replacing(paths, mode="w+b") as streams:
        yield streams


@contextmanager
def _replacing(paths: Sequence[Path], **how_to_open: Any) -> Iterator[list[Any]]:
    # Which of several files a full disk was met by, nobody tells.
    place = paths[0] if len(paths) == 1 else paths[0].parent
    targets = [_resolved(path) for path in paths]
    with _explained(place), ExitStack() as stack:
        parts = [stack.enter_context(_part_beside(target)) for target in targets]
        for target, part in zip(targets, parts, strict=True):
            if target.exists():
                shutil.copymode(target, part)
        with ExitStack() as opened:
            streams = [opened.enter_context(part.open(**how_to_open)) for part in parts]
            yield streams
            for stream in streams:
                stream.flush()
                # A disk may report that it is full only now; after the renaming it is too late.
                os.fsync(stream.fileno())
        for target, part in zip(targets, parts, strict=True):
            os.replace(part, target)


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that appears under its name only once it is complete.

    If the block fails or is interrupted, nothing is left behind.

    Parameters
    ----------
    path : Path
        The folder to make; an empty one may exist already.

    Yields
    ------
    Path
        A hidden folder beside it, for the files.

    Raises
    ------
    OutputFileError
        Before the block if there is something of this name already, or no folder to put it into;
        later if it cannot be written, or the disk is full.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     path = Path(home) / "views"
    ...     with atomic_folder(path) as part:
    ...         _ = (part / "greeting.txt").write_text("hello")
    ...         exists_early = path.exists()
    ...     exists_early, [file.name for file in path.iterdir()]
    (False, ['greeting.txt'])
    """
    target = _resolved(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise OutputFileError(f"{path}: already exists. Give another name, or remove it first.")
    if not target.parent.is_dir():
        raise OutputFileError(
            f"{path}: there is no folder {path.parent}. Create it, or give another place."
        )
    part = _part_name(target)
    with _explained(path):
        try:
            part.mkdir()
            yield part
            if target.exists():
                target.rmdir()
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _part_beside(target: Path) -> Iterator[Path]:
    """Make an empty file in the folder of `target`, gone after the block unless renamed."""
    part = _part_name(target)
    try:
        part.touch(exist_ok=False)
        yield part
    finally:
        with suppress(OSError):
            part.unlink()


def _part_name(target: Path) -> Path:
    return target.with_name(f".anchorview-{token_hex(8)}.part")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what the system says of a place that cannot be written into an error of ours."""
    try:
        yield
    except OutputFileError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise OutputFileError(
            f"{path}: cannot be written ({reason}). Free the place, or give another one."
        ) from error


@contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Keep other processes that do the same out of a folder; raise if one is in it.

    The lock ends with the process, however that ends. Where the system has no such locks nothing
    is kept out.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"{folder} is in use by another run. Wait for its end, or give another folder."
            ) from None
        yield
