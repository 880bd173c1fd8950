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
from anchorview.experiments.escaping import markdown_escaped
from anchorview.experiments.evaluation import evaluated
from anchorview.experiments.figures import Figure, figures
from anchorview.experiments.jobs import Result
from anchorview.experiments.overview_tables import environment_table
from anchorview.experiments.protocol_text import protocol
from anchorview.experiments.suite_report import write_suite_report
from anchorview.experiments.suites import Entry
from anchorview.experiments.table_formats import ResultTable
from anchorview.experiments.tables import tables

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
    found = tables(frame, sets)
    if environments:
        found.append(environment_table(environments))
    for folder in (out / "tables", out / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    paths = [
        _write(out / "tables" / f"{table.name}.{suffix}", text)
        for table in found
        for suffix, text in table.formats().items()
    ]
    missing: list[str] = []
    drawn = figures(frame)
    try:
        paths += [path for figure in drawn for path in figure.write(out / "figures")]
    except MissingPackageError as error:
        missing.append(str(error))
        drawn = []
    lines = _summary(title or "Experiments", command, protocol(frame), drawn, found)
    paths.append(_write(out / "summary.md", "\n".join(lines)))
    # A job that several entries share counts once.
    keys = {entry.job.key(digests[entry.data]) for entry in entries}
    counts = Counter(results[key].status if key in results else "absent" for key in keys)
    try:
        write_suite_report(out / "report.html", frame, found, counts, command, title)
        paths.append(out / "report.html")
    except MissingPackageError as error:
        missing.append(str(error))
    paths.append(_replace_earlier(out, paths))
    if missing:
        warnings.warn(f"Some outputs are omitted. {' '.join(missing)}", stacklevel=2)
    return SuiteOutput(frame, paths)


def _summary(
    title: str,
    command: str,
    paragraphs: Sequence[str],
    drawn: Sequence[Figure],
    found: Sequence[ResultTable],
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
    yield from (table.markdown() for table in found)


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as stream:
        stream.write(text)
    return path


def _replace_earlier(out: Path, paths: Sequence[Path]) -> Path:
    """Remove earlier outputs that are not among the paths, and write the new manifest."""
    written = {path.relative_to(out).as_posix() for path in paths}
    for name in _listed(out / MANIFEST) - written:
        # Files with invalid names, or that are gone or in use, are ignored.
        with suppress(OSError, ValueError):
            _remove(out, name)
    return _write(out / MANIFEST, json.dumps(sorted(written), indent=1) + "\n")


def _listed(manifest: Path) -> set[str]:
    """Relative paths in a manifest, in normal form; none if it is not a readable manifest."""
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    names = names if isinstance(names, list) else []
    paths = [PurePosixPath(name) for name in names if isinstance(name, str)]
    return {path.as_posix() for path in paths if path.parts and not path.is_absolute()}


def _remove(out: Path, name: str) -> None:
    """Remove an output, unless its name or a link leads out of the folder."""
    folder = out.resolve()
    path = folder / name
    inside = path.is_relative_to(folder) and path.resolve() == path
    if inside and path.relative_to(folder).parts[0] in OUTPUT_NAMES and path.is_file():
        path.unlink()
