"""The outputs of suites: tables, figures, a summary and a report page."""

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from anchorview import __version__
from anchorview._utils.atomic_files import atomic_write, exclusive_folder
from anchorview._utils.errors import MissingPackageError
from anchorview._utils.memory import free_memory, memory_budget
from anchorview._utils.text import may_be_formula
from anchorview._utils.threads import n_cores
from anchorview.experiments.evaluation import (
    NOT_RUN,
    STATUS_TEXTS,
    Figure,
    ResultTable,
    evaluated,
    markdown_escaped,
    suite_figures,
    suite_results,
)
from anchorview.experiments.inputs import DataSet, check_method, is_external
from anchorview.experiments.jobs import Result, Store
from anchorview.experiments.plan import LABEL_MODES, Entry, ExperimentPlan, entries, left_out
from anchorview.experiments.ranks import rankings
from anchorview.experiments.runner import Listener, run_jobs
from anchorview.experiments.tables import RETURNED_TABLE, environment_table, tables
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text, write_page

TIME_LIMIT, MEMORY_SHARE = 3600.0, 0.8
"""Default limits: seconds of a job, and share of the free memory for all running jobs."""


def run_plan(
    plan: ExperimentPlan,
    sets: Sequence[DataSet],
    out: Path,
    *,
    n_jobs: int | None = None,
    retry: bool = False,
    listen: Listener = lambda *_: None,
    command: str = "",
) -> pd.DataFrame:
    """Run jobs without a result in a folder, or one that is done with `retry`; write outputs."""
    for method in filter(is_external, plan.methods):
        for warning in check_method(method):
            warnings.warn(warning, stacklevel=2)
    by_name = {each.name: each for each in sets}
    wanted = entries(plan, sets)
    jobs = [(job, by_name[job.data]) for job in dict.fromkeys(entry.job for entry in wanted)]
    if not jobs:
        raise ValueError(
            f"There is nothing to run: {', '.join(plan.suites)} has no job of the mode "
            f"{' or '.join(plan.modes)} on {', '.join(by_name)}."
        )
    if reasons := "; ".join(left_out(plan, sets)):
        warnings.warn(f"Left out: {reasons}.", stacklevel=2)
    keys = [job.key(data.digest) for job, data in jobs]
    at_once = n_jobs or n_cores()
    equal_share = MEMORY_SHARE * free_memory() / at_once
    out.mkdir(parents=True, exist_ok=True)
    with exclusive_folder(out), Store(out / "results.sqlite") as store:
        if retry:
            store.forget_unfinished(keys)
        run_jobs(
            jobs,
            store,
            time_limit=plan.time_limit or TIME_LIMIT,
            memory_limit=memory_budget(plan.memory_limit or equal_share),
            at_once=at_once,
            listen=listen,
        )
        results, environments = store.results(), store.environments(keys)
        versions = {each["anchorview"] for each in environments if "anchorview" in each}
        if others := sorted(versions - {__version__}):
            warnings.warn(
                f"Some results are from anchorview {', '.join(others)}, not {__version__}: "
                "finished jobs are not run again. Pass another folder to run all of them.",
                stacklevel=2,
            )
        return write_outputs(out, wanted, results, sets, environments, command, plan.title)


def write_outputs(
    out: Path,
    wanted: Sequence[Entry],
    results: Mapping[str, Result],
    sets: Sequence[DataSet],
    environments: Sequence[Mapping[str, Any]],
    command: str = "",
    title: str = "",
) -> pd.DataFrame:
    """Write tables, figures, a summary and a report page; returns the evaluated results.

    Outputs that need a package that is not installed are omitted with a warning.
    """
    title = title or "Experiments"
    digests = {one.name: one.digest for one in sets}
    frame = evaluated(wanted, results, digests)
    all_tables = tables(frame, sets)
    if environments:
        all_tables.append(environment_table(environments))
    # A job that several entries share counts once.
    keys = {entry.job.key(digests[entry.data]) for entry in wanted}
    counts = Counter[str](results.get(key, NOT_RUN).status for key in keys)

    missing: list[str] = []
    for folder in (out / "tables", out / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    paths = [_write(out / "results.csv", frame.map(_without_formula).to_csv(index=False))]
    for table in all_tables:
        paths.append(_write(out / "tables" / f"{table.name}.md", table.markdown()))
    ranked = (ranking.figure() for ranking in rankings(suite_results(frame)))
    charts: dict[Figure, Chart] = {}
    try:
        for figure in (*filter(None, ranked), *suite_figures(frame)):
            written = figure.write(out / "figures")
            charts[figure] = Chart(written[0].read_text("utf-8"), figure.caption)
            paths += written
    except MissingPackageError as error:
        missing.append(str(error))
    try:
        for table in all_tables:
            paths.append(_write(out / "tables" / f"{table.name}.tex", table.latex()))
        names = (", ".join(frame[name].unique()) for name in ("suite", "data"))
        sections = _sections(frame, all_tables, charts, counts, command)
        write_page(out / "report.html", title, " on ".join(names), [s for s in sections if s.parts])
        paths.append(out / "report.html")
    except MissingPackageError as error:
        missing.append(str(error))
    summary = "\n\n".join(_summary(title, command, protocol(frame), charts, all_tables))
    paths.append(_write(out / "summary.md", summary))
    _remove_earlier(out, {path.relative_to(out).as_posix() for path in paths})
    if missing:
        warnings.warn(f"Some outputs are omitted. {' '.join(missing)}", stacklevel=2)
    return frame


def _without_formula(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and may_be_formula(cell) else cell


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as stream:
        stream.write(text)
    return path


def _remove_earlier(out: Path, written: set[str]) -> None:
    """Remove earlier outputs that were not written again, and list those that were."""
    manifest = out / "outputs.json"
    listed = set(json.loads(manifest.read_text("utf-8"))) if manifest.exists() else set()
    # Nothing else in the folder is ever removed, whatever the list says.
    for path in (*out.glob("tables/*"), *out.glob("figures/*"), out / "report.html"):
        if path.relative_to(out).as_posix() in listed - written and path.is_file():
            path.unlink()
    _write(manifest, json.dumps(sorted(written), indent=1) + "\n")


def protocol(frame: pd.DataFrame) -> list[str]:
    """Return the paragraphs of the protocol of evaluated results."""
    columns = (
        "Columns without parentheses have the default settings of each method; (auto) selects "
        "settings from the views alone. Labels are used for scores only."
    )
    if frame["mode"].isin(LABEL_MODES).any():
        columns += (
            " Except in (oracle) columns, which use the setting with the highest mean ACC against "
            "the labels, as is common in papers, and (as published, oracle), the same with the "
            "choices of the paper, DALMC.as_published. This is impossible in practice, so they are "
            "only compared with each other. The maximum over more settings is higher by chance "
            "alone; the table of the chosen settings has their numbers."
        )
    return [
        "Each data set, method and setting is one job in a separate process, with limits of time "
        "and memory. A job that exceeds a limit, or fails, is also a result, shown as -.",
        "Scores are means over runs, with their standard deviation (divisor n, the number of "
        "runs). A method that ends with K-means on an embedding is fitted once, and a run is one "
        "K-means with one random initialization. Other random methods are fitted for each run, "
        "with one initialization. (auto) is fitted once for every four runs, since each fit is a "
        "consensus of dozens of partitions. Deterministic methods have the same score in every "
        "run. Estimators themselves keep the best of several initializations, without labels: "
        f'scores of what they return are in the table "{RETURNED_TABLE}" of the suite compare.',
        columns,
        "†: not significantly different from the best by a two-sided Mann-Whitney U test of the "
        "runs with Holm's correction at 5 %, where there are enough runs to reject. CPU seconds "
        "are of all threads and child processes.",
        "ACC: fraction of samples that are correct under the best matching of clusters to classes. "
        "NMI: normalized mutual information (arithmetic mean). F1: of pairs of samples. Purity: "
        "fraction of samples in the largest class of their cluster. ARI: adjusted Rand index.",
    ]


def _summary(
    title: str,
    command: str,
    paragraphs: Sequence[str],
    figures: Collection[Figure],
    all_tables: Sequence[ResultTable],
) -> Iterator[str]:
    """Yield the paragraphs of the summary, as Markdown."""
    yield f"# {markdown_escaped(title)}"
    if command:
        # Indented lines are code and need no escaping.
        yield from ("Reproduced by:", f"    {' '.join(command.splitlines())}")
    yield from map(markdown_escaped, paragraphs)
    if figures:
        yield "## Figures"
    for figure in figures:
        caption = markdown_escaped(f"{figure.title}. {figure.caption}")
        yield from (f"![{caption}](figures/{figure.name}.svg)", f"*{caption}*")
    yield "## Tables"
    yield from (table.markdown() for table in all_tables)


def _sections(
    frame: pd.DataFrame,
    all_tables: Sequence[ResultTable],
    charts: Mapping[Figure, Chart],
    counts: Counter[str],
    command: str,
) -> Iterator[Section]:
    """Yield the sections of the report page; some may be empty."""
    methods = frame["column"].str.replace(r" \((as published, )?oracle\)$", "", regex=True)
    facts = {
        "data sets": str(frame["data"].nunique()),
        "methods": str(methods.nunique()),
        "jobs done": f"{counts['done']} of {counts.total()}",
        **{f"jobs {text}": str(counts[s]) for s, text in STATUS_TEXTS.items() if counts[s]},
    }
    overview = [Facts(facts), *_table_parts(all_tables, "data", "environment")]
    yield Section("Overview", overview, "What was run, on which data and machines.")
    ranks = [chart for figure, chart in charts.items() if figure.name.startswith("ranks")]
    ranks_lead = "Ranks of the methods on each data set, averaged; lower is better."
    yield Section("Ranks", [*ranks, *_table_parts(all_tables, "ranks")], ranks_lead)
    for figure, chart in charts.items():
        if chart not in ranks:
            yield Section(figure.title, [chart])
    elsewhere = ("data", "environment", "ranks", "published", "not-done")
    rest = [table for table in all_tables if not table.name.startswith(elsewhere)]
    yield Section("Tables", _table_parts(rest, ""))
    yield Section("Comparison with the paper", _table_parts(all_tables, "published"))
    yield Section("Not done", _table_parts(all_tables, "not-done"))
    yield Section("Protocol", [Text(paragraph) for paragraph in protocol(frame)])
    yield Section("How to reproduce", [Code(command)] if command else [])


def _table_parts(all_tables: Sequence[ResultTable], *prefixes: str) -> list[Part]:
    """Tables by the prefixes of their names; consecutive equal captions are shown once."""
    wanted = [table for table in all_tables if table.name.startswith(prefixes)]
    parts: list[Part] = []
    for caption, group in groupby(wanted, key=lambda table: table.caption):
        parts.append(Text(caption))
        for table in group:
            parts.append(Table(table.texts(), table.title, table.marks()))
            if table.name.startswith("ranks"):
                parts += [Text(note) for note in table.notes]
    return parts
