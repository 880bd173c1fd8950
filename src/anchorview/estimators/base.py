"""Base classes of the estimators: validation of views, learned attributes, messages."""

import os
from time import perf_counter
from typing import Any

import pandas as pd
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorview.estimators.persistence import save_model
from anchorview.views.container import MultiViewData
from anchorview.views.schema import ViewsSchema


class MultiViewClusterer(ClusterMixin, BaseEstimator):
    """Base of all estimators; subclasses override `_require_possible`."""

    @property
    def labels_series(self) -> "pd.Series[Any]":
        """``labels_`` as a pandas Series indexed by sample id, or by position if there are none."""
        check_is_fitted(self)
        return pd.Series(self.labels_, index=self.sample_ids_, name="cluster")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _require_possible(self, data: MultiViewData) -> None:
        """Raise if the parameters are not possible for data of this shape."""

    def _validate(self, X: Any, *, reset: bool, fitting: bool = False) -> MultiViewData:
        """Validate views. With `reset`, learn their names and widths; otherwise check them.

        `fitting` says that `labels_` will be those of these samples.
        """
        data = MultiViewData(X)
        if reset:
            self._require_possible(data)
            data.require_fittable()
            self._learn_views(data)
        else:
            data = data.matched_to(
                self.view_names_in_, self.n_features_per_view_, type(self).__name__
            )
        if fitting:
            self.sample_ids_ = data.sample_ids
        self._check_features(X, data, reset=reset)
        return data

    def _check_features(self, X: Any, data: ViewsSchema, *, reset: bool) -> None:
        """Learn or check the number of features and, for a single view, their names."""
        # A single matrix gets scikit-learn's own checks of names and numbers of features.
        if len(data.names) == 1 and hasattr(X, "shape"):
            # ``_meta`` of a dask dataframe is the empty frame with its columns.
            meta = getattr(X, "_meta", None)
            matrix = meta if isinstance(meta, pd.DataFrame) else X
            validate_data(self, matrix, reset=reset, skip_check_array=True)
        elif reset:
            # scikit-learn's feature names are those of a single matrix.
            self.n_features_in_ = data.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_

    def _learn_views(self, data: ViewsSchema) -> None:
        self.view_names_in_ = data.names
        self.n_views_in_ = len(data.names)
        self.n_features_per_view_ = data.n_features_per_view

    def _seeds(self) -> tuple[int, int]:
        """Seeds of the start and of the assignment."""
        start, assignment = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        return int(start), int(assignment)

    def _say(self, message: str, since: float | None = None) -> float:
        """If verbose, print a message with the seconds since a time; returns the current time."""
        now = perf_counter()
        if self.verbose:
            took = "" if since is None else f" ({now - since:.2f} s)"
            print(f"[{type(self).__name__}] {message}{took}")
        return now


class EmbeddingClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewClusterer):
    """Base of those that embed samples, have an `embedding_`, and can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`anchorview.load` reads.

        The file holds arrays and JSON, no code; it appears under its name only when complete.

        Labels and embedding that a fit has written to files or left on workers stay there: of
        these the file has none.

        Parameters
        ----------
        path : path-like
            By convention with the suffix ``.anchorview``.
        """
        save_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
