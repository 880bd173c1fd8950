"""The result store: an SQLite file with one row per finished job.

A row is written completely or not at all, even if the process is killed.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TypeVar

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview.experiments.jobs import Job, Result, canonical_json

Value = TypeVar("Value")

APPLICATION_ID = 0x416E5669
"""Identifies the file as a result store in the header of SQLite files."""

VERSION = 1
"""Version of the schema."""

SCHEMA = """
    CREATE TABLE results (
        key TEXT PRIMARY KEY,
        job TEXT NOT NULL,
        result TEXT NOT NULL,
        environment TEXT NOT NULL
    )
"""


class Store:
    """Results of jobs in an SQLite file.

    The file is created if it does not exist. A file or a row that cannot be used raises a
    DataFileError that names it and says what to do.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> job, result = Job("digits", "dalmc"), Result("time", "longer than 60 s")
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     store.add(job.key("abc"), job, result, {"python": "3.11.2"})
    ...     [result.status for result in store.results().values()]
    ['time']
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _sqlite_errors_explained(path):
            # Without implicit transactions of the module sqlite3.
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._create_or_check()
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
        with _sqlite_errors_explained(self.path):
            self._database.execute("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", row)

    def forget_unfinished(self, keys: Iterable[str]) -> None:
        """Remove the results with these keys whose status is not "done"."""
        results = self.results()
        unfinished = [(key,) for key in keys if key in results and results[key].status != "done"]
        with _sqlite_errors_explained(self.path):
            self._database.executemany("DELETE FROM results WHERE key = ?", unfinished)

    def results(self) -> dict[str, Result]:
        """All results by key, in the order in which they were added."""
        rows = self._rows("SELECT rowid, key, result FROM results ORDER BY rowid")
        return {key: self._parsed(row, text, Result.from_json) for row, key, text in rows}

    def environments(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """Distinct environments of the results with these keys, in the order of their addition."""
        wanted = set(keys)
        rows = self._rows("SELECT rowid, key, environment FROM results ORDER BY rowid")
        distinct: dict[Any, int] = {}
        for row, key, text in rows:
            if key in wanted:
                distinct.setdefault(text, row)
        return [self._parsed(row, text, _environment) for text, row in distinct.items()]

    def versions(self, keys: Iterable[str]) -> set[str]:
        """Versions of anchorview in :meth:`environments`."""
        return {e["anchorview"] for e in self.environments(keys) if "anchorview" in e}

    def _parsed(self, row: int, text: Any, parse: Callable[[Any], Value]) -> Value:
        """Content of a row; raises a DataFileError that names the row if it is damaged."""
        try:
            return parse(json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise DataFileError(
                f"{self.path}: row {row} of the table results is damaged ({one_line(error)}). "
                'Restore the file from a copy, or delete the row with "sqlite3 '
                f"{self.path.name} 'DELETE FROM results WHERE rowid = {row}'\"; the job is then "
                "run again."
            ) from None

    def _rows(self, query: str) -> list[Any]:
        with _sqlite_errors_explained(self.path):
            return self._database.execute(query).fetchall()

    def _create_or_check(self) -> None:
        if self._header() == (0, 0) and self._is_empty():
            self._create()
        application, version = self._header()
        if application != APPLICATION_ID:
            raise DataFileError(_not_a_store(self.path, "it is the SQLite file of another program"))
        if version != VERSION:
            raise DataFileError(
                f"{self.path}: is a result store of version {version}, but this version of "
                f"anchorview reads version {VERSION}. Use the version that created it, or give "
                "another path."
            )
        ((found, *_), *_) = self._database.execute("PRAGMA quick_check").fetchall()
        if found != "ok":
            raise DataFileError(_not_a_store(self.path, f"it is damaged: {found}"))

    def _header(self) -> tuple[int, int]:
        """Application id and version of the file; both are 0 in a new one."""
        ((application,),) = self._database.execute("PRAGMA application_id")
        ((version,),) = self._database.execute("PRAGMA user_version")
        return application, version

    def _is_empty(self) -> bool:
        return self._database.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _create(self) -> None:
        # Locks the file first, since another process may be creating it at the same time.
        self._database.execute("BEGIN IMMEDIATE")
        if self._is_empty():
            self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._database.execute(f"PRAGMA user_version = {VERSION}")
            self._database.execute(SCHEMA)
        self._database.execute("COMMIT")


def _environment(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or not isinstance(content.get("anchorview", ""), str):
        raise ValueError("the environment is not a mapping with versions")
    return content


def _not_a_store(path: Path, reason: str) -> str:
    return f"{path}: is not a result store ({reason}). Give another path, or move the file away."


@contextmanager
def _sqlite_errors_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DataFileError(
            f"{path}: cannot be used as a result store ({error}). Check that its folder exists and "
            "is writable, and that no other program has locked the file."
        ) from error
    except sqlite3.DatabaseError as error:
        raise DataFileError(_not_a_store(path, str(error))) from error
