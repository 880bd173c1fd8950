"""Tables of all formats: their rows, and checks of their sample ids and columns."""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import listed, quoted
from anchorview.datasets.file_contents import ReadOptions, data_file_errors
from anchorview.views.alignment import require_shared_ids, union_of_ids
from anchorview.views.table_columns import TableView, concatenated

CODE = re.compile("0[0-9]+")
"""An integer with leading zeros, such as a postal code: a text."""

NO_IDS = "pass id_column=False to match rows by position"
NO_VIEW = (
    "Remove rows above the header. If the table is not a view, leave it out: give the name and the "
    "file of each view with views=."
)


class Table(ABC):
    """A table of a file, with a row per sample."""

    advice = "Correct the values."
    """What to do about single values that are no numbers."""

    def __init__(self, path: Path, name: str, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.name = name
        """Name of the file without suffix, or of the sheet."""
        self.detected: dict[str, str] = {}
        """How it is written, if not as usual and not given, with examples, once it is read."""
        self.doubts: dict[str, str] = {}
        """Warnings of columns that are nearly numbers or dates."""
        self.title, self.subject = path.name, str(path)
        """Name for messages, and what errors begin with."""

    def errors(self) -> AbstractContextManager[None]:
        """Name the table in errors."""
        return data_file_errors(self.path, self.subject)

    @property
    @abstractmethod
    def columns(self) -> list[Any]:
        """Names of all columns, or their numbers if there is no header."""

    @property
    def features(self) -> list[Any]:
        """Names of the columns apart from the sample ids, or their numbers."""
        position = self.options.id_position(self.columns)
        names = [name for j, name in enumerate(self.columns) if j != position]
        return names if self.options.header else list(range(len(names)))

    @abstractmethod
    def _frames(self, view: str | None, block_bytes: int | None) -> Iterator[pd.DataFrame]:
        """Read the features with the sample ids as the index, in blocks or whole."""

    def blocks(self, view: str | None, block_bytes: int | None = None) -> Iterator[pd.DataFrame]:
        """Read the columns of a view, in blocks or whole; without its name, labels as text."""
        with self.errors():
            for frame in self._frames(view, block_bytes):
                require_content(*frame.shape)
                dropped = [] if view is None else self.options.named("drop", view, frame)
                yield frame.drop(columns=dropped) if dropped else frame

    def read(self, view: str | None = None) -> pd.DataFrame:
        """Read all rows, indexed by sample ids that are strings."""
        blocks = list(self.blocks(view))
        frame = concatenated(blocks) if len(blocks) > 1 else blocks[0]
        with self.errors():
            frame.index = checked_ids(frame.index, self.options)
        return frame

    def converted(
        self, name: str, texts: "pd.Series[Any]", values: "pd.Series[Any]", kind: str
    ) -> bool:
        """Whether all texts became numbers or dates; if nearly all did, that is a doubt."""
        failed = np.flatnonzero(texts.notna() & values.isna())
        failed = failed[(texts.iloc[failed].str.lower() != "nan").to_numpy()]
        if len(failed) and 2 * len(failed) < (n_known := texts.count()):
            self.doubts[name] = (
                f"{self.subject}: column {quoted(name)} has {kind}, but {len(failed)} of {n_known} "
                f"values are none, the first {quoted(texts.iloc[failed[0]])} in row "
                f"{texts.index[failed[0]] + 1}, so that it is read as text. {self.advice}"
            )
        return not len(failed)


def warn_of_detected(tables: Iterable[Table | None]) -> None:
    """Warn of how tables are written, as far as it is unusual, and of columns with odd values."""
    given = [table for table in tables if table is not None]
    files: dict[tuple[str, ...], list[Table]] = {}
    for table in given:
        files.setdefault(tuple(table.detected), []).append(table)
    for alike in files.values():
        if found := [f"{x} ({quoted(e)})" if e else x for x, e in alike[0].detected.items()]:
            warnings.warn(
                f"{listed([table.title for table in alike])}: read with {', '.join(found)}. This "
                "was detected: give sep, decimal, encoding, dates if it is wrong.",
                stacklevel=3,
            )
    for doubt in (doubt for table in given for doubt in table.doubts.values()):
        warnings.warn(doubt, stacklevel=3)


def rows_in_block(block_bytes: int | None, n_columns: int) -> int:
    """Number of rows that are read at a time; without a limit, all rows."""
    if block_bytes is None:
        return 2**31
    # A value has up to 32 bytes while it is parsed: its text, where that is, and the number.
    return max(1, block_bytes // (32 * max(1, n_columns)))


def require_content(n_samples: int, n_features: int) -> None:
    """Raise if a table has no rows, or no columns apart from the sample ids."""
    if not (n_samples and n_features):
        raise DataFileError(
            f"{n_samples} samples and {n_features} columns after the id. A table needs sample ids "
            "and at least one row and one other column, and a CSV file a separator between the "
            f"fields. {NO_VIEW}"
        )


def checked_ids(ids: "pd.Index[Any]", options: ReadOptions) -> "pd.Index[Any]":
    """Convert sample ids to strings, which must be unique; without ids, return row numbers."""
    if not options.has_ids:
        return pd.RangeIndex(len(ids))
    missing = np.flatnonzero(ids.isna() | (ids == ""))
    if len(missing):
        raise DataFileError(
            f"row {missing[0] + 1} has no sample id. Add it, or remove rows above the header."
        )
    texts = pd.Index(list(map(str, ids)))
    # The first id tells at once that most ids are no numbers.
    if options.id_column is True and _numbers_of(texts[:1]).notna().all():
        # Numbers that are not all integers are measurements, also with decimal commas.
        numbers = _numbers_of(texts)
        fractions = np.flatnonzero(numbers % 1 != 0)
        if numbers.notna().all() and len(fractions):
            raise DataFileError(
                f"the first column holds numbers such as {ids[fractions[0]]}, which are not sample "
                f"ids. Write the ids as the first column, or {NO_IDS}."
            )
    if not texts.is_unique:
        repeated = texts[texts.duplicated()].tolist()
        raise DataFileError(
            f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample; if the "
            f"first column is not the sample id, {NO_IDS}."
        )
    return texts


def _numbers_of(texts: "pd.Index[Any]") -> "pd.Series[Any]":
    points = pd.Series(texts).str.replace(",", ".")
    return pd.to_numeric(points, errors="coerce").astype(np.float64)


def union_of_samples(ids: "dict[str, pd.Index[Any]]", options: ReadOptions) -> "pd.Index[Any]":
    """Ids of the samples of all tables; raises if some are not shared or spelled in two ways."""
    if not options.has_ids:
        if len({len(of_file) for of_file in ids.values()}) > 1:
            raise DataFileError(
                "without sample ids rows are matched by position, but the tables differ in their "
                f"number of rows: {', '.join(f'{file} {len(i)}' for file, i in ids.items())}. Add "
                "ids, or the missing rows."
            )
        return next(iter(ids.values()))
    for (file, own), (other, others) in combinations(ids.items(), 2):
        alone, elsewhere = own[~own.isin(others)], others[~others.isin(own)]
        spelled = {_spelling(sample): sample for sample in elsewhere}
        for sample in alone:
            if alike := spelled.get(_spelling(sample)):
                raise DataFileError(
                    f"the sample id {sample!r} in {file} is {alike!r} in {other}: the ids differ "
                    "only by blanks or '.0'. Write them the same in all tables."
                )
    shared = np.array([[int(a.isin(b).sum()) for b in ids.values()] for a in ids.values()])
    try:
        require_shared_ids(shared, list(ids), [own[0] for own in ids.values()])
    except ValueError as error:
        raise DataFileError(f"{error} If the tables have no ids, {NO_IDS}.") from None
    return union_of_ids(list(ids.values()))


def _spelling(sample: str) -> str:
    """Return an id without blanks at its ends, and an integer without fraction."""
    whole, _, fraction = sample.strip().partition(".")
    is_integer = whole.removeprefix("-").isdigit() and not fraction.strip("0")
    return whole if is_integer else sample.strip()


def table_view(
    table: pd.DataFrame, subject: str, categories: Sequence[Any] = (), *, numbers: bool = False
) -> TableView:
    """Table as a view; raises if a column can be no feature or, with `numbers`, is no number."""
    table = table.copy(deep=False)
    for name in categories:
        column = table[name]
        # Integers are the same levels whether or not some are missing.
        if column.dtype.kind == "f" and (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")
        table[name] = column.astype("category")
    try:
        view = TableView(table, subject)
        if numbers:
            view.values()
    except (TypeError, ValueError) as error:
        raise DataFileError(f"{error} {NO_VIEW}") from error
    return view


def all_numbers(table: pd.DataFrame) -> bool:
    """Whether a table that was read has numbers only."""
    return {dtype.kind for dtype in table.dtypes} <= set("buif")
