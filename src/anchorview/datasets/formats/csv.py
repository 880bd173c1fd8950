"""CSV and TSV tables as programs write them, compressed or not.

Separator, decimal mark, encoding and the form of dates are detected unless they are given: the
separator by the standard library, the encoding by chardet, and the form of dates by pandas.
"""

import codecs
import csv
import gzip
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from io import StringIO
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.tseries.api import guess_datetime_format

from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import require_memory
from anchorview._utils.text import listed, one_line
from anchorview.datasets.file_contents import ReadOptions
from anchorview.datasets.formats.table import CODE, Table, rows_in_block
from anchorview.views.table_columns import EXACT, ID_COLUMNS

DIALECT = ("sep", "decimal", "encoding", "dates", "na_values")
"""What can be given; all but the last is detected otherwise."""

SEPARATORS = "\t;,|"
"""Of several that are possible, the first is taken: commas are also decimal marks."""

SAMPLE, SNIFFED_LINES, SAMPLE_ROWS = 2**16, 20, 100
"""Characters at the start of a file that are read to detect how it is written; the lines of these
by which the separator is detected, and the rows by which the decimal mark is."""
EXAMINED = 100
"""Values by which a column of texts is taken for numbers or dates."""
SCANNED, UNUSUAL = 2**20, 1000
"""Bytes that are searched at a time for the encoding and for codes, and lines with unusual
characters by which the encoding is detected."""

MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""Byte order marks with which texts begin; that of UTF-8 may be there."""
FIELD_END = re.compile(rb"[,;|\t\r\"]")
NUMBER = {mark: re.compile(rf"[+-]?\d*[{mark}]\d+([eE][+-]?\d+)?") for mark in ".,"}
"""Numbers by their decimal mark."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""Numbers whose mark may also be between thousands."""
INTEGER = re.compile("[+-]?[0-9]+")
YEAR = re.compile("[0-9]{4}")
DATE = re.compile("(?=.*%Y)(?=.*%d)(?=.*%[mbB])")
"""Formats with year, month and day."""


class CsvTable(Table):
    """A CSV or TSV file."""

    advice = "Correct the values, or give them as na_values if they mean missing ones."

    def __init__(self, path: Path, name: str, options: ReadOptions) -> None:
        super().__init__(path, name, options)
        self._given = dict(options.csv or {})
        if unknown := self._given.keys() - set(DIALECT):
            raise DataFileError(
                f"csv has {sorted(unknown)[0]!r}; it may have {listed(list(DIALECT))}."
            )
        self._is_compressed = path.name.lower().endswith(".gz")

    def _frames(self, view: str | None, block_bytes: int | None) -> Iterator[pd.DataFrame]:
        if block_bytes is None:
            require_memory(self.path.stat().st_size, "Reading the table")
        position = self.options.id_position(self.columns)
        places = [j for j in range(len(self.columns)) if j != position]
        features = dict(zip(places, self.features, strict=True))
        if view is None:
            as_text = as_read = set(features)
        else:
            labels = {j for j in features if self.columns[j] == self.options.labels}
            categories = self.options.named("categorical", view, features.values())
            as_text = self._codes & features.keys() | labels
            as_read = labels | {j for j in features if features[j] in categories}
        types = dict.fromkeys(as_text if position is None else as_text | {position}, str)
        for frame in self._read(places, types, rows_in_block(block_bytes, len(features))):
            for j in features.keys() - as_read:
                column = frame[j]
                is_code = j in self._codes and column.str.fullmatch(CODE).any()
                if column.dtype.kind == "O" and not is_code:
                    values = self._typed(column, str(features[j]))
                    if values is not None:
                        frame[j] = values
            table = frame if position is None else frame.set_index(position)
            table.columns = pd.Index(features.values())
            yield table

    def _read(self, features: list[int], types: Any, n_rows: int) -> Iterator[pd.DataFrame]:
        """Read the columns, which are numbered, in blocks of rows."""
        missing = self._given.get("na_values", ())
        missing = ["", *([missing] if isinstance(missing, str) else missing)]
        by_place: Any = dict.fromkeys([*features, "excess"], missing)
        try:
            with self._opened() as stream, warnings.catch_warnings():
                # pandas only warns when it drops fields.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                if self.options.header:
                    next(self._parsed(stream))
                reader = pd.read_csv(
                    stream,
                    sep=self._separator,
                    decimal=self._decimal,
                    header=None,
                    # pandas drops fields beyond the header. In a column, they are noticed.
                    names=[*range(len(self.columns)), "excess"],
                    index_col=False,
                    skipinitialspace=True,
                    dtype=types,
                    # Only empty cells are missing: NA may be Namibia, or an id.
                    keep_default_na=False,
                    na_values=by_place,
                    low_memory=False,
                    chunksize=n_rows,
                )
                for frame in reader:
                    longer = frame.index[frame.pop("excess").notna()]
                    if len(longer):
                        raise pd.errors.ParserError(f"row {longer[0] + 1}")
                    yield frame
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise DataFileError(
                f"a row has more fields than the {'header' if self.options.header else 'first row'}"
                f" ({one_line(error)}). Remove lines above the header, give every column a name, "
                f"quote fields that contain the separator ({self._separator!r}), or give another "
                "separator."
            ) from error

    def _typed(self, texts: "pd.Series[Any]", name: str) -> "pd.Series[Any] | None":
        """Numbers or dates if all texts are such, and otherwise None; nearly all are a doubt."""
        examined = texts.dropna().iloc[:EXAMINED]
        if pd.api.types.infer_dtype(examined) != "string":
            return None
        order = None
        if 2 * self._numbers(examined).count() > len(examined):
            values = self._numbers(texts)
            if values.abs().max() > EXACT and texts.dropna().str.fullmatch(INTEGER).all():
                # They may differ in digits that floats do not have.
                values = texts.map(int, na_action="ignore")
        elif order := _date_format(texts, examined, self._given.get("dates"), self._decimal == ","):
            values = _dates(texts, order)
        else:
            return None
        if not self.converted(name, texts, values, "dates" if order else "numbers"):
            return None
        if order and "dates" not in self._given and not _is_iso(order):
            self.detected.setdefault(f"dates as {order}", examined.iloc[0])
        return values

    def _numbers(self, texts: "pd.Series[Any]") -> "pd.Series[Any]":
        if self._decimal != ".":
            # Points are between thousands.
            texts = texts.str.translate(str.maketrans(f"{self._decimal}.", f".{self._decimal}"))
        return pd.to_numeric(texts, errors="coerce")

    def _opened(self, mode: str = "rt") -> Any:
        how = {"encoding": self._encoding, "newline": ""} if mode == "rt" else {}
        opened: Any = gzip.open if self._is_compressed else open
        return opened(self.path, mode, **how)

    def _blocks(self) -> Iterator[bytes]:
        """Bytes of the text, in whole lines."""
        with self._opened("rb") as stream:
            while block := stream.read(SCANNED):
                yield block + stream.readline()

    @cached_property
    def _encoding(self) -> str:
        if "encoding" in self._given:
            return str(self._given["encoding"])
        start, example = next(self._blocks(), b""), ""
        encoding = next((name for name, marks in MARKS.items() if start.startswith(marks)), None)
        if encoding is None:
            with suppress(UnicodeDecodeError):
                for _ in codecs.iterdecode(self._blocks(), "utf-8"):
                    pass
                return "utf-8-sig"
            lines = (line for block in self._blocks() for line in block.split(b"\n"))
            unusual = islice((line for line in lines if not line.isascii()), UNUSUAL)
            words = [word for line in unusual for word in FIELD_END.split(line)]
            encoding, example = _detected_encoding([w for w in words if not w.isascii()])
        self.detected[f"encoding {encoding}"] = example
        return encoding

    @cached_property
    def _sample(self) -> str:
        """Lines at the start of the text."""
        with self._opened() as stream:
            text: str = stream.read(SAMPLE) + stream.readline()
        if not text.strip():
            raise DataFileError("the file is empty. Export the table again.")
        return text

    @cached_property
    def _separator(self) -> str:
        usual = "\t" if self.path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
        if "sep" in self._given:
            return str(self._given["sep"])
        sniffer = csv.Sniffer()
        sniffer.preferred = list(SEPARATORS)
        lines = islice(StringIO(self._sample, newline=""), SNIFFED_LINES)
        try:
            separator = sniffer.sniff("".join(lines), delimiters=SEPARATORS).delimiter
        except csv.Error:
            # A single column.
            return usual
        if separator != usual:
            self.detected[f"{separator!r} between fields"] = ""
        return separator

    @cached_property
    def _rows(self) -> list[list[str]]:
        """Fields of the first lines that are not blank."""
        return list(islice(self._parsed(StringIO(self._sample, newline="")), SAMPLE_ROWS))

    def _parsed(self, lines: Iterable[str]) -> Iterator[list[str]]:
        return filter(None, csv.reader(lines, delimiter=self._separator, skipinitialspace=True))

    @cached_property
    def _decimal(self) -> str:
        if "decimal" in self._given:
            return str(self._given["decimal"])
        certain: dict[str, list[str]] = {",": [], ".": []}
        possible: dict[str, list[str]] = {",": [], ".": []}
        rows = self._rows[1:] if self.options.header else self._rows
        for column in zip_longest(*rows, fillvalue=""):
            # With semicolons, as Excel writes where commas are decimal marks, points beside
            # integers are between thousands.
            is_whole = self._separator == ";" and any(map(INTEGER.fullmatch, column))
            for mark in NUMBER:
                numbers = list(filter(NUMBER[mark].fullmatch, column))
                certain[mark] += [n for n in numbers if not THOUSANDS.fullmatch(n)]
                possible["," if is_whole else mark] += numbers
        found = certain if any(certain.values()) else possible
        if len(found[","]) <= len(found["."]):
            return "."
        self.detected["',' as the decimal mark"] = found[","][0]
        return ","

    @cached_property
    def columns(self) -> list[Any]:
        """Names of all columns, or their numbers if there is no header."""
        with self.errors():
            first = self._rows[0]
            if not self.options.header:
                return list(range(len(first)))
            last = len(first) - 1
            if not any(any(row[last:]) for row in self._rows):
                # Every line ends with a separator.
                first = first[:last]
            self._require_header(first)
            if all(first) and len(set(first)) == len(first):
                return first
            # pandas makes names different, and gives one to columns without.
            text = StringIO(self._sample, newline="")
            names = pd.read_csv(
                text, sep=self._separator, skipinitialspace=True, index_col=False, nrows=0
            ).columns
            return list(names[: len(first)])

    @cached_property
    def _codes(self) -> set[int]:
        """Positions of columns that seem to have integers with leading zeros."""
        separator = self._separator
        lines = (line for block in self._blocks() for line in _with_codes(block, separator))
        return {
            j
            for row in self._parsed(lines)
            for j, field in enumerate(row)
            if field.startswith("0") and CODE.fullmatch(field)
        }

    def _require_header(self, first: list[str]) -> None:
        """Raise if the first row is a sample, or if there is no column of sample ids."""
        names = list(map(str.strip, first))
        if self.options.has_ids:
            # Numbers may be the names of features, such as wavelengths, beside that of the ids.
            name = names.pop(0).lower()
            is_named = name in {"", *ID_COLUMNS} or name.endswith(("id", "name", "gene"))
        else:
            # pandas writes the names 0, 1, 2, ... for columns without.
            is_named = first == list(map(str, range(len(first))))
        given = list(filter(None, names))
        if given and not is_named and self._numbers(pd.Series(given)).notna().all():
            raise DataFileError(
                f"the first row is {', '.join(first[:3])}, ..., like a sample, but must be a "
                "header with the names of the columns. Add one, or pass header=False if it is a "
                "sample. If it is a header, name the column of the sample ids 'id', or pass "
                "id_column=False to match rows by position."
            )


def _with_codes(text: bytes, separator: str) -> Iterator[str]:
    """Lines of a block that seem to have a field that is an integer with leading zeros."""
    # In UTF-16 and UTF-32, zeros are beside every common character.
    text = b"\n" + text.replace(b"\0", b"") + b"\n"
    end = re.escape(separator)
    starts = {
        text.rfind(b"\n", 0, found.start() + 1) + 1
        # One after the other: patterns that begin with a single character are fast.
        for before in ("\n", '"', end)
        for found in re.finditer(f'{before} *0[0-9]+(?=["\r\n]|{end})'.encode(), text)
    }
    for start in sorted(starts):
        yield text[start : text.index(b"\n", start)].decode("ascii", "replace")


def _detected_encoding(words: list[bytes]) -> tuple[str, str]:
    """Encoding of words that are not all in UTF-8, and the first of them."""
    chardet = import_module("chardet")
    era = chardet.EncodingEra.MODERN_WEB
    text = b"\n".join(dict.fromkeys(words))
    if 2 * sum("\ufffd" in word.decode("utf-8", "replace") for word in words) < len(words):
        raise DataFileError(
            "the file is nearly all UTF-8, but not all: it is damaged, or of two encodings. Export "
            "it again, or give its encoding."
        )
    found = chardet.detect(text, encoding_era=era, prefer_superset=True)["encoding"] or "cp1252"
    encoding = codecs.lookup(found).name
    return encoding, words[0].decode(encoding, errors="replace")


def _date_format(
    texts: "pd.Series[Any]", examined: "pd.Series[Any]", given: str | None, day_first: bool
) -> str | None:
    """Format of texts that are mostly dates, by those that are examined; None without one."""
    if given is not None:
        return given if 2 * _dates(texts, given).count() > texts.count() else None
    with_year = list(filter(YEAR.search, examined.iloc[:3]))
    with warnings.catch_warnings():
        # pandas warns if there is only one order.
        warnings.simplefilter("ignore")
        guesses = {
            guess: None
            for first in (day_first, not day_first)
            for text in with_year
            if (guess := guess_datetime_format(text, dayfirst=first)) and DATE.match(guess)
        }
    found = {guess: _dates(examined, guess).count() for guess in guesses}
    most = max(found.values(), default=0)
    if 2 * most <= len(examined):
        return None
    # If days and months can be exchanged in the first values, the rest decides.
    tied = [guess for guess in found if found[guess] == most]
    return max(tied, key=lambda guess: _dates(texts, guess).count()) if tied[1:] else tied[0]


def _dates(texts: "pd.Series[Any]", order: str) -> "pd.Series[Any]":
    # With the form of ISO, days and times may be mixed.
    order, utc = "ISO8601" if _is_iso(order) else order, "%z" in order
    # Many samples have the same day.
    codes, days = pd.factorize(texts)
    dates = pd.to_datetime(pd.Index(days), format=order, errors="coerce", utc=utc)
    return pd.Series(dates.take(codes, fill_value=pd.NaT), texts.index)


def _is_iso(order: str) -> bool:
    return order.startswith("%Y-%m-%d")
