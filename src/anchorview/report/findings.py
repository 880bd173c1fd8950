"""A fit with its samples, what inspection tells about it, and the verdict."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import methodcaller
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.moments import Moments
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array
from anchorview.estimators.explanation import DOUBTFUL_SHARE, explanation_of_model
from anchorview.estimators.partitions.candidates import POOL
from anchorview.inspection import leave_one_view_out
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.markers import leading_markers, marker_table
from anchorview.inspection.summary import (
    are_readable,
    cluster_titles,
    distance_moments,
    distance_table,
    summarized,
    with_borders,
)
from anchorview.inspection.typical_samples import nearest, stored_samples
from anchorview.inspection.view_contributions import MAX_REFIT_SAMPLES
from anchorview.metrics import clustering_scores
from anchorview.plotting.drawn_samples import DrawnSamples, stored_embedding
from anchorview.preprocessing import WordTfidf
from anchorview.views.container import MultiViewData, container_of_checked
from anchorview.views.input_grammar import NamedViews
from anchorview.views.table_columns import TEXTS, TableView, column_kind, pandas_frame


class CheckedFit(DrawnSamples):
    """Any model with `labels_`, the samples of its fit, and what is known of these."""

    classes: Array | None = None
    """Known classes as strings, None without one; or None if no class is known."""

    def __init__(
        self,
        model: Any,
        X: Any = None,
        *,
        target: Any = None,
        sample_ids: Any = None,
        scores: Mapping[str, float] | None = None,
        texts: Any = None,
        thumbnails: Any = None,
        metadata: Any = None,
    ) -> None:
        super().__init__(model, X, of_fit=True)
        self.texts = self._values(texts, "texts")
        self.thumbnails = self._values(thumbnails, "thumbnails")
        frame = pd.DataFrame() if metadata is None else pandas_frame(metadata)
        aligned = {name: self.aligned(values, "metadata") for name, values in frame.items()}
        self.metadata = None if metadata is None else pd.DataFrame(aligned)
        self.scores = scores or {}
        classes = self._values(target, "target")
        if sample_ids is not None:
            self.sample_ids = pd.Index(self.aligned(np.asarray(sample_ids), "sample_ids"))
        if classes is not None and (known := pd.notna(classes)).any():
            self.classes = np.where(known, classes.astype(str), np.array(None))
            if scores is None:
                self.scores = clustering_scores(self.classes[known], self.labels[known])
        self._set_clusters()
        self.is_auto = hasattr(model, "candidates_")
        """Whether the model selected its settings among candidates."""
        levels = getattr(model, "levels_", None)
        self.other_levels = [] if levels is None else levels.index[~levels["chosen"]].tolist()
        """Numbers of clusters that are supported beside the chosen one."""
        self.view_names = list(getattr(model, "view_names_in_", getattr(self.data, "names", ())))
        """Names of the views; none if neither the model nor the user gives any."""
        widths = getattr(self.data, "n_features_per_view", ())
        self.n_features_per_view = list(getattr(model, "n_features_per_view_", widths))
        self.has_coordinates = X is not None or stored_embedding(model) is not None

    def _set_clusters(self) -> None:
        self.n_clusters = len(self.clusters)
        self.cluster_names = [str(cluster) for cluster in self.clusters]
        self.sizes = np.bincount(self.labels, minlength=self.n_clusters)

    def at_level(self, number: int) -> "CheckedFit":
        """The same samples in the clusters of another level."""
        level = copy(self)
        level.labels = np.asarray(self.model.labels_at(number))
        level.model = SimpleNamespace(labels_=level.labels)
        level.clusters = pd.RangeIndex(number, name="cluster")
        level.is_auto, level.other_levels = False, []
        level._set_clusters()
        return level

    @cached_property
    def described(self) -> MultiViewData | None:
        """What clusters are described by: views, words of texts, metadata and known classes."""
        views: dict[str, tuple[Any, Any]] = {}
        data, n = self.data, len(self.labels)
        if data is not None:
            explanation = explanation_of_model(self.model)
            prepared = data if explanation is None else explanation.prepare(data)
            for p, name in enumerate(data.names):
                as_given = data.table_kinds.get(p, TEXTS) != TEXTS
                chosen = data if as_given else prepared
                views[name] = chosen.views[p], chosen.feature_names[p]
        if self.texts is not None:
            views["texts "] = _words(self.texts)
        known = {} if self.metadata is None else dict(self.metadata.items())
        if self.classes is not None:
            known["class"] = pd.Series(self.classes)
        known = {name: column for name, column in known.items() if _has_kind(column)}
        if known:
            frame = pd.DataFrame(known)
            views["metadata "] = TableView(frame, "metadata"), frame.columns.to_numpy(object)
        if not views:
            return None
        has = np.ones((n, len(views)), bool)
        if data is not None and data.available is not None:
            has[:, : len(data.names)] = data.available
        matrices, features = zip(*views.values(), strict=True)
        contents = NamedViews(tuple(views), True, list(matrices), has, None, features)
        return container_of_checked(contents)

    def _values(self, values: Any, name: str) -> Array | None:
        """Values in the order of the fit, or None; a Series is matched by id."""
        if values is None:
            return None
        objects = values.astype(object) if isinstance(values, pd.Series) else values
        if np.ndim(values) > 2:  # Pixels
            objects = np.empty(len(values), dtype=object)
            objects[:] = list(values)
        aligned = self.aligned(objects, name).astype(object)
        return aligned.where(aligned.notna(), None).to_numpy()

    @property
    def coordinates_name(self) -> str:
        """What the map is laid out by, in words."""
        if stored_embedding(self.model) is None:
            return f"the standardized views ({self.model_name} computes no embedding)"
        if self.is_auto:
            return "the embedding of the best candidate (the clusters are a consensus of all)"
        return "the embedding that was clustered"


def _words(texts: Array) -> tuple[Any, Any]:
    """Weights of the words of texts, and the words."""
    words = WordTfidf(max_features=MAX_WORDS)
    try:
        return words.fit(texts).transform(texts), words.words_
    except ValueError:  # No word is in two texts.
        return np.zeros((len(texts), 1)), np.array(["0"], object)


def _has_kind(column: "pd.Series[Any]") -> bool:
    """Whether a column is a number, a category or a date."""
    try:
        return column_kind(column) != ""
    except ValueError:
        return False


MAX_WORDS, N_REPRESENTATIVES = 2_000, 3
"""Maximum number of words of the texts that describe clusters; typical samples per cluster."""

N_MARKERS, N_READABLE = 3, 60
"""Features per cluster and view, and of how many per cluster levels of the same column are left
out."""

MAX_MARKER_ROWS = 5_000_000
"""Maximum number of rows of the table of markers; beyond, only the leading features of a cluster
are compared by view."""

MAX_REFIT_COST = 5e8
"""Maximum cost of the fits without one view, in samples x features x views x clusters of DALMC;
about 15 seconds on the digits. Beyond, they are left out."""

REFIT_BUDGET = "fast"
"""Budget of AutoDALMC in the fits without one view."""

BASELINE_COST = 12
"""Time of a baseline relative to DALMC, measured with OPMC on the digits."""


@dataclass(frozen=True, eq=False)
class Certainty:
    """Certainty of each sample, in the order of the fit."""

    confidence: Array
    second_labels: Array
    """The next cluster, to which the sample would go otherwise; -1 if there is none."""
    doubtful: Array
    threshold: float | None
    """Agreement below which samples are doubtful; None if confidence is a membership."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """One row per cluster: `size` and `share`; if distances are known, `confidence`, `separation`
    and `nearest_cluster`; `border`; and `view:<name>`, the share of each view; as of
    `cluster_summary`. If the certainty of samples is known, `doubtful` is the number of doubtful
    samples."""
    titles: Sequence[str]
    certainty: Certainty | None = None
    representatives: pd.DataFrame | None = None
    """Typical samples of each cluster, the nearest first, in the columns `cluster` and `row`."""
    markers: pd.DataFrame | None = None
    """The leading rows of `cluster_markers` of each cluster and view."""
    differences: pd.DataFrame | None = None
    """The leading ones of each cluster with readable names."""
    without_view: pd.DataFrame | None = None
    """As returned by `leave_one_view_out`."""
    left_out: Sequence[str] = ()
    """Sentences on what was not computed, and why."""

    @property
    def shares(self) -> "pd.Series[float]":
        """Share of each view in what separates the clusters, the largest first."""
        sizes = self.clusters["size"]
        shares: Any = self.clusters.filter(like="view:").astype(float).mul(sizes, axis=0).sum()
        return self._by_view(shares / sizes.sum())

    @property
    def disagreeing(self) -> list[str]:
        """Views that disagree with the others."""
        refits = self.without_view
        return [] if refits is None else refits.index[refits["disagrees"]].tolist()

    def shares_of(self, cluster: int) -> "pd.Series[float]":
        """Share of each view in what sets a cluster apart, the largest first."""
        return self._by_view(self.clusters.filter(like="view:").astype(float).loc[cluster].dropna())

    def _by_view(self, shares: Any) -> "pd.Series[float]":
        named: pd.Series[float] = shares.rename(lambda name: name.removeprefix("view:"))
        return named.sort_values(ascending=False, kind="stable")


def inspect_fit(fit: CheckedFit) -> Findings:
    """Clusters, features, samples and views of a fit, as far as they are known."""
    without_view, left_out = _without_view(fit)
    found = _inspected(fit)
    if found.certainty is not None:
        doubtful = fit.labels[found.certainty.doubtful]
        found.clusters["doubtful"] = np.bincount(doubtful, minlength=fit.n_clusters)
    with_borders(found.clusters, fit.model)
    return replace(found, without_view=without_view, left_out=left_out)


def inspect_level(level: CheckedFit) -> Findings:
    """The same about the clusters of another level, but for what is known of the model only."""
    return replace(_inspected(level), certainty=None)


def _inspected(fit: CheckedFit) -> Findings:
    look = _overview_of_model if fit.data is None else _overview_of_views
    clusters, samples = look(fit)
    certainty = representatives = None
    if fit.n_clusters > 1 and samples is not None:
        certainty = _certainty(fit, samples)
    if fit.data is not None and samples is not None:
        typical = nearest(samples, N_REPRESENTATIVES).reset_index()
        representatives = typical.rename(columns={"label": "cluster", "position": "row"})
    titles, markers, differences = _described_clusters(fit)
    return Findings(clusters, titles, certainty, representatives, markers, differences)


def _overview_of_model(fit: CheckedFit) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Numbers of the clusters, and all samples, as far as the model has stored them."""
    model, embedding = fit.model, stored_embedding(fit.model)
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    has_rows = hasattr(model, "__anchorview_explain__") and embedding is not None
    explains = fit.is_auto or has_rows
    samples = stored_samples(model) if explains else None
    if explains and not fit.is_auto:
        blocks = model.__anchorview_explain__().distances_of_rows(np.asarray(embedding))
        moments = reduce(Moments.merged, map(distance_moments, blocks))
        clusters = distance_table(moments, pd.RangeIndex(fit.n_clusters))
    return clusters, samples


def _overview_of_views(fit: CheckedFit) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers of the clusters, and all samples."""
    # Labels of models that do not explain themselves are those of the fit, even if they predict.
    explains = hasattr(fit.model, "__anchorview_explain__") and hasattr(fit.model, "predict")
    labeled = labeled_source(fit.model if explains else fit.clusters[fit.labels], fit.data)
    codes = fit.clusters.get_indexer(labeled.clusters)
    numbers, shares, sums = summarized(
        replace(labeled, clusters=pd.Index(codes)), methodcaller("sort_values", "position")
    )
    # Labels say nothing about clusters without samples.
    clusters = numbers.join(shares).reindex(range(fit.n_clusters))
    clusters["size"], clusters["share"] = fit.sizes, fit.sizes / len(fit.labels)
    columns = {name: codes[sums.samples[name].to_numpy()] for name in ("label", "second")}
    return clusters, sums.samples.assign(**columns)


def _certainty(fit: CheckedFit, samples: pd.DataFrame) -> Certainty:
    confidence, second = samples["confidence"].to_numpy(), samples["second"].to_numpy()
    if fit.is_auto:
        limit = fit.model.confidence_threshold_
        return Certainty(confidence, second, confidence < limit, limit)
    doubtful = samples["second_confidence"].to_numpy() > DOUBTFUL_SHARE * confidence
    return Certainty(confidence, second, doubtful, None)


def _described_clusters(
    fit: CheckedFit,
) -> tuple[Sequence[str], pd.DataFrame | None, pd.DataFrame | None]:
    """Titles, and the leading markers by view and of all readable features."""
    data, several = fit.described, np.count_nonzero(fit.sizes) > 1
    if data is None or not several:
        titles = [
            name if not name.lstrip("-").isdecimal() else f"cluster {name}"
            for name in fit.cluster_names
        ]
        return titles, None, None
    labeled = labeled_source(fit.labels, data)
    names = pd.Index(fit.cluster_names)[labeled.clusters]
    moments = labeled.moments("markers")
    n_rows = fit.n_clusters * data.shape[1]
    n_features = None if n_rows <= MAX_MARKER_ROWS else MAX_MARKER_ROWS // fit.n_clusters
    markers = leading_markers(
        marker_table(labeled, n_features, moments), N_MARKERS, ["cluster", "view"]
    )
    readable = marker_table(labeled, N_READABLE, moments, are_readable)
    differences = leading_markers(readable, N_MARKERS, ["cluster"]) if len(readable) else None
    titles = cluster_titles(replace(labeled, clusters=names), moments, fit.sizes[labeled.clusters])
    by_name = dict(zip(names, titles, strict=True))
    return [by_name.get(name, name) for name in fit.cluster_names], markers, differences


def _without_view(fit: CheckedFit) -> tuple[pd.DataFrame | None, list[str]]:
    data, model = fit.data, fit.model
    if data is None or len(data.views) < 2 or not hasattr(model, "get_params"):
        return None, []
    if fit.n_clusters < 2:
        return None, []
    cost = 1.0 if hasattr(model, "transform") else float(BASELINE_COST)
    if fit.is_auto:
        # Only the fits without a view are affected, not the clusters of the model.
        model = copy(model).set_params(budget=REFIT_BUDGET)
        cost = float(len(POOL[REFIT_BUDGET]))
    n_samples = min(len(data), MAX_REFIT_SAMPLES)
    cost *= float(n_samples) * data.shape[1] * len(data.views) * fit.n_clusters
    if cost > MAX_REFIT_COST:
        return None, [
            "The results without each view are left out, since the model would be fitted once per "
            "view; anchorview.inspection.leave_one_view_out computes them."
        ]
    try:
        return leave_one_view_out(model, data), []
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        if hasattr(model, "view_names_in_"):
            raise
        # Other models may need all views, or look for a view by its name.
        return None, [f"The model cannot be fitted without one of the views: {one_line(error)}"]
