"""Terminal output of the commands: tables, lines, progress bars, warnings and errors."""

import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
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

TABLE_OPTIONS = {"id_column=False": "--no-id-column", "header=False": "--no-header"}
"""Options of all commands that read tables, for the parameters that errors of the library name."""

FIT_OPTIONS = TABLE_OPTIONS | {
    "n_clusters": "-k",
    "random_state": "--seed",
    "memory_limit": "--memory-limit",
    "out=": "--results",
}
"""Options of ``anchorview fit`` for the parameters that errors of the library name."""


def print_table(rows: Iterable[tuple[object, ...]], first: str, *columns: str) -> None:
    """Print a table with names in the first column and right-aligned cells in the others."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right")
    for name, *cells in rows:
        table.add_row(printable(name), *map(str, cells))
    _console().print(table)


def print_lines(*lines: str) -> None:
    """Print lines without wrapping them."""
    for line in lines:
        _console().print(line, soft_wrap=True)


def _console() -> Console:
    # View and file names must not be interpreted as markup or emoji codes.
    return Console(markup=False, emoji=False, highlight=False)


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
    stderr = Console(stderr=True)
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

    Other errors are bugs and keep their traceback. Parameters in messages are followed by their
    `options`, see :func:`name_options`.
    """
    try:
        with _one_line_warnings():
            yield
    except KeyboardInterrupt:
        print(f"anchorview: interrupted; {if_interrupted}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except MemoryError as error:
        print_message("error", name_options(str(error) or "not enough memory", options))
        raise typer.Exit(OUT_OF_MEMORY) from None
    # ImportError: a file format may need an optional package.
    except (ValueError, TypeError, ImportError, ConnectionError, OutputFileError) as error:
        print_message("error", name_options(str(error), options))
        raise typer.Exit(BAD_INPUT) from None


def name_options(message: str, options: Mapping[str, str]) -> str:
    """Add the command-line option to the first mention of each parameter."""
    for parameter, option in options.items():
        # Not within paths or longer names; a value and a closing quote belong to the mention.
        mention = rf"(?<![\w./\\-]){parameter}(='[^']*'|=[\w.]*\w)?['`]?(?![\w/\\])"
        message = re.sub(mention, rf"\g<0> ({option})", message, count=1)
    return message


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
