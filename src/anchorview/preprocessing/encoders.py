"""Numbers for tables, whose columns are numbers, categories and dates, and for texts."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.moments import Moments
from anchorview._utils.sklearn_compat import Interval, StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.preprocessing.view_transformer import ViewTransformer
from anchorview.views.fitted_views import FittedColumns
from anchorview.views.table_columns import (
    CATEGORICAL,
    TableView,
    coded_column,
    describe_kinds,
    level_texts,
    named_columns,
    pandas_frame,
)

WRITTEN_NUMBER = re.compile(
    r"[^\w\s]?\s?[-+\u2212]?\d[\d.,'\s/:]*([^\w\s]|\s\D{1,3})?|\d{4}-\d\d-\d\d.*"
)
PLAIN_NUMBER = re.compile(r"[-+]?\d*\.?\d+")
"""Numbers, dates and times with what people write beside digits, and numbers without it."""

OTHER = "other"
"""Name of the level that holds rare levels."""

Level = str | int | float
"""A level of a category; models of earlier versions have numbers, which are compared as text."""


@dataclass(frozen=True)
class ColumnSums:
    """Numbers of values and of each level, and moments of a column; those of parts are merged."""

    kind: str
    known: int = 0
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0
    levels: dict[Level, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = level_texts(self.levels)
        object.__setattr__(self, "levels", dict(zip(names, self.levels.values(), strict=True)))

    @classmethod
    def of(cls, values: Array, levels: "pd.Index[Any] | None", kind: str) -> "ColumnSums":
        """Summarize the numbers, or the codes of levels, of some samples."""
        known = values[~np.isnan(values)]
        size = len(known), len(values) - len(known)
        if levels is not None:
            counts = np.bincount(known.astype(np.intp), minlength=len(levels)).tolist()
            used = {level: n for level, n in zip(levels, counts, strict=True) if n}
            return cls(kind, *size, levels=used)
        mean = float(known.mean()) if len(known) else 0.0
        return cls(kind, *size, mean, float(np.square(known - mean).sum()))

    def merged(self, other: "ColumnSums", name: str) -> "ColumnSums":
        """Sums over the samples of both; raises if the column is not of the same kind."""
        kinds = {CATEGORICAL.get(kind, kind) for kind in (self.kind, other.kind)}
        if len(kinds) > 1 and self.known and other.known:
            raise ValueError(
                f"column {name!r} is a {other.kind} here, but a {self.kind} in other samples. Give "
                "it one type."
            )
        kind = self.kind if self.known else other.kind
        a, b = (Moments(s.known, np.array(s.mean), np.array(s.squares)) for s in (self, other))
        known, mean, squares = a.merged(b)
        missing, levels = self.missing + other.missing, Counter(self.levels) + Counter(other.levels)
        return ColumnSums(kind, int(known), missing, float(mean), float(squares), dict(levels))


class _NumberEncoding:
    """Standardized numbers; of dates, also whether they are missing."""

    def __init__(self, column: ColumnSums) -> None:
        deviation = np.sqrt(column.squares / max(column.known, 1))
        # Rounding alone makes no difference between numbers.
        self._varies = bool(deviation > 1e-12 * abs(column.mean))
        self._mean, self._deviation = column.mean, deviation
        share = column.missing / max(column.known + column.missing, 1)
        self._missing = share if column.kind == "date" and 0 < share < 1 else None
        self.suffixes = [""] * self._varies + ["=missing"] * (self._missing is not None)

    def __call__(self, values: Array, levels: "pd.Index[Any] | None") -> Array:
        missing = np.isnan(values)
        encoded = []
        if self._varies:
            encoded.append(np.where(missing, 0, (values - self._mean) / self._deviation))
        if self._missing is not None:
            p = self._missing
            encoded.append((missing - p) / np.sqrt(p * (1 - p)))
        return np.array(encoded).T.reshape(len(values), len(encoded))


class _LevelEncoding:
    """A column per level, divided by the root of its share and centered."""

    def __init__(self, column: ColumnSums, min_frequency: float) -> None:
        other = OTHER
        while other in column.levels:
            other += "_"
        counts = pd.Series(column.levels, dtype=np.float64)
        rare = counts < min_frequency * column.known
        groups = counts.index.where(~rare, other) if rare.sum() > 1 else counts.index
        shares = counts.groupby(groups).sum() / max(column.known, 1)
        p = shares.to_numpy()
        rows = (np.eye(len(p)) - p) / np.sqrt(p)
        self.suffixes = [f"={level}" for level in shares.index]
        if len(p) <= 2:
            # Both columns are multiples of one, which has the sum of their squares.
            rows, self.suffixes = rows[:, 1:] / np.sqrt(p[:1]), self.suffixes[1:]
        of_levels = rows[shares.index.get_indexer(groups)]
        self._rows = dict(zip(counts.index, of_levels, strict=True))

    def __call__(self, values: Array, levels: "pd.Index[Any] | None") -> Array:
        known = [] if levels is None else levels.tolist()
        # The last row is for missing values.
        lookup = np.zeros((len(known) + 1, len(self.suffixes)))
        for code, level in enumerate(known):
            lookup[code] = self._rows.get(level, 0)
        return lookup[np.where(np.isnan(values), len(known), values).astype(np.intp)]


@dataclass(eq=False, repr=False)
class TableEncoder(ViewTransformer):
    """Encode a table of numbers, categories and dates, as factor analysis of mixed data does.

    Numbers are standardized. A category with shares ``p`` of its levels has a column
    ``(1[level] - p) / sqrt(p)`` per level, so that it weighs as much as a number for each degree of
    freedom; one with two levels has one standardized column, which is the same. A missing number
    becomes the mean, and a missing or unknown level zeros. Strings and booleans are categories.
    Dates are numbers, with a column that marks missing ones.

    Parameters
    ----------
    min_frequency : float, default=0.01
        Levels with a smaller share of the known values are grouped as one level, "other".
    max_levels : int, default=40
        Maximum number of different strings in a column. Columns of pandas' type ``category`` may
        have more.
    dtype : {"float32", "float64"}, default="float32"
        Type of the result.

    Attributes
    ----------
    columns_ : tuple of str
        Names of the columns.
    kinds_ : tuple of {"number", "boolean", "category", "text", "date"}
        What each column is.
    n_features_in_ : int
    n_samples_seen_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from anchorview.preprocessing import TableEncoder
    >>> customers = pd.DataFrame({"age": [20, 40, None, 60], "plan": ["free", "pro", "pro", None]})
    >>> encoder = TableEncoder().fit(customers)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'plan=pro']
    >>> encoder.transform(customers).round(2)
    array([[-1.22, -1.41],
           [ 0.  ,  0.71],
           [ 0.  ,  0.71],
           [ 1.22,  0.  ]], dtype=float32)
    >>> encoder.description
    '1 number, 1 category (2 levels)'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_frequency": [Interval(Real, 0, 1, closed="left")],
        "max_levels": [Interval(Integral, 2, None, closed="left")],
        "dtype": [StrOptions({"float32", "float64"})],
    }

    min_frequency: float = 0.01
    max_levels: int = 40
    dtype: Literal["float32", "float64"] = "float32"

    columns_: tuple[str, ...] = field(init=False)
    _columns: "tuple[ColumnSums, ...]" = field(init=False)

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        table = _table(X)
        columns = tuple(
            ColumnSums.of(*coded_column(column, kind), kind)
            for (_, column), kind in zip(table.frame.items(), table.kinds, strict=True)
        )
        names = tuple(map(str, table.frame.columns))
        return {"n_samples_seen_": len(table.frame), "columns_": names, "_columns": columns}

    def _merge(self, learned: Mapping[str, Any]) -> None:
        names = learned["columns_"]
        if names != self.columns_:
            raise ValueError(f"The columns are {list(names)}, not {list(self.columns_)}.")
        triples = zip(names, self._columns, learned["_columns"], strict=True)
        self._columns = tuple(before.merged(new, name) for name, before, new in triples)
        super()._merge(learned)

    @property
    def kinds_(self) -> tuple[str, ...]:
        """What each column is: number, boolean, category, text or date."""
        check_is_fitted(self, "columns_")
        return tuple(column.kind for column in self._columns)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the table."""
        return len(self.columns_)

    @property
    def description(self) -> str:
        """How many numbers, categories and dates there are."""
        n_levels = sum(len(column.levels) for column in self._columns)
        return describe_kinds(self.kinds_, f" ({n_levels} levels)")

    @property
    def written_numbers(self) -> dict[str, str]:
        """Columns of texts most of which are written numbers or dates, with an example."""
        found = {}
        for name, column in zip(self.columns_, self._columns, strict=True):
            levels = column.levels if column.kind == "text" else {}
            written = [
                str(level)
                for level in levels
                if WRITTEN_NUMBER.fullmatch(str(level)) and not PLAIN_NUMBER.fullmatch(str(level))
            ]
            if 2 * sum(levels[level] for level in written) > column.known:
                found[name] = written[0]
        return found

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the encoded columns, such as "age" and "plan=premium".

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : array of str
        """
        encoded = zip(self.columns_, self._encodings(), strict=True)
        names = [f"{column}{suffix}" for column, by in encoded for suffix in by.suffixes]
        return np.array(names, dtype=object)

    def transform(self, X: Any) -> Array:
        """Encode the rows of a table with the columns of `fit`, in any order.

        Parameters
        ----------
        X : DataFrame (n, d)
            Columns are converted to the types that they had in `fit`, or refused. Levels that
            `fit` did not have count as missing; a warning names them.

        Returns
        -------
        X_new : array (n, n_encoded)
        """
        encodings = self._encodings()
        table = _table(X)
        names = list(map(str, table.frame.columns))
        if sorted(names) != sorted(self.columns_):
            raise ValueError(f"The columns are {names}, but fit had {list(self.columns_)}.")
        widths = [len(encoding.suffixes) for encoding in encodings]
        encoded = np.zeros((len(table.frame), sum(widths)), self.dtype)
        blocks = np.split(encoded, np.cumsum(widths)[:-1], axis=1)
        ordered = table[:, [names.index(name) for name in self.columns_]]
        typed: Any = self.fitted_columns.converted(ordered, None, "X")
        for j, (block, encoding) in enumerate(zip(blocks, encodings, strict=True)):
            block[:] = encoding(*coded_column(typed.frame.iloc[:, j], typed.kinds[j]))
        return encoded

    @property
    def fitted_columns(self) -> FittedColumns:
        """What the columns are, to which those of new samples are converted."""
        levels = (
            None if column.kind in ("number", "date") else frozenset(map(str, column.levels))
            for column in self._columns
        )
        return FittedColumns(self.kinds_, tuple(levels))

    def _encodings(self) -> "list[_NumberEncoding | _LevelEncoding]":
        check_is_fitted(self, "columns_")
        encodings = []
        for name, column in zip(self.columns_, self._columns, strict=True):
            if column.kind == "text" and len(column.levels) > self.max_levels:
                raise ValueError(
                    f"column {name!r} is text with {len(column.levels)} different values, which "
                    f"are too many to be categories (at most {self.max_levels}). Drop the column "
                    "(drop= for files), encode it as numbers or the type category, or make texts "
                    f"a view: views={{'text': {name!r}, 'rest': '...'}}."
                )
            is_number = column.kind in ("number", "date")
            encodings.append(
                _NumberEncoding(column) if is_number else _LevelEncoding(column, self.min_frequency)
            )
        return encodings


def _table(X: Any) -> TableView:
    view, names = (X, None) if isinstance(X, pd.DataFrame) else named_columns(X, None, "X")
    if not isinstance(view, TableView):
        frame = view if isinstance(view, pd.DataFrame) else pd.DataFrame(view, columns=names)
        view = TableView(frame, "X")
    repeated = view.frame.columns[view.frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"column {repeated[0]!r} occurs more than once. Use different names.")
    view.has_values()
    return view


@dataclass(eq=False, repr=False)
class WordTfidf(ViewTransformer):
    """Texts to frequencies of words, ``(1 + log f) (1 + log((1 + n) / (1 + m)))``.

    ``f`` is how often a word occurs in the text, and ``m`` the number of the n texts of `fit` that
    have it; rows have length 1. This is ``TfidfVectorizer`` of scikit-learn with ``sublinear_tf``,
    but can be fitted to parts of the samples. Words are runs of two letters or digits or more, in
    lower case. There are no lists of stop words: in any language, these are in most texts.

    Parameters
    ----------
    max_features : int, default=20000
        Maximum number of words; those in most texts are kept.
    min_texts : int, default=2
        Minimum number of texts that have a word.
    max_share : float, default=0.5
        Maximum share of texts that have a word.

    Attributes
    ----------
    words_ : array of str
        The words, sorted.
    n_samples_seen_ : int

    Examples
    --------
    >>> from anchorview.preprocessing import WordTfidf
    >>> texts = ["red apple", "green apple", "green tea and milk", "black tea", "red rose"]
    >>> words = WordTfidf().fit(texts)
    >>> words.get_feature_names_out().tolist()
    ['apple', 'green', 'red', 'tea']
    >>> words.transform(["an Apple, a red one"]).toarray().round(2)
    array([[0.71, 0.  , 0.71, 0.  ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "min_texts": [Interval(Integral, 1, None, closed="left")],
        "max_share": [Interval(Real, 0, 1, closed="right")],
    }
    summed = ("_texts_with",)
    n_features_in_ = 1
    dtype = np.dtype(np.float32)

    max_features: int = 20_000
    min_texts: int = 2
    max_share: float = 0.5

    _texts_with: Counter[str] = field(init=False)

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        texts, words_of = _texts(X), CountVectorizer().build_analyzer()
        counts = Counter(word for text in texts for word in set(words_of(text)))
        return {"n_samples_seen_": len(texts), "_texts_with": counts}

    @property
    def frequencies_(self) -> dict[str, int]:
        """Number of texts of `fit` that have a word, by word."""
        check_is_fitted(self, "n_samples_seen_")
        most = max(self.min_texts, self.max_share * self.n_samples_seen_)
        kept = {w: n for w, n in self._texts_with.items() if self.min_texts <= n <= most}
        if not kept:
            raise ValueError(
                f"no word is in at least {self.min_texts} and at most {most:.0f} of the "
                f"{self.n_samples_seen_} texts, so there are no features. Lower min_texts or raise "
                "max_share of WordTfidf, or leave the view out."
            )
        frequent = sorted(kept, key=lambda word: (-kept[word], word))[: self.max_features]
        return {word: kept[word] for word in sorted(frequent)}

    @property
    def words_(self) -> Array:
        """The words, sorted."""
        return np.array(list(self.frequencies_), dtype=object)

    @property
    def description(self) -> str:
        """How many words there are."""
        return f"{len(self.words_)} words"

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """The words.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : array of str
        """
        return self.words_

    def transform(self, X: Any) -> Matrix:
        """Weigh the words of texts.

        Parameters
        ----------
        X : array-like (n,) of str, or DataFrame with columns of texts, which are joined

        Returns
        -------
        X_new : csr_array (n, n_words)
            Texts without a known word have rows of zeros.
        """
        frequencies = self.frequencies_
        positions = {word: j for j, word in enumerate(frequencies)}
        counts = CountVectorizer(vocabulary=positions, dtype=np.float32).transform(_texts(X))
        counts.data = 1 + np.log(counts.data)
        rarity = 1 + np.log((1 + self.n_samples_seen_) / (1 + np.array([*frequencies.values()])))
        counts.data *= rarity.astype(np.float32)[counts.indices]
        return cast(Matrix, sparse.csr_array(normalize(counts, copy=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _texts(X: Any) -> list[str]:
    """Texts of samples; those of several columns are joined, and missing ones are empty."""
    frame = pd.DataFrame(pandas_frame(X) if hasattr(X, "columns") else np.asarray(X, object))
    return [
        " ".join(str(x) for x, known in zip(row, given, strict=True) if known)
        for row, given in zip(frame.to_numpy(object), frame.notna().to_numpy(), strict=True)
    ]
