"""Terminal output of the commands: tables, lines, progress bars, warnings and errors."""

import json
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from anchorview._utils.errors import ClusterLostError
from anchorview._utils.progress import listen_to_progress

OUT_OF_MEMORY, BAD_INPUT, CLUSTER_LOST = 1, 2, 3
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
"""Exit codes; the latter are those of a process that is ended by the signal."""


class Terminated(KeyboardInterrupt):
    """Raised by the signals that ask a process to end."""


def raise_when_terminated() -> None:
    """Make the signals that ask a process to end raise, so that it cleans up as after Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Processes that are to outlive their terminal ignore the signal.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handle)


def table(rows: Iterable[tuple[object, ...]], first: str, *columns: str) -> str:
    """Table of names and right-aligned cells as text, laid out for the current stdout."""
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column(first, overflow="fold")
    for column in columns:
        grid.add_column(column, justify="right")
    for name, *cells in rows:
        grid.add_row(printable(name), *map(str, cells))
    # View and file names must not be interpreted as markup or emoji codes. sys.stdout is None if
    # the caller closed it.
    stream = sys.stdout or StringIO()
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    # Rich writes an empty string to the stream, too.
    with stdout_errors(), console.capture() as capture:
        console.print(grid)
    return capture.get().removesuffix("\n")


def print_lines(*lines: str) -> None:
    """Print lines without wrapping them."""
    write_stdout("".join(f"{line}\n" for line in lines))


def print_json(record: Mapping[str, Any]) -> None:
    """Print a record as JSON on stdout; numbers that are not finite become null."""
    plain = json.loads(json.dumps(record, default=_plain), parse_constant=lambda _: None)
    write_stdout(json.dumps(plain, indent=2) + "\n")


def _plain(value: Any) -> Any:
    """Arrays, their elements and ranges as JSON can hold them, all else as text."""
    if isinstance(value, range):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


def write_stdout(text: str) -> None:
    """Write to stdout; exit with a message if it does not take the text."""
    # sys.stdout is None if the caller closed it.
    if sys.stdout is None:
        return
    with stdout_errors():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Explain that stdout cannot be written; say nothing if its reader is gone."""
    try:
        yield
    except OSError as error:
        # What is still in the buffer must not fail again when the interpreter exits.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        print_message("error", f"standard output cannot be written ({error.strerror}).")
        raise typer.Exit(BAD_INPUT) from None


class _Note(ProgressColumn):
    """Note of a task in one line, cut at the width of the terminal."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["note"], overflow="ellipsis", no_wrap=True)


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[None]:
    """Show the progress of the current stage on stderr.

    A stage may be followed by a note in parentheses, which changes as the stage proceeds.
    """
    columns = TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn(), _Note()
    # Before rich 14.3, a bar that is not shown ends with an empty line.
    stderr = Console(stderr=True, quiet=not shown)
    with Progress(*columns, console=stderr, transient=True, disable=not shown) as progress:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            stage, _, note = stage.partition(" (")
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=None, note="")
            for name, bar in bars.items():
                progress.update(bar, visible=name == stage)
            progress.update(bars[stage], note=note.removesuffix(")"))
            # The bar of a stage with a single step pulses: its progress is unknown.
            if total > 1:
                progress.update(bars[stage], completed=done, total=total)

        with listen_to_progress(advance if shown else None):
            yield


@contextmanager
def explained_errors(
    if_interrupted: str = "no file was left half-written",
    options: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Print warnings and errors that the user can act on in one line; exit after errors.

    Other errors are bugs and keep their traceback. Messages name `options` instead of parameters,
    see :func:`name_options`.
    """
    try:
        with _one_line_warnings():
            yield
    except KeyboardInterrupt as error:
        ended = "terminated" if isinstance(error, Terminated) else "interrupted"
        print(f"anchorview: {ended}; {if_interrupted}", file=sys.stderr)
        code = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        raise typer.Exit(code) from None
    except (*EXPLAINED, ExceptionGroup) as error:
        errors = error.exceptions if isinstance(error, ExceptionGroup) else [error]
        for each in errors:
            print_message("error", _explanation(each, options))
        raise typer.Exit(max(map(_exit_code, errors))) from None


EXPLAINED = (MemoryError, ValueError, TypeError, ImportError, OSError)
"""Errors that the user can act on. ImportError: a file format may need an optional package."""


def write_outputs(
    writers: Mapping[str, Callable[[Path], object]], paths: Mapping[str, Path]
) -> tuple[dict[str, Path], list[Exception]]:
    """Write all outputs, although some fail; return the paths of the others, and the errors."""
    written, errors = {}, list[Exception]()
    for option, path in paths.items():
        try:
            writers[option](path)
        except EXPLAINED as error:
            errors.append(error)
        else:
            written[option] = path
    return written, errors


def _exit_code(error: BaseException) -> int:
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    return CLUSTER_LOST if isinstance(error, ClusterLostError) else BAD_INPUT


def _explanation(error: BaseException, options: Mapping[str, str]) -> str:
    # Errors of files that the library raises are complete sentences.
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    text = str(error) or ("not enough memory" if isinstance(error, MemoryError) else repr(error))
    return name_options(text, options)


def name_options(message: str, options: Mapping[str, str]) -> str:
    """Name command-line options instead of the parameters of the library, ``n_clusters=9`` as
    ``-k 9``."""  # noqa: D209
    checked = re.match(r"The '(\w+)' parameter of \w+ must be ", message)
    if checked and options:
        name = checked[1]
        option = options.get(name, options.get(f"{name}=", name))
        return f"{option} must be {message[checked.end() :]}"
    for parameter, option in options.items():
        name, equals, value = parameter.partition("=")
        given = value or r"(?P<value>'[^']*'|\[[^]]*\]|-?[\w.]*\w(\+\d+)?)?"
        given = f"={given}" if equals else f"(={given})?"
        # Not within paths, quoted names of data, or longer names.
        mention = rf"(?<![\w./\\'\"-]){name}{given}(?![\w/\\]|\.\w)"
        message = re.sub(mention, partial(_option_mention, option), message)
    return message


def _option_mention(option: str, mention: re.Match[str]) -> str:
    value = mention.groupdict().get("value")
    return option if value is None else f"{option} {shlex.quote(value.strip(chr(39)))}"


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print warnings in one line each, without the source location."""
    locations: set[tuple[str, int]] = set()

    def show(
        message: Warning | str, category: object, filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        # Several candidates may raise the same warning with different numbers in it.
        if (filename, lineno) not in locations:
            locations.add((filename, lineno))
            print_message("warning", str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_message(kind: str, message: str) -> None:
    """Print an error or a warning in one line on stderr."""
    line = f"anchorview: {kind}: {printable(' '.join(message.split()))}\n"
    # A single write: several threads may warn at the same time.
    print(line, end="", file=sys.stderr)


def printable(text: object) -> str:
    """Escape line breaks, terminal codes and characters that stdout cannot encode."""
    # sys.stdout is None if the caller closed it.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def command_line() -> str:
    """Command that is running, as it was typed."""
    return shlex.join(["anchorview", *sys.argv[1:]])


def watched() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
