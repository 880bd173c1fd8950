"""The file of results: one row a finished job, whole or not there, whenever the power fails."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anchorview._utils.errors import DataFileError
from anchorview.experiments.plan.jobs import Job, Result, canonical

APPLICATION = 0x416E5669
"""Says in the header of an SQLite file that it is ours."""

VERSION = 1
"""Of the layout of the file."""

LAYOUT = """
    CREATE TABLE results (
        key TEXT PRIMARY KEY,
        job TEXT NOT NULL,
        result TEXT NOT NULL,
        environment TEXT NOT NULL
    )
"""


class Store:
    """Results of jobs in an SQLite file.

    Parameters
    ----------
    path : Path
        The file, made if it is not there.

    Raises
    ------
    DataFileError
        If there is something else under this name, or a store of another version.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> job, result = Job("digits", "dalmc"), Result("time", "longer than 60 s")
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     store.add(job.key("abc"), job, result, {"python": "3.11.2"})
    ...     store.get(job.key("abc")).status
    'time'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _explained(path):
            # No transaction of the module's own: each begins and ends where it says so.
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, key: str, job: Job, result: Result, environment: Mapping[str, Any]) -> None:
        """Write the row of a finished job; one that is there already stays.

        Parameters
        ----------
        key : str
            Of :meth:`Job.key`.
        job : Job
        result : Result
        environment : mapping
            Of :func:`~anchorview.experiments.run.environment.environment`.
        """
        row = (key, *map(canonical, (job.to_json(), result.to_json(), environment)))
        with _explained(self.path):
            self._database.execute("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", row)

    def forget_unfinished(self, keys: Iterable[str]) -> None:
        """Forget those of some results that say why a job could not be finished."""
        results = self.results()
        gone = [(key,) for key in keys if key in results and results[key].status != "done"]
        with _explained(self.path):
            self._database.executemany("DELETE FROM results WHERE key = ?", gone)

    def get(self, key: str) -> Result | None:
        """Result of a job, or None if it is not finished."""
        rows = self._rows("SELECT result FROM results WHERE key = ?", key)
        return _result(rows[0][0]) if rows else None

    def results(self) -> dict[str, Result]:
        """All results by their keys, in the order in which they were added."""
        rows = self._rows("SELECT key, result FROM results ORDER BY rowid")
        return {key: _result(text) for key, text in rows}

    def environments(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The different environments that results come from, the earliest first.

        Parameters
        ----------
        keys : iterable of str, optional
            Of the results that count; all if not given. Keys without a result are no matter.
        """
        rows = self._rows("SELECT key, environment FROM results ORDER BY rowid")
        wanted = {key for key, _ in rows} if keys is None else set(keys)
        found = dict.fromkeys(text for key, text in rows if key in wanted)
        return [json.loads(text) for text in found]

    def versions(self, keys: Iterable[str] | None = None) -> set[str]:
        """The versions of anchorview that results come from, of :meth:`environments`."""
        found = self.environments(keys)
        return {one["anchorview"] for one in found if "anchorview" in one}

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _rows(self, query: str, *values: str) -> list[Any]:
        with _explained(self.path):
            return self._database.execute(query, values).fetchall()

    def _open(self) -> None:
        """Check a store that is there, or lay out a new one."""
        if self._header() == (0, 0) and self._is_empty():
            self._lay_out()
        application, version = self._header()
        if application != APPLICATION:
            raise DataFileError(_not_ours(self.path, "it is the SQLite file of another program"))
        if version != VERSION:
            raise DataFileError(
                f"{self.path}: is a store of version {version}, and this anchorview reads version "
                f"{VERSION}. Use the anchorview that made it, or give another place."
            )
        ((found, *_), *_) = self._database.execute("PRAGMA quick_check").fetchall()
        if found != "ok":
            raise DataFileError(_not_ours(self.path, f"it is damaged: {found}"))

    def _header(self) -> tuple[int, int]:
        """Whose the file is, and the version of its layout; both are 0 in a new one."""
        ((application,),) = self._database.execute("PRAGMA application_id")
        ((version,),) = self._database.execute("PRAGMA user_version")
        return application, version

    def _is_empty(self) -> bool:
        return self._database.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _lay_out(self) -> None:
        # Of two programs that make the same file at once, the second finds it made.
        self._database.execute("BEGIN IMMEDIATE")
        if self._is_empty():
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {VERSION}")
            self._database.execute(LAYOUT)
        self._database.execute("COMMIT")


def _result(text: str) -> Result:
    return Result.from_json(json.loads(text))


def _not_ours(path: Path, reason: str) -> str:
    return (
        f"{path}: is not a store of results ({reason}). Give another place, or move the file away."
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into an error of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DataFileError(
            f"{path}: cannot be used as a store of results ({error}). Check that its folder is "
            "there and can be written, and that no other program holds it."
        ) from error
    except sqlite3.DatabaseError as error:
        raise DataFileError(_not_ours(path, str(error))) from error
