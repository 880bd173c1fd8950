"""Transformers of views of numbers: counts, missing cells, and the base class of all.

They can be fitted to parts of the samples. Counts are those of RNA, proteins and accessible regions
of chromatin.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorview._utils.linalg import quotients
from anchorview._utils.sklearn_compat import StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.views.row_source import working_precision

TFIDF_SCALE = 1e4
"""Factor of term frequencies before their logarithm, as in Signac and muon."""

NO_COUNTS = "There are no counts: all values are 0. Leave the view out."


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


def entries_of(values: Matrix) -> Array:
    """Values of an array, or the entries that a CSR matrix stores; changes change the matrix."""
    return np.asarray(values.data) if sparse.issparse(values) else np.asarray(values)


def sums_along(values: Matrix, axis: int) -> Array:
    """Sums of an array or a sparse matrix, in double precision."""
    return np.asarray(values.sum(axis=axis, dtype=np.float64)).ravel()


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
        entries, is_sparse = entries_of(values), sparse.issparse(values)
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
        if entries_of(values).min(initial=0) < 0:
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
        totals = sums_along(self._counts(X, reset=is_first), axis=1)
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
        return quotients(self.total_, sums_along(counts, axis=1))


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
        return np.exp(-sums_along(logs, axis=1) / counts.shape[1])


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
        return {"n_samples_seen_": counts.shape[0], "sums_": sums_along(counts, axis=0)}

    def _factors(self, counts: Matrix) -> Array:
        return quotients(TFIDF_SCALE, sums_along(counts, axis=1))

    def _feature_weights(self) -> Array:
        if not self.sums_.any():
            raise ValueError(NO_COUNTS)
        return np.asarray(np.log1p(quotients(self.n_samples_seen_, self.sums_)))


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
        entries = entries_of(missing)
        entries[:] = np.isnan(entries)
        known = values.shape[0] - sums_along(missing, axis=0)
        if self.strategy == "mean":
            filled = values.copy()
            np.nan_to_num(entries_of(filled), copy=False)
            sums = sums_along(filled, axis=0)
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
        self.require_values(getattr(self, "feature_names_in_", None))
        return np.asarray(self._sums / self._known)

    def require_values(self, names: Any) -> None:
        """Raise if a feature, which may have a name, has no value.

        Parameters
        ----------
        names : array of str, or None
        """
        missing = np.flatnonzero(self._known == 0)
        if len(missing):
            name = "" if names is None else f" ({names[missing[0]]!r})"
            raise ValueError(
                f"column {missing[0]}{name} is NaN in all samples, so it has no {self.strategy}. "
                "Drop it (drop= for files)."
            )

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
        missing = np.isnan(entries_of(values))
        if missing.any():
            values = values.copy()
            is_sparse = sparse.issparse(values)
            fills = fill[values.indices] if is_sparse else np.broadcast_to(fill, values.shape)
            entries_of(values)[missing] = fills[missing]
        return values
