"""Base classes of the estimators: validation of views, learned attributes, messages."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import check_random_state, check_scalar, deprecated, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from anchorview._utils import sklearn_compat as constraints
from anchorview._utils.docstring_fragments import docstring_filler, section_of
from anchorview._utils.progress import log_message
from anchorview._utils.sklearn_compat import output_container
from anchorview._utils.typing import Array, FeatureNames, PathLike
from anchorview.core.batch_correction import PartPreparation
from anchorview.datasets.formats.arrays import LEVEL_LABELS, SAMPLE_IDS
from anchorview.estimators.batches import BatchMixin, UnknownBatch, correction_for
from anchorview.estimators.persistence import save_model
from anchorview.estimators.persistence.fitted_state import FittedState
from anchorview.estimators.preparation import (
    Preparation,
    Preprocess,
    encoded_tables,
    fit_preparation,
    prepare,
)
from anchorview.estimators.reference import continuing
from anchorview.estimators.relabeling import RelabelMixin, by_sample_id
from anchorview.estimators.representation import result_html, result_lines, table_descriptions
from anchorview.sources.open_source import open_source
from anchorview.sources.results_folder import RESULTS, save_results
from anchorview.views.alignment import matched_rows
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.container import MultiViewData, ViewsLike
from anchorview.views.fitted_views import NUMBERS, FittedViews
from anchorview.views.input_grammar import Join
from anchorview.views.row_source import RowSource, restored_rows, warn_of_unknown
from anchorview.views.sample_design import set_design, set_weights

SILHOUETTES = 2000
"""Maximum number of samples that `score` compares with each other."""


class MultiViewClusterer(ClusterMixin, BaseEstimator):
    """Base of all estimators; subclasses override `_require_possible`."""

    view_names_in_: tuple[str, ...]
    n_features_per_view_: tuple[int, ...]
    feature_names_per_view_: tuple[FeatureNames | None, ...]
    views_: pd.DataFrame

    @property
    @deprecated("Use views_['weight']. It ends in version 0.4.")
    def view_weights_(self) -> "pd.Series[float]":
        """Weight of each view.

        .. deprecated:: 0.2
            Use ``views_["weight"]``.
        """
        return self.views_["weight"]

    @property
    def labels_series(self) -> "pd.Series[Any]":
        """Cluster of each sample, indexed by sample id, or by position if there are none.

        These are ``labels_``, or the names of clusters after ``relabel(..., output="names")``.
        """
        check_is_fitted(self)
        return pd.Series(self._shown(self.labels_), index=self.sample_ids_, name="cluster")

    def _shown(self, labels: Any) -> Any:
        """Clusters as methods return them."""
        return labels

    def fit_predict(self, X: ViewsLike, y: object = None, **kwargs: Any) -> Any:
        """Fit, and return the cluster of each sample.

        Parameters
        ----------
        X, y, **kwargs
            As for `fit`.

        Returns
        -------
        labels : array (n,) of int32, or Series
            `labels_`; if the samples have ids, as the Series `labels_series`, unless the labels
            are in Dask or in files.
        """
        self.fit(X, y, **kwargs)
        return by_sample_id(self._shown(self.labels_), self.sample_ids_, "cluster")

    def summary(self, X: ViewsLike, *, n_features: int = 3, n_medoids: int = 3) -> pd.DataFrame:
        """Describe each cluster by one row: size, confidence, neighbor, typical samples, features.

        The same as :func:`anchorview.inspection.cluster_summary`.

        Parameters
        ----------
        X : views of samples, in any form that `fit` takes
            For estimators that cannot predict, the samples of `fit`.
        n_features : int, default=3
            Number of leading features per cluster.
        n_medoids : int, default=3
            Number of typical samples per cluster.

        Returns
        -------
        summary : DataFrame
            Indexed by cluster.
        """
        # The only import of a higher layer, which the contract in pyproject.toml names: this method
        # is a shorter way to call the function.
        from anchorview.inspection.summary import cluster_summary

        return cluster_summary(self, X, n_features=n_features, n_medoids=n_medoids)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parameters = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "labels_"):
            return parameters
        return "\n  ".join([parameters, *result_lines(self)])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def _repr_html_inner(self) -> str:
        results = result_html(self) if hasattr(self, "labels_") else ""
        return estimator_html_repr(self) + results

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _require_possible(self, data: Any) -> None:
        """Raise if the parameters are not possible for data of this shape."""

    def _in_memory(self, X: Any) -> MultiViewData:
        """Samples of a fit that takes out nothing."""
        data = open_source(X, join=None).read()
        if data.design is not None or data.sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} cannot take out batches or covariates, or weigh samples. "
                "Give the views without these, or use fit of DALMC or AutoDALMC."
            )
        self._require_possible(data)
        self._learn_views(data)
        data = encoded_tables(data)
        data.require_fittable()
        return data

    def _learn_views(self, source: RowSource) -> None:
        self.sample_ids_ = source.sample_ids
        self.view_names_in_ = source.names
        self.n_features_per_view_ = source.n_features_per_view
        self.feature_names_per_view_ = source.feature_names

    @property
    def n_views_in_(self) -> int:
        """Number of views."""
        return len(self.view_names_in_)

    @property
    def n_features_in_(self) -> int:
        """Number of features over all views."""
        return sum(self.n_features_per_view_)

    @property
    def feature_names_in_(self) -> FeatureNames:
        """Names of the features of a single matrix, if it has any; as in scikit-learn."""
        names = self.feature_names_per_view_
        if self.view_names_in_ != ("view_0",) or names[0] is None:
            raise AttributeError("feature_names_per_view_ has the feature names of each view.")
        return names[0]

    def _table_of_views(self, **columns: ArrayLike) -> pd.DataFrame:
        """Table with a row for each view."""
        return pd.DataFrame(columns, pd.Index(self.view_names_in_, name="view"))

    def _seeds(self) -> tuple[int, int]:
        """Seeds of the start and of the assignment."""
        start, assignment = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        return int(start), int(assignment)

    def _say(self, message: object, since: float | None = None) -> float:
        """Log a message with the seconds since a time, or print it; returns the current time."""
        now = perf_counter()
        took = "" if since is None else f" ({now - since:.2f} s)"
        log_message(f"[{type(self).__name__}] {message}{took}", verbose=bool(self.verbose))
        return now


def embeds_new_samples(model: "EmbeddingClusterer") -> bool:
    """Condition of methods that embed or label samples other than those of `fit`."""
    model._require_embeds_new_samples()
    return True


class EmbeddingClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, RelabelMixin, BatchMixin, MultiViewClusterer
):
    """Base of those that embed samples, have an `embedding_`, and can be saved.

    Parameters
    ----------
    preprocess : str, transformer, dict or None, default=None
        How to preprocess views before they are scaled, all or, in a dict, by view: a transformer of
        scikit-learn's form, or the name of one of :mod:`anchorview.preprocessing`: ``"lognorm"``
        (counts of RNA), ``"clr"`` (of proteins), ``"tfidf"`` (of peaks), ``"impute-mean"`` or
        ``"impute-median"`` (single missing values), ``"table"``, and ``"kernel"``, ``"distance"``
        or ``"graph"`` (square views of similarities). It is fitted to the samples of `fit` that
        have the view, and applied to new samples. Views that are None or left out are used as they
        are, but tables with categories, texts or dates are encoded as by ``"table"``, and missing
        cells of other tables become the mean. Data that are read in parts need transformers with
        ``partial_fit``, or without a state; those of this package have it, apart from
        ``"impute-median"``.
    batch_scale : bool, default=True
        Whether features also get the same deviation in all batches, if `fit` is given `batch`; they
        always get the same mean.
    memory_limit : float or str, default=None
        Memory in bytes that a fit may use in addition to the data, such as ``"1.5GB"``. The size of
        the parts in which views on disk are read follows from it. If None, half of the free memory.

    Attributes
    ----------
    preprocessing_ : tuple of transformers or None
        Fitted transformer of each view, or None for a view without; None if no view has one.
    view_selection_ : dict or None
        `views` of `fit`.
    batches_ : tuple of str or None
        Names of the batches that are taken out; set if `fit` is given `batch`.
    batch_mixing_ : Series or None
        How well the batches mix `before`, in the standardized views as given, and `after`, in the
        embedding: the share of other batches among the 30 nearest neighbors of at most 2,000
        samples, divided by their share of the samples. 1 is well mixed, 0 separated.
    n_clusters_fit_ : int
        Number of clusters before `relabel` has merged any.
    cluster_names_ : tuple of str or None
        Names that `relabel` has given to the clusters, or that they have from `reference`; of those
        without one, the number. None if no cluster has a name or has vanished.
    titles_ : tuple of str
        Title of each cluster: its name, if `relabel` has given one, else the readable features of
        views in memory that set it apart, such as "audio: price 110, stereo"; else its number.
    changes_ : DataFrame or None
        What became of the clusters of `reference`, as of the fit; None without. By number, old or
        new: `name`; `change`, "continued", "split from", "merged of", "new" or "vanished";
        `clusters`, the old ones that it is from, or the new ones in which most of a vanished one
        is; the sizes `before` and `after`; `moved`, the share of samples in either cluster that are
        not in both, as far as `reference` knows them; `by_chance`, the same share between two fits
        to the new samples with different seeds; and `beyond_chance`, how much larger the first is.
    n_samples_fit_ : int
        Number of samples.
    n_views_in_, n_features_in_ : int
        Number of views, and of features over all views.
    n_features_per_view_ : tuple of int
        Features of each view.
    feature_names_per_view_ : tuple of arrays of str or None
        Names of the features of each view, if it has any. New samples are matched by them.
    sample_ids_ : pandas.Index or None
        Sample ids, if the views were DataFrames or MuData, in the order of `labels_`: those of the
        first view, then those that each further view adds.
    view_names_in_ : tuple of str
        Names of the views: keys of the dict given to `fit`, else ``view_0``, ``view_1``...
    """

    # Ranges of the parameters of both estimators, which add their own.
    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        "view_importance": [Mapping, None],
        "preprocess": [str, Mapping, constraints.HasMethods(["fit", "transform"]), None],
        "batch_scale": ["boolean"],
        "memory_limit": [constraints.POSITIVE, str, None],
        "random_state": constraints.RANDOM_STATE,
        "verbose": constraints.VERBOSE,
    }
    _state_class: type[FittedState]
    """What model files hold of it."""
    preprocess: Preprocess
    memory_limit: float | str | None
    n_samples_fit_: int
    changes_: pd.DataFrame | None
    _total_weight: float | None = None
    """Sum of the weights of the samples of `fit`; None if they have none."""
    _prepared: Preparation | None
    view_selection_: dict[str, str | tuple[str, ...]] | None
    _join: Join | None
    _known: Array | None
    """Which samples have any value, while they are fitted; None if all have."""

    def _open(
        self,
        X: ViewsLike,
        out: PathLike | None = None,
        views: ViewSelection | None = None,
        join: Join | None = None,
        batch: Any = None,
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> RowSource:
        """Source of the samples of a fit, ready for the first pass.

        `out` is the folder of the results, if they are to be written.

        Parameters
        ----------
        X : list, tuple or dict of views, a single view, MuData or MultiViewData
            Each view is an (n, d_p) array, DataFrame or scipy.sparse matrix with rows in the same
            order; DataFrames are aligned by index. A sample may lack views, but not all: its row is
            all NaN, or its id is missing in the DataFrame.

        Other Parameters
        ----------------
        views : dict of str to str, list of str or Ellipsis, default=None
            For a single table: the columns of each view, by view name, as in ``{"price": ["p1",
            "p2"], "text": "title", "rest": ...}``. Ellipsis, or ``"..."``, is all columns that no
            view names. For AnnData and MuData objects and dicts or lists of AnnData objects: the
            matrix to use for each view, by view name; other views are not used. A matrix is
            ``"X"``, ``"layer:NAME"`` or ``"obsm:NAME"``; ``X`` or a layer can be followed by a
            boolean column of ``var`` that selects features, as in ``"X:highly_variable"``. Names
            are those of modalities or of the given views; for a single AnnData object, any names
            can be used. `predict` and `transform` select the same. If None, ``X`` of all.
        join : {"outer", "inner"} or None, default=None
            Samples of views that are aligned by id: all, also those that lack views (``"outer"``),
            or only those that have all views. None is ``"outer"`` with a warning if views share
            fewer than half of the ids of the smaller one, and what would make them match.
        batch : array-like (n,) or str, default=None
            Batch of each sample. Batch effects are removed from the views: in every batch, each
            feature gets the overall mean and, with `batch_scale`, the same standard deviation. A
            Series is aligned by sample id. With MuData or AnnData, also the name of a column of
            ``obs``.
        covariates : array-like (n, q), DataFrame, str or list of str, default=None
            Numeric covariates of each sample, such as age or sequencing depth. Each feature is
            regressed on them within batches, so that their effect is removed. Aligned like `batch`.
        sample_weight : array-like (n,), str or float, default=None
            How often each sample counts, not negative: a sample of weight 2 is two equal samples,
            and one of weight 0 is given a cluster by the others. Aligned like `batch`; transformers
            in `preprocess` and batches know no weights.
        """
        self._join, self.changes_ = join, None
        self._titles: tuple[str, ...] | None = None
        source = open_source(
            X, self.memory_limit, selection=views, join=join, write_results=out is not None
        )
        self.view_selection_ = source.selection
        if not self._works_in_parts(source, out):
            source = source.read()
        if batch is not None or covariates is not None:
            set_design(source, X, batch, covariates)
        if sample_weight is not None:
            set_weights(source, X, sample_weight)
        if source.sample_weight is not None and source.design is not None:
            raise ValueError(
                "Samples with weights cannot have batches or covariates. Leave out sample_weight, "
                "or take the batches out beforehand."
            )
        self._learn_views(source)
        source = self._only_known(source)
        self._require_possible(source.counted())
        if out is not None:
            source.require_output_folder(Path(out))
        self.n_samples_fit_ = source.shape[0]
        self._total_weight = None if source.sample_weight is None else source.total_weight
        named = any(names is not None for names in source.feature_names)
        self._given = source.read() if named and not source.in_parts else None
        return self._prepare(source)

    def _only_known(self, source: RowSource) -> RowSource:
        """The samples of a fit that have any value; `_restore_unknown` puts the rest back."""
        self._known = source.known_samples
        if self._known is None:
            return source
        warn_of_unknown(source.read())
        return source.read()[self._known]

    def _restore_unknown(self) -> None:
        """Put rows of samples without any value back into the results of a fit."""
        known, given = self.__dict__.pop("_known"), self.__dict__.pop("_given", None)
        if given is not None and isinstance(self.labels_, np.ndarray):
            # A higher layer, which the contract in pyproject.toml names, as that of `summary`.
            from anchorview.inspection.summary import titles_of_fit

            self._titles = titles_of_fit(self, given)
        for name in () if known is None else self._state_class.per_sample:
            if (rows := getattr(self, name, None)) is not None:
                setattr(self, name, restored_rows(rows, known))

    def _prepare(self, source: RowSource) -> RowSource:
        """Fit the transformers, and apply them to the samples of a fit."""
        self._prepared = fit_preparation(source.counted(), self.preprocess)
        if self._prepared is not None:
            for name, description in table_descriptions(self).items():
                self._say(f"{name}: {description}")
            source = prepare(source, self._prepared)
        source.hints_at_counts = self.preprocess is None
        # Parts are checked in the first pass.
        if isinstance(counted := source.counted(), MultiViewData):
            counted.require_fittable()
        return source

    def _works_in_parts(self, source: RowSource, out: PathLike | None) -> bool:
        """Whether a fit processes samples that are not in memory part by part."""
        return True

    def _open_new(
        self,
        X: ViewsLike,
        out: PathLike | None = None,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
    ) -> RowSource:
        """Source of samples to embed or label; raises if they do not have the views of the fit."""
        check_is_fitted(self, "labels_")
        source = open_source(
            X,
            self.memory_limit,
            selection_of_fit=self.view_selection_,
            join=None if self._join is None else "outer",
            write_results=out is not None,
        )
        if batch is not None or covariates is not None:
            set_design(source, X, batch, covariates)
        fitted = self._fitted_views
        unnamed = fitted.unnamed(source)
        if unnamed:
            # As scikit-learn does.
            subject = unnamed[0] if self.n_views_in_ > 1 else "X"
            warnings.warn(
                f"{subject} does not have valid feature names, but {type(self).__name__} was "
                "fitted with feature names; its features are matched by position.",
                stacklevel=3,
            )
        source = fitted.matched(source)
        if self._prepared is not None:
            source = prepare(source, self._prepared)
        correction = correction_for(self._correction, source, fitted, unknown_batch)
        return source if correction is None else source.prepared(correction)

    @property
    def preprocessing_(self) -> tuple[Any, ...] | None:
        """Fitted transformer of each view, or None; None if no view has one."""
        return None if self._prepared is None else self._prepared.steps

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, also those of transformers in `preprocess`.

        Parameters
        ----------
        deep : bool, default=True
            Transformers of a view have names such as ``preprocess__text__max_features``.

        Returns
        -------
        params : dict
        """
        params: dict[str, Any] = super().get_params(deep)
        steps = self.preprocess if deep and isinstance(self.preprocess, Mapping) else {}
        for view, step in steps.items():
            if hasattr(step, "get_params"):
                nested = step.get_params(deep).items()
                params |= {f"preprocess__{view}__{name}": value for name, value in nested}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also those of transformers in `preprocess`.

        Parameters
        ----------
        **params
            Names and values, as `get_params` returns them.

        Returns
        -------
        self
        """
        steps = self.preprocess if isinstance(self.preprocess, Mapping) else {}
        for view, step in steps.items():
            start = f"preprocess__{view}__"
            nested = [name for name in params if name.startswith(start)]
            if nested and hasattr(step, "set_params"):
                step.set_params(**{name.removeprefix(start): params.pop(name) for name in nested})
        return super().set_params(**params)

    @property
    def _fitted_views(self) -> FittedViews:
        """The views that it was fitted on, to which those of new samples are matched."""
        return FittedViews(
            type(self).__name__,
            self.view_names_in_,
            self.n_features_per_view_,
            self.feature_names_per_view_,
            (NUMBERS,) * self.n_views_in_ if self._prepared is None else self._prepared.columns,
            self._prepared is not None,
        )

    @property
    def _part_preparation(self) -> PartPreparation:
        """Function of new samples that prepares them for embedding; can be pickled."""
        return PartPreparation(self._prepared, self._fitted_views, self._correction)

    def _require_embeds_new_samples(self) -> None:
        """Raise an AttributeError if only the samples of `fit` can be embedded."""

    @available_if(embeds_new_samples)
    def transform(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
        scale: bool = True,
        out: PathLike | None = None,
    ) -> Any:
        """Embed samples: the rows of the anchor graph that the fitted model gives them.

        AutoDALMC embeds them by its best candidate.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            Views of a dict are matched by name, other forms by position. Samples may lack views,
            also in patterns that `fit` has not seen: use rows of NaN, pass None for a view, or
            leave it out of the dict. Features are matched by name where names are known.
        batch, covariates : default=None
            As for `fit`; needed if the model was fitted with them.
        unknown_batch : {"error", "center"}, default="error"
            What to do with a batch that `fit` did not have, or not in a view: raise an error, or
            center and scale it on its samples here.
        scale : bool, default=True
            Whether to scale the columns to a mean square of 1 over the samples of `fit`, as
            classifiers and distances expect. If False, rows of the anchor graph as they are: for
            the samples of `fit`, those of `embedding_`, whose columns are orthonormal, so that the
            entries decrease with the number of samples.
        out : path-like, default=None
            An ``.npy`` file to which the result is written part by part; a memory map of it is
            returned.

        Returns
        -------
        embedding : array (n, n_anchors)
            A dask array if the views are.
        """
        source = self._open_new(X, out, batch, covariates, unknown_batch)
        function = self._embedding_map(self._scale_factor if scale else 1.0)
        width, path = self._n_features_out, None if out is None else Path(out)
        rows = source.map_rows(function, width, source.dtype, "embedding", path)
        return self._with_ids(rows, source.sample_ids)

    @abstractmethod
    def _embedding_map(self, factor: float) -> Callable[[MultiViewData], Array]:
        """Function of a part: its embedding times a factor; can be pickled."""

    @available_if(embeds_new_samples)
    def fit_transform(
        self,
        X: ViewsLike,
        y: object = None,
        *,
        scale: bool = True,
        out: PathLike | None = None,
        **kwargs: Any,
    ) -> Any:
        """Fit, and embed the samples.

        Parameters
        ----------
        X, out, **kwargs
            As for `fit`.
        y : ignored
            Not used, present for API consistency by convention.
        scale : bool, default=True
            As for `transform`. Must be False with `out`, whose files hold `embedding_`.

        Returns
        -------
        embedding : array (n, n_anchors)
            A dask array if the views are, a memory map if `out` is given.
        """
        if scale and out is not None:
            raise ValueError(
                "out= holds the embedding as it is: use scale=False, or fit, and transform with "
                "another out=."
            )
        self.fit(X, out=out, **kwargs)
        rows = self.embedding_
        return self._with_ids(rows * self._scale_factor if scale else rows, self.sample_ids_)

    @available_if(embeds_new_samples)
    def predict(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
        doubtful: int | None = None,
        out: PathLike | None = None,
    ) -> Any:
        """Cluster of each sample; for the samples of `fit`, ``labels_``.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            As for `transform`: samples may lack views.
        batch, covariates, unknown_batch
            As for `transform`.
        doubtful : int, default=None
            Negative number that samples in doubt get in place of a cluster, such as -1, by the rule
            of `labels_without_doubt`. If None, every sample has a cluster.
        out : path-like, default=None
            As for `transform`.

        Returns
        -------
        labels : array (n,) of int32, or Series
            If the samples have ids (DataFrames, AnnData, MuData, tables), a Series indexed by
            sample id, so that ``table["cluster"] = model.predict(views)`` is aligned by id. Its
            order is that of the ids: those of the first view, then those that each further view
            adds. A dask array if the views are, a memory map if `out` is given, both in this order,
            or by ascending id for dask dataframes. Names in place of numbers after
            ``relabel(..., output="names")``.
        """
        if doubtful is not None:
            check_scalar(doubtful, "doubtful", Integral, max_val=-1)
        source = self._open_new(X, out, batch, covariates, unknown_batch)
        function, path = self._label_map(doubtful), None if out is None else Path(out)
        labels = source.map_rows(function, None, np.int32, "labeling", path)
        return by_sample_id(self._shown(labels), source.sample_ids, "cluster")

    @abstractmethod
    def _label_map(self, doubtful: int | None) -> Callable[[MultiViewData], Array]:
        """Function of a part: clusters, or a given number for samples in doubt; can be pickled."""

    def labels_without_doubt(self, threshold: float | None = None) -> Any:
        """Clusters of the samples of `fit`, -1 for those in doubt.

        `labels_` stays as it is, and no sample is moved to another cluster.

        Parameters
        ----------
        threshold : float, default=None
            Confidence, as of :func:`anchorview.inspection.doubtful`, below which a sample is in
            doubt. If None, the samples that reports call doubtful: for AutoDALMC, a confidence
            below `confidence_threshold_`; for DALMC, a membership in the next cluster of more than
            half of that in its own.

        Returns
        -------
        labels : array (n,) of int32, or Series
            If the samples have ids, a Series indexed by sample id. A dask array if the views were.

        Examples
        --------
        >>> from anchorview import DALMC, make_multiview
        >>> views, _ = make_multiview(300, n_clusters=4, separation=2, random_state=0)
        >>> model = DALMC(n_clusters=4, random_state=0).fit(views)
        >>> labels = model.labels_without_doubt()
        >>> sorted(set(labels.tolist()))
        [-1, 0, 1, 2, 3]
        >>> certain = labels >= 0
        >>> bool((labels[certain] == model.labels_[certain]).all())
        True
        """
        check_is_fitted(self, "labels_")
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"threshold={threshold!r} should be between 0 and 1.")
        if not len(self.labels_):
            raise ValueError(
                "The model was saved without the results of its samples: use "
                "predict(X, doubtful=-1)."
            )
        labels = self._certain_labels(threshold)
        return by_sample_id(self._shown(labels), self.sample_ids_, "cluster")

    @abstractmethod
    def _certain_labels(self, threshold: float | None) -> Any:
        """Clusters of the samples of `fit`, -1 for those in doubt."""

    @available_if(embeds_new_samples)
    def score(self, X: ViewsLike, y: Any = None) -> float:
        """Score that model selection maximizes, such as ``GridSearchCV``; at most 1.

        With classes `y`, the adjusted Rand index of `predict`. Without, the mean silhouette
        coefficient of the predicted clusters in the embedding that `transform` returns, of at most
        2,000 samples; -1 if all are in one cluster. It compares parameters of one estimator, not
        different embeddings.

        Parameters
        ----------
        X : views of samples, in any form that `fit` takes
            ``GridSearchCV`` cannot split dicts and lists of views: give it ``MultiViewData``.
        y : array-like (n,), default=None
            Known classes; a Series is aligned by sample id.

        Returns
        -------
        score : float
        """
        labels: Any = self.predict(X)
        if y is not None:
            ids, ids_of_y = (x.index if isinstance(x, pd.Series) else None for x in (labels, y))
            rows = matched_rows((ids, len(labels), "X"), (ids_of_y, len(y), "y"))
            return float(adjusted_rand_score(np.asarray(y)[rows], np.asarray(labels)))
        codes, rows = np.asarray(labels), np.asarray(self.transform(X))
        if len(codes) > SILHOUETTES:
            drawn = np.random.default_rng(0).choice(len(codes), SILHOUETTES, replace=False)
            codes, rows = codes[drawn], rows[drawn]
        n_found = len(np.unique(codes))
        return float(silhouette_score(rows, codes)) if 1 < n_found < len(codes) else -1.0

    def save(self, path: PathLike) -> None:
        """Write the fitted model to a file that :func:`anchorview.load` reads.

        The file holds arrays and JSON, no code; it appears under its name only when complete.

        Labels and embeddings that `fit` has written to files or left on workers stay there and are
        not part of the model file.

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
    def _scale_factor(self) -> float:
        """Factor that gives the columns of `embedding_` a mean square of 1."""
        return float(np.sqrt(self._total_weight or self.n_samples_fit_))

    def _with_ids(self, rows: Any, sample_ids: Any) -> Any:
        """Rows as a DataFrame indexed by sample id, if `set_output` asks for pandas.

        scikit-learn takes the index from a single DataFrame only, not from several views.
        """
        if sample_ids is None or output_container(self) != "pandas":
            return rows
        return pd.DataFrame(np.asarray(rows), index=pd.Index(np.asarray(sample_ids)))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def save_results_of(model: EmbeddingClusterer, folder: Path) -> None:
    """Write the results of a fit in memory to the files to which a fit in parts writes them."""
    results = {name: getattr(model, f"{name}_", None) for name in RESULTS}
    results |= {SAMPLE_IDS: None, LEVEL_LABELS: getattr(model, "_level_labels", None)}
    known = {name: np.asarray(rows) for name, rows in results.items() if rows is not None}
    save_results(folder, known, model.sample_ids_)


def of_known_samples_only(model: Any) -> Any:
    """A model without the samples of its fit that have no value; others are their positions."""
    labels = model.labels_
    if not (isinstance(model, EmbeddingClusterer) and type(labels) is np.ndarray):
        return model
    known = labels >= 0
    if known.all():
        return model
    model = copy(model)
    ids = model.sample_ids_
    model.sample_ids_ = pd.Index(np.flatnonzero(known)) if ids is None else ids[known]
    for name in model._state_class.per_sample:
        if (rows := getattr(model, name, None)) is not None:
            setattr(model, name, rows[known])
    return model


fill_docstring = docstring_filler(
    {
        "preparation_parameters": section_of(EmbeddingClusterer, "Parameters"),
        "input_attributes": section_of(EmbeddingClusterer, "Attributes"),
        "fit_views": section_of(EmbeddingClusterer._open, "Parameters"),
        "fit_parameters": section_of(EmbeddingClusterer._open, "Other Parameters"),
        "reference": section_of(continuing, "Parameters"),
        "predict_parameters": section_of(EmbeddingClusterer.predict, "Parameters"),
        "new_labels": section_of(EmbeddingClusterer.predict, "Returns"),
    }
)
"""Replaces each line ``%(name)s`` of a docstring by what is said here of what estimators share."""
