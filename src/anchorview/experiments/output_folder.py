"""The output folder of a suite: tables, figures, a summary and a report page."""

import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd

from anchorview._utils.atomic_files import atomic_write
from anchorview._utils.errors import MissingPackageError
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import NOT_RUN, evaluated
from anchorview.experiments.figures import Figure, figures
from anchorview.experiments.jobs import Result
from anchorview.experiments.suite_report import protocol, write_suite_report
from anchorview.experiments.suites import Entry
from anchorview.experiments.table_formats import ResultTable, markdown_escaped
from anchorview.experiments.tables import environment_table, tables

MANIFEST = "outputs.json"
"""List of the files written, so that the next output can replace all of them."""

OUTPUT_NAMES = ("tables", "figures", "summary.md", "report.html")
"""Folders and files of the output; nothing else in the folder is ever removed."""


class SuiteOutput(NamedTuple):
    """The output of a suite."""

    frame: pd.DataFrame
    """Result of :func:`anchorview.experiments.evaluation.evaluated`."""
    paths: list[Path]
    """The files written."""


def write_outputs(
    out: Path,
    entries: Sequence[Entry],
    results: Mapping[str, Result],
    sets: Sequence[DataSet],
    environments: Sequence[Mapping[str, Any]],
    command: str = "",
    title: str = "",
) -> SuiteOutput:
    """Write tables, figures, a summary and a report page of the available results.

    Tables are ``tables/*.md``, ``*.csv`` and ``*.tex``; figures ``figures/*.svg`` and ``*.png``;
    ``summary.md`` has all of them, and ``report.html`` is interactive. Outputs that need a package
    that is not installed are omitted with a warning. ``outputs.json`` lists the files; files listed
    by an earlier one that are not written again are removed.

    `entries` are the planned results, `results` the available ones by key of the job, and `sets`
    the data sets of the entries; `environments` are the versions and machines of the jobs, and
    `command` is the shell command that reproduces the results.
    """
    digests = {one.name: one.digest for one in sets}
    frame = evaluated(entries, results, digests)
    all_tables = tables(frame, sets)
    if environments:
        all_tables.append(environment_table(environments))
    for folder in (out / "tables", out / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for table in all_tables:
        for suffix, text in (("md", table.markdown()), ("csv", table.csv())):
            paths.append(_write(out / "tables" / f"{table.name}.{suffix}", text))
    # A job that several entries share counts once.
    keys = {entry.job.key(digests[entry.data]) for entry in entries}
    counts = Counter[str](results.get(key, NOT_RUN).status for key in keys)
    drawn: list[Figure] = []
    missing: list[str] = []
    try:
        for table in all_tables:
            paths.append(_write(out / "tables" / f"{table.name}.tex", table.latex()))
        write_suite_report(out / "report.html", frame, all_tables, counts, command, title)
        paths.append(out / "report.html")
    except MissingPackageError as error:
        missing.append(str(error))
    try:
        for figure in figures(frame):
            paths += figure.write(out / "figures")
            drawn.append(figure)
    except MissingPackageError as error:
        missing.append(str(error))
    lines = _summary(title or "Experiments", command, protocol(frame), drawn, all_tables)
    paths.append(_write(out / "summary.md", "\n".join(lines)))
    paths.append(_replace_earlier(out, paths))
    if missing:
        warnings.warn(f"Some outputs are omitted. {' '.join(missing)}", stacklevel=2)
    return SuiteOutput(frame, paths)


def _summary(
    title: str,
    command: str,
    paragraphs: Sequence[str],
    drawn: Sequence[Figure],
    all_tables: Sequence[ResultTable],
) -> Iterator[str]:
    """Yield the lines of the summary, as Markdown."""
    yield from (f"# {markdown_escaped(title)}", "")
    if command:
        # Indented lines are code and need no escaping.
        yield from ("Reproduced by:", "", f"    {' '.join(command.splitlines())}", "")
    for paragraph in paragraphs:
        yield from (markdown_escaped(paragraph), "")
    if drawn:
        yield from ("## Figures", "")
    for figure in drawn:
        caption = markdown_escaped(figure.title)
        yield from (f"![{caption}](figures/{figure.name}.svg)", "", f"*{caption}*", "")
    yield from ("## Tables", "")
    yield from (table.markdown() for table in all_tables)


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as stream:
        stream.write(text)
    return path


def _replace_earlier(out: Path, paths: Sequence[Path]) -> Path:
    """Remove earlier outputs that are not among the paths, and write the new manifest."""
    manifest, folder = out / MANIFEST, out.resolve()
    written = {path.relative_to(out).as_posix() for path in paths}
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        names = []
    for name in names if isinstance(names, list) else ():
        # Files with invalid names, or that are gone or in use, are ignored.
        with suppress(OSError, ValueError, TypeError):
            place = PurePosixPath(name)
            path = folder / place
            # Neither the name nor a link may lead out of the folder.
            is_file = path.is_file() and path.resolve() == path and not place.is_absolute()
            if is_file and place.parts[0] in OUTPUT_NAMES and place.as_posix() not in written:
                path.unlink()
    return _write(manifest, json.dumps(sorted(written), indent=1) + "\n")
