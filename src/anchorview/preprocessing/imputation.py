"""Values for single missing cells."""

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.sklearn_compat import StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.preprocessing.view_transformer import ViewTransformer, entries_of, sums_along


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
