"""All that a suite of experiments leaves in its folder: tables, figures, a summary, a report."""

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd

from anchorview._utils.atomic_files import atomic_write
from anchorview._utils.errors import MissingPackageError
from anchorview.experiments.output.escaping import markdown_escaped
from anchorview.experiments.output.figures import Figure, figures
from anchorview.experiments.output.overview_tables import environment_table
from anchorview.experiments.output.protocol_text import protocol
from anchorview.experiments.output.suite_report import write_suite_report
from anchorview.experiments.output.table_formats import ResultTable
from anchorview.experiments.output.tables import tables
from anchorview.experiments.plan.jobs import Result
from anchorview.experiments.plan.suites import Entry
from anchorview.experiments.results.evaluation import evaluated
from anchorview.experiments.run.data_sets import DataSet

MANIFEST = "outputs.json"
"""File that lists what was written, so that the next outputs can replace all of it."""

PLACES = ("tables", "figures", "summary.md", "report.html")
"""Folders and files of outputs; nothing else in the folder is ever removed."""


class Outputs(NamedTuple):
    """What was made of results."""

    frame: pd.DataFrame
    """What came out at each place of the tables, of :func:`evaluated`."""
    paths: list[Path]
    """The files that were written."""


def write_outputs(
    out: Path,
    entries: Sequence[Entry],
    results: Mapping[str, Result],
    sets: Sequence[DataSet],
    environments: Sequence[Mapping[str, Any]],
    command: str = "",
    title: str = "",
) -> Outputs:
    """Write tables, figures, a summary and a report of the results that there are.

    Tables are ``tables/*.md``, ``*.csv`` and ``*.tex``; figures ``figures/*.svg`` and ``*.png``;
    ``summary.md`` has them all on one page, and ``report.html`` is interactive. What needs a
    package that is not installed is left out with a warning. ``outputs.json`` lists the files;
    those that an earlier one lists and that are not written again are removed.

    Parameters
    ----------
    out : Path
        The folder; made if it is not there.
    entries : sequence of Entry
        What was to be run.
    results : mapping of str to Result
        What is done, by the key of the job.
    sets : sequence of DataSet
        Those that the entries name.
    environments : sequence of mapping
        Versions and machines on which the jobs were run.
    command : str, optional
        What to type to get the same again.
    title : str, optional
        Heading of the summary and the report; "Experiments" if not given.

    Returns
    -------
    Outputs
    """
    digests = {one.name: one.digest for one in sets}
    frame = evaluated(entries, results, digests)
    found = tables(frame, sets)
    if environments:
        found.append(environment_table(environments))
    for folder in (out / "tables", out / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    paths = [path for table in found for path in _write_table(table, out / "tables")]
    missing: list[str] = []
    drawn = figures(frame)
    try:
        paths += [path for figure in drawn for path in figure.write(out / "figures")]
    except MissingPackageError as error:
        missing.append(str(error))
        drawn = []
    lines = [
        *_heading(title or "Experiments", command),
        *_paragraphs(protocol(frame)),
        *_summary(found, drawn),
    ]
    paths.append(_write(out / "summary.md", "\n".join(lines)))
    counts = _job_counts(entries, results, digests)
    try:
        write_suite_report(out / "report.html", frame, found, counts, command, title)
        paths.append(out / "report.html")
    except MissingPackageError as error:
        missing.append(str(error))
    paths.append(_replace_earlier(out, paths))
    if missing:
        warnings.warn(f"Some outputs are left out. {' '.join(missing)}", stacklevel=2)
    return Outputs(frame, paths)


def _job_counts(
    entries: Sequence[Entry], results: Mapping[str, Result], digests: Mapping[str, str]
) -> Counter[str]:
    """How many jobs ended how; one at several places counts once."""
    keys = {entry.job.key(digests[entry.data]) for entry in entries}
    return Counter(results[key].status if key in results else "absent" for key in keys)


def _write_table(table: ResultTable, folder: Path) -> Iterator[Path]:
    texts = {"md": table.markdown(), "csv": table.csv(), "tex": table.latex()}
    for ending, text in texts.items():
        yield _write(folder / f"{table.name}.{ending}", text)


def _heading(title: str, command: str) -> Iterator[str]:
    yield from (f"# {markdown_escaped(title)}", "")
    if command:
        # Indented, whatever is on the line is code.
        yield from ("Repeated by:", "", f"    {' '.join(command.splitlines())}", "")


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (markdown_escaped(text), "")


def _summary(found: Sequence[ResultTable], drawn: Sequence[Figure]) -> Iterator[str]:
    """Yield the lines of all figures and tables."""
    if drawn:
        yield from ("## Figures", "")
    for figure in drawn:
        title = markdown_escaped(figure.title)
        yield from (f"![{title}](figures/{figure.name}.svg)", "", f"*{title}*", "")
    yield from ("## Tables", "")
    for table in found:
        yield table.markdown()


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as stream:
        stream.write(text)
    return path


def _replace_earlier(out: Path, paths: Sequence[Path]) -> Path:
    """Remove earlier outputs that are not among these, and list these; the path of the list."""
    written = {path.relative_to(out).as_posix() for path in paths}
    for name in _earlier(out / MANIFEST) - written:
        # A name may be none, and a file gone or held: then it stays as it is.
        with suppress(OSError, ValueError):
            _remove(out, name)
    return _write(out / MANIFEST, json.dumps(sorted(written), indent=1) + "\n")


def _earlier(manifest: Path) -> set[str]:
    """Relative paths that a list of outputs has; none if it cannot be read or is something else."""
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    given = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    # One spelling of a path, to know what is written again.
    paths = [PurePosixPath(name) for name in given]
    return {path.as_posix() for path in paths if path.parts and not path.is_absolute()}


def _remove(out: Path, name: str) -> None:
    """Remove an output, unless its name or a link leads elsewhere."""
    folder = out.resolve()
    path = folder / name
    stays = path.is_relative_to(folder) and path.resolve() == path
    if stays and path.relative_to(folder).parts[0] in PLACES and path.is_file():
        path.unlink()
