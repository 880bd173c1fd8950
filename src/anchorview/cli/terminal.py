"""How the command line shows things: tables, lines, progress, warnings and errors."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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

from anchorview._utils.errors import OutputFileError
from anchorview._utils.progress import listen_to_progress

BAD_INPUT, OUT_OF_MEMORY, INTERRUPTED = 2, 1, 130
"""Exit codes."""


def print_table(rows: Iterable[tuple[str, ...]], *columns: str) -> None:
    """Print a row for each view: its name and the cells of the columns."""
    print_grid(rows, "View", *columns)


def print_grid(rows: Iterable[tuple[str, ...]], first: str, *columns: str) -> None:
    """Print a table: names in the first column, cells in the others."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right")
    for name, *cells in rows:
        table.add_row(printable(name), *cells)
    _console().print(table)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines as they are."""
    for line in lines:
        _console().print(line, soft_wrap=True)


def _console() -> Console:
    # Names are the user's: without markup and emoji codes they are shown as they are.
    return Console(markup=False, emoji=False, highlight=False)


class _Note(ProgressColumn):
    """The note of a task on one line, cut where the terminal has no more room."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["note"], overflow="ellipsis", no_wrap=True)


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[None]:
    """Show on stderr how far the present stage is.

    What stands in parentheses after a stage's name is a note, which may change as the stage goes
    on.
    """
    columns = TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn(), _Note()
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not shown
    ) as progress:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            stage, _, note = stage.partition(" (")
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=None, note="")
            for name, bar in bars.items():
                progress.update(bar, visible=name == stage)
            progress.update(bars[stage], note=note.removesuffix(")"))
            # How far a stage of one step is cannot be known: its bar only moves.
            if total > 1:
                progress.update(bars[stage], completed=done, total=total)

        with listen_to_progress(advance if shown else None):
            yield


@contextmanager
def explained(if_interrupted: str = "no file was left half-written") -> Iterator[None]:
    """Turn what a person can act on into one line, and an error into an exit code as well."""
    try:
        with _plain_warnings():
            yield
    except KeyboardInterrupt:
        print(f"anchorview: interrupted; {if_interrupted}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except MemoryError as error:
        print_error(str(error) or "not enough memory")
        raise typer.Exit(OUT_OF_MEMORY) from None
    # ImportError: a file may need a package that is optional.
    except (ValueError, TypeError, ImportError, ConnectionError, OutputFileError) as error:
        print_error(str(error))
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings on one line each, without the place in the program that they come from."""
    places: set[tuple[str, int]] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        *rest: Any,
        **named: Any,
    ) -> None:
        # Many candidates may meet the same, and differ only in the numbers they tell of it.
        if (filename, lineno) not in places:
            places.add((filename, lineno))
            _print_message("warning", str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_error(message: str) -> None:
    """Print an error on one line of stderr."""
    _print_message("error", message)


def _print_message(kind: str, message: str) -> None:
    line = f"anchorview: {kind}: {printable(' '.join(message.split()))}\n"
    # In one piece: several threads may warn.
    print(line, end="", file=sys.stderr)


def printable(text: object) -> str:
    """Text without line breaks, terminal codes and what the output cannot encode."""
    # Python has no stream at all where the caller closed it.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def watched() -> bool:
    """Whether a person sees what is written to stderr."""
    return sys.stderr is not None and sys.stderr.isatty()
