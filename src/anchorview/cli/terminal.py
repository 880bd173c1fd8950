"""Terminal of the commands: tables, lines, progress bars, warnings, errors and exit codes."""

import json
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from traceback import extract_tb
from types import FrameType
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from anchorview._utils.errors import ClusterLostError
from anchorview._utils.progress import listen_to_progress

OUT_OF_MEMORY, BAD_INPUT, CLUSTER_LOST, FAULT = 1, 2, 3, 70
INTERRUPTED, TERMINATED = 130, 143
"""Exit codes; these two are those of a process that is ended by the signal."""

INPUT_ERRORS = (ValueError, TypeError, ImportError, OSError)
"""Errors that the user can act on. ImportError: a file format may need an optional package."""

NUMBER = re.compile(r"(?<!['\w])[\d.]*\d(?!['\w])")
"""Numbers in messages, but not those in names."""


class Terminated(KeyboardInterrupt):
    """Raised by the signal that asks a process to end."""


def raise_when_terminated() -> None:
    """Make the signal that asks a process to end raise, so that it cleans up as after Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, handle)


def table(rows: Iterable[tuple[object, ...]], first: str, *columns: str) -> str:
    """Table of names and right-aligned cells as text, laid out for the current stdout."""
    grid = Table(Column(first, overflow="fold"), box=box.SIMPLE_HEAD)
    for column in columns:
        grid.add_column(printable(column), justify="right")
    for row in rows:
        grid.add_row(*map(_cell, row))
    # View and file names must not be interpreted as markup or emoji codes.
    console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(grid)
    return capture.get().removesuffix("\n")


def _cell(value: Any) -> str:
    """Text of a value; that of None and NaN is empty."""
    text = f"{value:.2f}" if isinstance(value, float) else printable(value)
    return "" if value is None or value != value else text


def print_json(record: Mapping[str, Any]) -> None:
    """Print a record as JSON on stdout; numbers that are not finite become null."""
    plain = json.loads(json.dumps(record, default=_plain), parse_constant=lambda _: None)
    typer.echo(json.dumps(plain, indent=2))


def _plain(value: Any) -> Any:
    """Arrays, their elements and ranges as JSON can hold them, all else as text."""
    if isinstance(value, range):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[None]:
    """Show the current stage on stderr, with the note in parentheses that may follow it."""
    # The note is cut at the width of the terminal.
    note = TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True))
    columns = TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn(), note
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
def explained_errors() -> Iterator[None]:
    """Print warnings and errors in one line each; exit after errors."""
    try:
        with _one_line_warnings():
            yield
    except (typer.Exit, BrokenPipeError):
        raise
    except KeyboardInterrupt as stop:
        by_signal = isinstance(stop, Terminated)
        ended, code = ("terminated", TERMINATED) if by_signal else ("interrupted", INTERRUPTED)
        kept = stop.args[0] if stop.args else "no file was left half-written"
        print(f"anchorview: {ended}; {kept}", file=sys.stderr)
        raise typer.Exit(code) from None
    except Exception as error:
        errors = error.exceptions if isinstance(error, ExceptionGroup) else [error]
        for each in errors:
            print_message("error", _explanation(each))
        raise typer.Exit(max(map(_exit_code, errors))) from None


def _exit_code(error: Exception) -> int:
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, ClusterLostError):
        return CLUSTER_LOST
    return BAD_INPUT if isinstance(error, INPUT_ERRORS) else FAULT


def _explanation(error: Exception) -> str:
    if _exit_code(error) == FAULT:
        place = extract_tb(error.__traceback__)[-1]
        return (
            f"{error!r} in {os.path.basename(place.filename)}, line {place.lineno}. This is a "
            "fault of anchorview: please report it."
        )
    # Errors of files that the library raises are complete sentences.
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error) or ("not enough memory" if isinstance(error, MemoryError) else repr(error))


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    printed: set[tuple[str, int, str]] = set()

    def show(
        message: Warning | str, category: object, filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        # Several candidates may raise the same warning with different numbers in it.
        key = filename, lineno, NUMBER.sub("", str(message))
        if key not in printed:
            printed.add(key)
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
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def command_line() -> str:
    """Command that is running, as it was typed."""
    return shlex.join(["anchorview", *sys.argv[1:]])
