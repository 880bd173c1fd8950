"""Jobs, the units of work of experiments, their results, and the store of these.

The store is an SQLite file with one row per finished job, and its environment. A row is written
completely or not at all, even if the process is killed.
"""

import json
import platform
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Self, get_args

import psutil
import scipy.linalg  # noqa: F401 - loads a BLAS library, so that threadpoolctl sees it
from threadpoolctl import threadpool_info

import anchorview
from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview._utils.threads import n_cores
from anchorview.estimators.methods import SettingValue

METRICS = ("ACC", "NMI", "F1", "Purity", "ARI")
"""Scores of a run, as named by :func:`anchorview.metrics.clustering_scores`."""

Status = Literal["done", "memory", "time", "failed", "absent"]
"""How a job ended; "absent" if it was not run. Tables show "-" for those that are not done."""


@dataclass(frozen=True)
class Job:
    """One method with one choice of settings, sorted by name, on one data set.

    Run r uses ``seed + r``. If `alone`, it runs without others, to measure its time.
    """

    data: str
    method: str
    settings: tuple[tuple[str, SettingValue], ...] = ()
    runs: int = 20
    seed: int = 0
    alone: bool = False
    code: str = ""
    """Digest of the code of a method that is not of this package."""

    @classmethod
    def of(
        cls, data: str, method: str, settings: Mapping[str, Any] | None = None, **others: Any
    ) -> Self:
        """Make a job from a mapping of settings in any order."""
        return cls(data, method, tuple(sorted((settings or {}).items())), **others)

    def key(self, digest: str) -> str:
        """Key of the job's result on a data set with a digest, the same on every machine."""
        return sha256(canonical_json({"job": self.to_json(), "data": digest}).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Mapping for JSON."""
        content = asdict(self) | {"settings": dict(self.settings)}
        # Keys of results that were stored with these, or without a code, stay the same.
        content = {"missing": 0.0, "impute": False} | content
        return {name: value for name, value in content.items() if (name, value) != ("code", "")}


@dataclass(frozen=True)
class Result:
    """Result of a job: scores of every run, and of the `labels_` that the estimator returns.

    Times are those of a complete fit, the median of three for a job that runs alone; CPU time is of
    all threads and child processes. `peak_bytes` is the maximum resident memory of the process.
    """

    status: Status
    reason: str = ""
    """Why the job is not done, in one line."""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    returned: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float | None = None
    cpu_seconds: float | None = None
    other_cores: float | None = None
    """Mean number of cores that other processes used meanwhile."""
    seconds: float = 0.0
    peak_bytes: int | None = None
    n_iter: int | None = None
    objective: tuple[float, ...] = ()
    view_weights: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Result from its fields; raises a ValueError or TypeError for anything else."""
        if not isinstance(content, dict) or content.get("status") not in get_args(Status):
            raise ValueError("a result must be a mapping with a status")
        scores = {name: tuple(map(float, runs)) for name, runs in content.get("scores", {}).items()}
        numbers = {name: tuple(content.get(name, ())) for name in ("objective", "view_weights")}
        return cls(**content | {"scores": scores} | numbers)


def canonical_json(content: Any) -> str:
    """JSON text that is the same for equal contents."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


TABLE = """
CREATE TABLE IF NOT EXISTS results
(key TEXT PRIMARY KEY, job TEXT NOT NULL, result TEXT NOT NULL, environment TEXT NOT NULL)
"""


class Store:
    """Results of jobs in an SQLite file; a DataFileError names what cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._errors_explained():
            # Without implicit transactions of the module sqlite3.
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._database.execute(TABLE)
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, key: str, job: Job, result: Result, environment: Mapping[str, Any]) -> None:
        """Add the result of the job with a key, durably; an existing result is kept."""
        row = (key, *map(canonical_json, (job.to_json(), asdict(result), environment)))
        with self._errors_explained():
            self._database.execute("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", row)

    def forget_unfinished(self, keys: Iterable[str]) -> None:
        """Remove the results with these keys that are not done."""
        results = self.results()
        unfinished = [(k,) for k in keys if k in results and results[k].status != "done"]
        with self._errors_explained():
            self._database.executemany("DELETE FROM results WHERE key = ?", unfinished)

    def results(self) -> dict[str, Result]:
        """All results by key, in the order of their addition."""
        return {key: result for key, (result, _) in self._rows().items()}

    def environments(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """Distinct environments of the results with these keys."""
        wanted = set(keys)
        found = [each for key, (_, each) in self._rows().items() if key in wanted]
        return list({canonical_json(each): each for each in found}.values())

    def _rows(self) -> dict[str, tuple[Result, dict[str, Any]]]:
        """Results and environments by key; a DataFileError names a row that is damaged."""
        query = "SELECT rowid, key, result, environment FROM results ORDER BY rowid"
        with self._errors_explained():
            rows = self._database.execute(query).fetchall()
        contents = {}
        for row, key, *texts in rows:
            try:
                result, where = map(json.loads, texts)
                contents[key] = Result.from_json(result), dict(where)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise DataFileError(
                    f"{self.path}: row {row} of the table results is damaged ({one_line(error)}). "
                    "Restore the file from a copy, or delete the row; its job is then run again."
                ) from None
        return contents

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DataFileError(
                f"{self.path}: cannot be used as a result store ({error}). Check that its folder "
                "exists and is writable and that no other program has locked the file, or give "
                "another path."
            ) from error


def environment() -> dict[str, Any]:
    """Versions, BLAS libraries and machine on which results may depend; memory in bytes."""
    blas = {
        " ".join(filter(None, map(info.get, ("internal_api", "version", "architecture"))))
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    # platform.processor() is empty on Linux.
    table = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", table.read_text()) if table.exists() else None
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
        "anchorview": anchorview.__version__,
        "blas": sorted(blas),
        "cpu": model[1] if model else platform.processor() or platform.machine(),
        "cores": n_cores(),
        "memory": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
    }
