"""Transformers of single views: counts, missing cells, and tables with categories.

They are scikit-learn transformers for use in `preprocess` of DALMC and AutoDALMC, where they have
names, and in pipelines.

===================  ===============================================================================
``"lognorm"``        :class:`LogNormalizer`: counts per sample, as for RNA
``"clr"``            :class:`CenteredLogRatio`: counts per sample, as for proteins (CITE-seq)
``"tfidf"``          :class:`PeakTfidf`: counts per sample and feature, as for peaks (ATAC)
``"impute-mean"``    :class:`CellImputer`: single missing values become the mean of the feature
``"impute-median"``  the same with the median
``"table"``          :class:`TableEncoder`: columns of numbers, categories and dates
``"words"``          :class:`WordTfidf`: texts
===================  ===============================================================================
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorview._utils.moments import Moments
from anchorview._utils.sklearn_compat import Interval, StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.views.fitted_views import FittedColumns
from anchorview.views.row_source import working_precision
from anchorview.views.table_columns import (
    CATEGORICAL,
    TableView,
    coded_column,
    describe_kinds,
    level_texts,
    named_columns,
    pandas_frame,
)

__all__ = [
    "CellImputer",
    "CenteredLogRatio",
    "LogNormalizer",
    "PeakTfidf",
    "TableEncoder",
    "WordTfidf",
]

TFIDF_SCALE = 1e4
"""Factor of term frequencies before their logarithm, as in Signac and muon."""

NO_COUNTS = "There are no counts: all values are 0. Leave the view out."

OTHER = "other"
"""Name of the level that holds rare levels."""


class ViewTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers of this module, which can be fitted to parts of the samples.

    `partial_fit` adds samples, and `merge` those that another transformer has seen.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    summed: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that `merge` adds up."""

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit to the samples of a view.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.n_samples_seen_ = 0
        return self._add(X)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Fit to further samples of a view, as if all had been given at once.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0)
        return self._add(X)

    def merge(self, other: Self) -> Self:
        """Add the samples that another transformer with the same parameters was fitted to.

        Parameters
        ----------
        other : transformer of the same class

        Returns
        -------
        self
        """
        self._merge(vars(other))
        return self

    def _add(self, X: Any) -> Self:
        self._validate_params()
        is_first = self.n_samples_seen_ == 0
        learned = self._learned(X, is_first)
        if is_first:
            self.__dict__.update(learned)
        else:
            self._merge(learned)
        return self

    def _merge(self, learned: Mapping[str, Any]) -> None:
        for name in ("n_samples_seen_", *self.summed):
            setattr(self, name, getattr(self, name) + learned[name])

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        """Fitted attributes of these samples alone; the first determine the features."""
        return {"n_samples_seen_": self._validate(X, reset=is_first).shape[0]}

    def _validate(self, X: Any, reset: bool = False, *, allow_nan: bool = True) -> Matrix:
        return cast(
            Matrix,
            validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=working_precision([X.dtype]) if hasattr(X, "dtype") else np.float64,
                ensure_all_finite="allow-nan" if allow_nan else True,
            ),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class CountTransformer(OneToOneFeatureMixin, ViewTransformer):
    """Logarithms of counts that are divided by a quantity of the sample. Zeros stay zeros."""

    def transform(self, X: Any) -> Matrix:
        """Transform counts; sparse ones stay sparse.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)

        Returns
        -------
        X_new : array or csr_array (n, d)
        """
        check_is_fitted(self, "n_samples_seen_")
        values: Any = self._counts(X).copy()
        entries, is_sparse = _entries(values), sparse.issparse(values)
        factors = self._factors(values).astype(entries.dtype)
        entries *= np.repeat(factors, np.diff(values.indptr)) if is_sparse else factors[:, None]
        np.log1p(entries, out=entries)
        weights = self._feature_weights()
        if weights is not None:
            weights = weights.astype(entries.dtype)
            entries *= weights[values.indices] if is_sparse else weights
        return cast(Matrix, values)

    def _counts(self, X: Any, reset: bool = False) -> Matrix:
        values = self._validate(X, reset, allow_nan=False)
        if _entries(values).min(initial=0) < 0:
            raise ValueError(
                f"{type(self).__name__} needs counts, which are not negative. Leave the view out "
                "of preprocess if it is preprocessed already."
            )
        return values

    @abstractmethod
    def _factors(self, counts: Matrix) -> Array:
        """Factor of each sample before the logarithm."""

    def _feature_weights(self) -> Array | None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags


class LogNormalizer(CountTransformer):
    """Counts to ``log(1 + x m / t)``, with the total ``t`` of the sample and the median ``m``.

    The median is that of the totals of the samples of `fit`, without those of total 0. This is
    ``normalize_total`` and ``log1p`` of scanpy.

    Attributes
    ----------
    total_ : float
        Median of the totals.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import LogNormalizer
    >>> LogNormalizer().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[0.916, 1.705],
           [0.   , 1.946]])
    """

    summed = ("_totals",)
    _totals: list[Array]
    _median: float | None = None

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        if not is_first and self._median is not None:
            raise ValueError("A loaded LogNormalizer knows the median only: fit it again.")
        totals = _sums(self._counts(X, reset=is_first), axis=1)
        return {"n_samples_seen_": len(totals), "_totals": [totals[totals > 0]], "_median": None}

    @property
    def total_(self) -> float:
        """Median of the totals of samples; raises if there are no counts."""
        check_is_fitted(self, "n_samples_seen_")
        if self._median is not None:
            return self._median
        totals = np.concatenate(self._totals)
        if not len(totals):
            raise ValueError(NO_COUNTS)
        return float(np.median(totals))

    def _factors(self, counts: Matrix) -> Array:
        return _divided(self.total_, _sums(counts, axis=1))


class CenteredLogRatio(CountTransformer):
    """Counts to ``log(1 + x / g)``, with the geometric mean ``g`` of ``1 + x`` over the features.

    The centered log-ratio per sample, as it is used for proteins.

    Attributes
    ----------
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import CenteredLogRatio
    >>> CenteredLogRatio().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[0.303, 0.723],
           [0.   , 1.299]])
    """

    def _factors(self, counts: Matrix) -> Array:
        # The logarithm of 1 + 0 is 0, so that entries that are not stored add nothing.
        logs = counts.log1p() if sparse.issparse(counts) else np.log1p(counts)
        return np.exp(-_sums(logs, axis=1) / counts.shape[1])


class PeakTfidf(CountTransformer):
    """Counts to ``log(1 + 10^4 x / t) log(1 + n / s)``, as for accessible regions of chromatin.

    ``t`` is the total of the sample, and ``s`` the sum of the feature over the n samples of `fit`.
    This is the TF-IDF of Signac and muon; that of texts is in scikit-learn.

    Attributes
    ----------
    sums_ : array (d,)
        Sums of the features.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import PeakTfidf
    >>> PeakTfidf().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[8.596, 1.491],
           [0.   , 1.539]])
    """

    summed = ("sums_",)
    sums_: Array

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        counts = self._counts(X, reset=is_first)
        return {"n_samples_seen_": counts.shape[0], "sums_": _sums(counts, axis=0)}

    def _factors(self, counts: Matrix) -> Array:
        return _divided(TFIDF_SCALE, _sums(counts, axis=1))

    def _feature_weights(self) -> Array:
        if not self.sums_.any():
            raise ValueError(NO_COUNTS)
        return np.asarray(np.log1p(_divided(self.n_samples_seen_, self.sums_)))


def _adds_up(transformer: "CellImputer") -> bool:
    if transformer.strategy != "mean":
        raise AttributeError("Medians need all samples at once: use strategy='mean'.")
    return True


class CellImputer(OneToOneFeatureMixin, ViewTransformer):
    """Fill single missing values (NaN) by the mean or median of the feature.

    Unlike ``SimpleImputer`` of scikit-learn, it can be fitted to parts of the samples. A sample
    that lacks the whole view needs no imputation.

    Parameters
    ----------
    strategy : {"mean", "median"}, default="mean"
        Medians need all samples at once.

    Attributes
    ----------
    values_ : array (d,)
        The value for each feature.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import CellImputer
    >>> CellImputer().fit_transform(np.array([[1, 3], [np.nan, 8], [2, 4]]))
    array([[1. , 3. ],
           [1.5, 8. ],
           [2. , 4. ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strategy": [StrOptions({"mean", "median"})]
    }
    summed = ("_known", "_sums")
    _known: Array
    _sums: Array

    def __init__(self, strategy: Literal["mean", "median"] = "mean") -> None:
        self.strategy = strategy

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        values = self._validate(X, reset=is_first)
        missing = values.copy()
        entries = _entries(missing)
        entries[:] = np.isnan(entries)
        known = values.shape[0] - _sums(missing, axis=0)
        if self.strategy == "mean":
            filled = values.copy()
            entries = _entries(filled)
            entries[np.isnan(entries)] = 0
            sums = _sums(filled, axis=0)
        elif sparse.issparse(values):
            raise ValueError(
                "Medians of sparse features are mostly 0: use strategy='mean' "
                "(preprocess='impute-mean')."
            )
        else:
            known = (known > 0).astype(np.float64)
            sums = np.nanmedian(np.where(known > 0, values, 0), axis=0)
        return {"n_samples_seen_": values.shape[0], "_sums": sums, "_known": known}

    partial_fit = available_if(_adds_up)(ViewTransformer.partial_fit)
    merge = available_if(_adds_up)(ViewTransformer.merge)

    @property
    def values_(self) -> Array:
        """The value for each feature; raises if a feature has none."""
        check_is_fitted(self, "n_samples_seen_")
        if not self._known.all():
            column = int(np.flatnonzero(self._known == 0)[0])
            names = getattr(self, "feature_names_in_", None)
            name = "" if names is None else f" ({names[column]!r})"
            raise ValueError(
                f"column {column}{name} is NaN in all samples, so it has no {self.strategy}. Drop "
                "it."
            )
        return np.asarray(self._sums / self._known)

    def transform(self, X: Any) -> Matrix:
        """Fill missing values.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)

        Returns
        -------
        X_new : array or csr_array (n, d)
        """
        fill = self.values_
        values = self._validate(X)
        missing = np.isnan(_entries(values))
        if missing.any():
            values = values.copy()
            is_sparse = sparse.issparse(values)
            fills = fill[values.indices] if is_sparse else np.broadcast_to(fill, values.shape)
            _entries(values)[missing] = fills[missing]
        return values


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
    _texts_with: Counter[str]
    n_features_in_ = 1
    dtype = np.dtype(np.float32)

    def __init__(
        self, max_features: int = 20_000, min_texts: int = 2, max_share: float = 0.5
    ) -> None:
        self.max_features = max_features
        self.min_texts = min_texts
        self.max_share = max_share

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


ENCODERS = TableEncoder, WordTfidf
"""Transformers that make numbers of tables."""

Level = str | int | float
"""A level of a category; models of earlier versions have numbers, which are compared as text."""


@dataclass(frozen=True)
class ColumnSums:
    """What is known about a column of a table; that of parts can be merged."""

    kind: str
    known: int = 0
    """Number of values that are not missing."""
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared differences from the mean."""
    levels: dict[Level, int] = field(default_factory=dict)
    """Number of samples of each level."""

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
        if not self.suffixes:
            return np.empty((len(values), 0))
        known = [] if levels is None else levels.tolist()
        # The last row is for missing values.
        lookup = np.zeros((len(known) + 1, len(self.suffixes)))
        for code, level in enumerate(known):
            lookup[code] = self._rows.get(level, 0)
        return lookup[np.where(np.isnan(values), len(known), values).astype(np.intp)]


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


def _sums(values: Matrix, axis: int) -> Array:
    return np.asarray(values.sum(axis=axis, dtype=np.float64)).ravel()


def _entries(values: Matrix) -> Array:
    """Values of an array, or the entries that a CSR matrix stores; changes change the matrix."""
    return np.asarray(values.data) if sparse.issparse(values) else np.asarray(values)


def _divided(number: float, by: Array) -> Array:
    """Quotients, 0 where a divisor is 0."""
    return np.divide(number, by, out=np.zeros_like(by), where=by > 0)
