"""Results of `compared.py`: a row per data set, method, share of missing entries, order and seed.

The file is text with one row per line, so that changes can be reviewed. `compared.py` and
`compared_others.py` write it; the tables in `compared.md` and the page `docs/benchmark.md` are made
from it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from _measurements import when_and_where
from anchorview._utils.atomic_files import atomic_write
from anchorview.estimators.methods import METHODS, PUBLISHED_SETTINGS, find_method
from anchorview.experiments.jobs import METRICS, Job, Result

PATH = Path(__file__).with_name("compared.json")

NOT_GIVEN = {f"{name} (number not given)": name for name in ("auto", "graph-leiden")}
"""Columns of methods that choose the number of clusters, and the methods."""

COLUMNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    "dalmc (as published)": ("dalmc", PUBLISHED_SETTINGS),
    # The initialization of the authors' programs, which depends on the order of samples.
    **{
        f"{name} (authors' start)": (name, {"init": "identity"})
        for name in ("awmvc", "fpmvs-cag", "omsc", "smvsc")
    },
    **{column: (name, {"n_clusters": None}) for column, name in NOT_GIVEN.items()},
}
"""Method and settings of each column."""

IMML = {"iMML LFIMVC": "LFIMVC", "iMML OPIMC": "OPIMC"}
"""Columns of `compared_others.py`, and classes of the package iMML."""

LOW_PASS = "low-pass filter"
"""Column of the demonstration in `compared_others.py`."""

CPU_MINUTES = 5
"""CPU time after which a fit is stopped."""

MISSING = 0.3
"""Share of the (sample, view) entries that are removed from incomplete data."""

SCALED = (
    *("dalmc", "auto", "awmvc", "omsc", "opmc", "bmvc"),
    *("concat-kmeans", "concat-spectral", "uomvsc"),
)
"""Columns of the figure of times against the number of samples."""

MADE = "made-"
"""Start of the names of made data sets; the number of samples follows."""

POSITION = ("data", "column", "missing", "order", "seed")
MEASURED = (*METRICS, "seconds", "megabytes", "iterations", "wall", "others", "clusters")
"""Seconds are of CPU time; the last three, which old rows lack, are those of the wall clock, the
number of cores that other programs used meanwhile, and the number of clusters found."""
DIGITS = {**dict.fromkeys(METRICS, 4), "seconds": 3, "megabytes": 1, "iterations": 0}
DIGITS |= {"wall": 3, "others": 2, "clusters": 0}
FIELDS = (*POSITION, "status", *MEASURED)

RowOrder = Literal["sorted", "shuffled"]
"""Order of the rows of a data set: by class, or random."""


@dataclass(frozen=True)
class PreparedJob(Job):
    """A job on data with ordered rows and removed entries."""

    missing: float = 0.0
    """Fraction of the (sample, view) entries to remove at random; every sample keeps a view."""
    impute: bool = False
    """Whether to replace missing entries by feature means."""
    order: RowOrder = "shuffled"
    """Order in which the rows are passed to the fit; the seed determines a random one."""


Position = tuple[str, str, float, RowOrder, int]
"""Data set, column, share of missing entries, order of rows and seed."""


def is_imputed(column: str, missing: float) -> bool:
    """Whether the column needs imputed means if entries are missing."""
    return missing > 0 and not find_method(COLUMNS[column][0]).accepts_missing_views


def job_at(position: Position) -> PreparedJob:
    """Job that measures a row."""
    data, column, missing, order, seed = position
    method, settings = COLUMNS[column]
    return PreparedJob.of(
        data,
        method,
        settings,
        missing=missing,
        impute=is_imputed(column, missing),
        runs=1,
        seed=seed,
        order=order,
    )


@dataclass
class ResultFile:
    """Rows of the file at a path, as the store of :func:`run_jobs`; each is written at once."""

    path: Path = PATH
    environment: dict[str, Any] = field(default_factory=dict)
    """Versions and machine of the last measurement."""
    measured: dict[str, str] = field(default_factory=dict)
    """Date and machine of the first measurement of each column."""
    data: dict[str, list[Any]] = field(default_factory=dict)
    """Numbers of samples and classes, and the numbers of features, of each data set."""
    rows: dict[Position, list[Any]] = field(default_factory=dict)
    """Status, with the reason unless done, and measurements by position."""

    def __post_init__(self) -> None:
        if self.path.exists():
            content = json.loads(self.path.read_text(encoding="utf-8"))
            self.environment, self.measured = content["environment"], content["measured"]
            self.data = content["data"]
            n = len(POSITION)
            self.rows = {tuple(row[:n]): row[n:] for row in content["rows"]}

    def results(self) -> dict[str, list[Any]]:
        """Rows by the key of their job, except for those of other packages."""
        known = (position for position in self.rows if position[1] in COLUMNS)
        return {job_at(position).key(""): self.rows[position] for position in known}

    def add(
        self, key: str, job: PreparedJob, result: Result, environment: Mapping[str, Any]
    ) -> None:
        """Add the result of a job."""
        settings = dict(job.settings)
        column = next(name for name, entry in COLUMNS.items() if entry == (job.method, settings))
        self.environment = dict(environment)
        self.add_result((job.data, column, job.missing, job.order, job.seed), result)

    def add_result(self, position: Position, result: Result) -> None:
        """Add a row and write the file."""
        status = f"{result.status}: {result.reason}" if result.reason else result.status
        measured = {name: values[0] for name, values in result.scores.items()}
        numbers = [round(measured[n], DIGITS[n]) if n in measured else None for n in MEASURED]
        self.rows[position] = [status, *numbers]
        self.measured.setdefault(position[1], when_and_where())
        self.write()

    def forget(self, columns: Iterable[str]) -> None:
        """Remove the rows of some columns."""
        forgotten = set(columns)
        self.rows = {key: row for key, row in self.rows.items() if key[1] not in forgotten}
        self.measured = {key: at for key, at in self.measured.items() if key not in forgotten}

    def write(self) -> None:
        """Write the file, sorted."""
        lines = [json.dumps([*position, *row]) for position, row in sorted(self.rows.items())]
        head: dict[str, Any] = {"environment": self.environment}
        head["measured"] = dict(sorted(self.measured.items()))
        head["data"] = dict(sorted(self.data.items()))
        text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
        rows = ",\n".join(lines)
        with atomic_write(self.path) as stream:
            stream.write(f'{{{text},\n"fields": {json.dumps(FIELDS)},\n"rows": [\n{rows}\n]}}\n')

    def frame(self) -> pd.DataFrame:
        """All rows as a table with the columns :data:`FIELDS`; numbers are NaN if not done."""
        rows = [
            dict(zip(FIELDS, (*position, *row), strict=False))
            for position, row in sorted(self.rows.items())
        ]
        return pd.DataFrame(rows, columns=FIELDS).astype(dict.fromkeys(MEASURED, float))
