"""Outputs of the commands: paths, tables in CSV files, and what is printed."""

# Imported by ``--help``: light modules only.
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.errors import optional_import
from anchorview.cli.options import Out, Report, option
from anchorview.cli.terminal import print_json, print_lines, watched, write_stdout

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

STDOUT = Path("-")
"""Path of the labels that stands for standard output."""


@dataclass(frozen=True)
class OutputPaths:
    """Files and folders to write."""

    out: Out = None
    """A file for the labels, or :data:`STDOUT`."""
    save: Annotated[Path | None, option("File for the fitted model, to be used by predict.")] = None
    report: Report = None
    results: Annotated[
        Path | None,
        option(
            "Folder for embedding.npy, sample_ids.npy, labels.npy and, by auto, confidence.npy, "
            "second_labels.npy and level_labels.npy; for auto and dalmc."
        ),
    ] = None

    def by_option(self) -> dict[str, Path]:
        """Paths that were given, by option."""
        return {f"--{name}": path for name, path in vars(self).items() if path is not None}


@dataclass(frozen=True)
class Printing:
    """What is printed."""

    quiet: Annotated[bool, option("Print nothing but warnings and errors.", "--quiet", "-q")] = (
        False
    )
    as_json: Annotated[
        bool, option("Print a JSON object on standard output instead of the summary.", "--json")
    ] = False

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar is shown."""
        return watched() and not self.quiet

    def show(
        self, record: Mapping[str, Any], lines: Iterable[str], labels: Path | None = None
    ) -> None:
        """Print a record or, without ``--json``, the lines of a summary, beside the labels."""
        if self.as_json:
            print_json(record)
        elif not self.quiet:
            # Lines are made for the stream on which they are printed.
            with redirect_stdout(sys.stderr if labels == STDOUT else sys.stdout):
                for line in lines:
                    print_lines(line)


def check_outputs(
    written: Mapping[str, Path], inputs: Mapping[str, Path], printing: Printing
) -> None:
    """Raise if an output cannot be written, or would replace an input or another output."""
    require_separate(written, inputs)
    if written.get("--out") == STDOUT and printing.as_json:
        raise ValueError("--out - and --json both write to standard output. Leave one out.")
    for name, path in written.items():
        if name == "--results":
            from anchorview.sources.results_folder import require_results_folder

            require_results_folder(path)
        elif path != STDOUT:
            require_writable(path)
    if "--report" in written:
        for package in ("matplotlib", "jinja2"):
            optional_import(package, "Reports", "report")


def require_separate(written: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise if two paths are the same, or if one is written into another, such as the data.

    There it would replace a file, or be taken for a view.
    """
    given = {**written, **inputs}
    paths = {name: Path(os.path.realpath(path)) for name, path in given.items() if path != STDOUT}
    for (name, path), (other, place) in combinations(paths.items(), 2):
        if path == place:
            raise ValueError(f"{name} and {other} are the same file, {path}. Pass two names.")
        for inner, outer in ((name, other), (other, name)):
            if inner in written and paths[inner].is_relative_to(paths[outer]):
                raise ValueError(
                    f"{inner} is in the folder of {outer}, {paths[outer]}. Pass a path outside it."
                )


def labels_table(labels: Any, confidence: Any, ids: Any, names: Any = None) -> "pd.DataFrame":
    """Cluster and, if given, its name and the confidence of each sample.

    Samples in doubt may have a negative number in place of the cluster, and then no name.
    Ids are written as they are, so that they can be matched with those of the data.
    """
    import pandas as pd

    samples = range(len(labels)) if ids is None else ids.tolist()
    table = pd.DataFrame({"sample": samples, "cluster": labels})
    if names is not None:
        table["name"] = [names[cluster] if cluster >= 0 else "" for cluster in labels]
    if confidence is not None:
        table["confidence"] = [f"{share:.3f}" for share in confidence]
    return table


def require_table(doubtful: int | None, out: Path | None) -> None:
    """Raise if a number for samples in doubt would not be written."""
    if doubtful is not None and out is None:
        raise ValueError(f"--doubtful {doubtful} is for the labels that --out writes: add --out.")


def with_number(certain: Any, number: int) -> "NDArray[Any]":
    """Labels with a number in place of -1."""
    import numpy as np

    labels = np.asarray(certain)
    return np.where(labels < 0, number, labels)


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, to a file or to standard output.

    Warns of text that begins like a formula.
    """
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
        write_stdout(to_csv())
    else:
        with atomic_write(path) as stream:
            to_csv(stream)
