"""Outputs of the commands: paths, tables in CSV files, and what is printed."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.errors import optional_import
from anchorview._utils.progress import report_progress
from anchorview.cli.options import REPORT, option
from anchorview.cli.summaries import closing_lines
from anchorview.cli.terminal import print_json, progress_bar

if TYPE_CHECKING:
    import pandas as pd

STDOUT = Path("-")
"""Path of the labels that stands for standard output."""


@dataclass(frozen=True)
class Printing:
    """What is printed."""

    quiet: bool = option("Print only warnings and errors.", "--quiet", "-q", default=False)
    as_json: bool = option("Print JSON instead of the summary.", "--json", default=False)

    @contextmanager
    def progress(self, stage: str, *, shown: bool = True) -> Iterator[None]:
        """Show the progress from a first stage on."""
        with progress_bar(shown=shown and sys.stderr.isatty() and not self.quiet):
            report_progress(stage, 0, 1)
            yield

    def show(
        self, record: Mapping[str, Any], *lines: Iterable[str], labels: Path | None = None
    ) -> None:
        """Print a record or, without ``--json``, the lines of a summary, beside the labels."""
        if self.as_json:
            print_json(record)
        elif not self.quiet:
            # Lines are made for the stream on which they are printed.
            with redirect_stdout(sys.stderr if labels == STDOUT else sys.stdout):
                for line in chain(*lines):
                    typer.echo(line)


@dataclass(frozen=True)
class LabelsOutput:
    """Where labels are written, and how."""

    out: Path | None = option("CSV file for the labels; - for standard output.")
    doubtful: int | None = option(
        "Number for samples in doubt in --out.", metavar="-1", max=-1, panel="Output"
    )

    def checked(self, inputs: Mapping[str, Path | None], printing: Printing) -> dict[str, Path]:
        """Paths that were given, by option; raises if one cannot be written."""
        if self.doubtful is not None and self.out is None:
            raise ValueError("--doubtful is for the labels that --out writes: add --out.")
        paths = {f"--{name}": path for name, path in vars(self).items() if name != "doubtful"}
        return check_outputs(paths, inputs, printing)


@dataclass(frozen=True)
class OutputPaths(LabelsOutput):
    """Files and folders to write, the slowest last."""

    save: Path | None = option("File for the model, to be used by predict.")
    results: Path | None = option(
        "Folder for the embedding, labels, sample ids and, by auto, confidence.", panel="Output"
    )
    report: Path | None = REPORT


def check_outputs(
    paths: Mapping[str, Path | None], inputs: Mapping[str, Path | None], printing: Printing
) -> dict[str, Path]:
    """Outputs that are given; raises if one cannot be written or would replace another file."""
    outputs = {name: path for name, path in paths.items() if path is not None}
    require_separate(outputs, inputs)
    if outputs.get("--out") == STDOUT and printing.as_json:
        raise ValueError("--out - and --json both write to standard output. Leave one out.")
    for name, path in outputs.items():
        if name == "--results":
            from anchorview.sources.results_folder import require_results_folder

            require_results_folder(path)
        elif path != STDOUT:
            require_writable(path)
    if "--report" in outputs:
        for package in ("matplotlib", "jinja2"):
            optional_import(package, "Reports", "report")
    return outputs


def require_separate(written: Mapping[str, Path], inputs: Mapping[str, Path | None]) -> None:
    """Raise if two paths are the same, or one is written into another, and taken for a view."""
    paths = {
        name: Path(os.path.realpath(path))
        for name, path in {**written, **inputs}.items()
        if path is not None and path != STDOUT
    }
    for (name, path), (other, place) in combinations(paths.items(), 2):
        if path == place:
            raise ValueError(f"{name} and {other} are the same file, {path}. Pass two names.")
        for inner, outer in ((name, other), (other, name)):
            if inner in written and paths[inner].is_relative_to(paths[outer]):
                raise ValueError(
                    f"{inner} is in the folder of {outer}, {paths[outer]}. Pass a path outside it."
                )


def write_and_show(
    printing: Printing,
    outputs: Mapping[str, Path],
    writers: Mapping[str, Callable[[Path], object]],
    record: dict[str, Any],
    lines: Iterable[str],
) -> None:
    """Write all outputs, although some fail, and print a summary, to which they are added."""
    written, errors = {}, list[Exception]()
    with printing.progress("writing"):
        for name, path in outputs.items():
            try:
                writers[name](path)
            except Exception as error:
                errors.append(error)
            else:
                written[name.removeprefix("--")] = str(path)
    record["outputs"] = written
    printing.show(record, lines, closing_lines(record), labels=outputs.get("--out"))
    if errors:
        raise ExceptionGroup("Some outputs failed", errors)


def write_labels(path: Path, labels: Any, confidence: Any, ids: Any, names: Any = None) -> None:
    """Write ids, clusters and, if given, names, which negative clusters lack, and confidence."""
    import pandas as pd

    samples = range(len(labels)) if ids is None else ids.tolist()
    table = pd.DataFrame({"sample": samples, "cluster": labels})
    if names is not None:
        table["name"] = [names[cluster] if cluster >= 0 else "" for cluster in labels]
    if confidence is not None:
        table["confidence"] = [f"{share:.3f}" for share in confidence]
    write_table(table, path)


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, to a file or to standard output; warn of text like a formula."""
    import pandas as pd

    from anchorview._utils.text import may_be_formula

    texts = pd.unique(table.select_dtypes(exclude="number").astype(str).to_numpy().ravel())
    # In a summary, names of features follow those of their views.
    names = dict.fromkeys(name for text in texts for name in re.split("[;:] ", text))
    formulas = [name for name in names if may_be_formula(name)]
    if formulas:
        warnings.warn(
            f"names or ids such as {formulas[0]!r} ({len(formulas)} in all) begin like formulas "
            "of spreadsheets, which may run them. Import the column as text.",
            stacklevel=2,
        )
    to_csv: Any = partial(table.to_csv, index=False, float_format="%.6g", lineterminator="\n")
    if path == STDOUT:
        typer.echo(to_csv(), nl=False)
    else:
        with atomic_write(path) as stream:
            to_csv(stream)
