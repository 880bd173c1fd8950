"""What every clusterer of several views does alike: its door, its conventions, its words."""

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

from anchorview.views.container import MultiViewData
from anchorview.views.schema import ViewsSchema


class MultiViewClusterer(ClusterMixin, BaseEstimator):
    """Base of the estimators; a subclass says in `_require_possible` what it cannot fit."""

    @property
    def labels_series(self) -> "pd.Series[Any]":
        """``labels_`` as a pandas Series indexed by the samples' ids, or by their position."""
        check_is_fitted(self)
        return pd.Series(self.labels_, index=self.sample_ids_, name="cluster")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _require_possible(self, data: MultiViewData) -> None:
        """Raise if the settings cannot go with data of this shape."""

    def _validate(self, X: Any, *, reset: bool, fitting: bool = False) -> MultiViewData:
        """Views at the door; `reset` learns their names and widths, otherwise they are checked.

        `fitting` says that the samples are those of `labels_`.
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
        """Learn or check the number of features and, of one view alone, their names."""
        # One matrix alone gets scikit-learn's own checks of names and numbers of features.
        if len(data.names) == 1 and hasattr(X, "shape"):
            # The columns of a dask dataframe are those of its empty model.
            validate_data(self, getattr(X, "_meta", X), reset=reset, skip_check_array=True)
        elif reset:
            # Features of several views have a number, but no names as scikit-learn has them.
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
        """Print, if verbose, a message with the seconds since a time; returns the time now."""
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
        from anchorview.estimators.persistence.saving import save_model

        save_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
