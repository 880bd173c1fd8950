"""A fit with its samples, what inspection tells about it, and the verdict."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.moments import Moments
from anchorview._utils.text import capitalized, in_words, one_line
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import POOL
from anchorview.estimators.explanation import DOUBTFUL_SHARE, explanation_of_model
from anchorview.estimators.representation import (
    apart_sentences,
    batch_sentences,
    edge_sentences,
    structure_sentences,
    view_sentences,
)
from anchorview.inspection import cluster_markers, leave_one_view_out
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.markers import leading_markers
from anchorview.inspection.summary import (
    distance_moments,
    distance_table,
    summary_of,
    with_borders,
)
from anchorview.inspection.typical_samples import kept_samples, nearest, samples_of_blocks
from anchorview.inspection.view_contributions import MAX_REFIT_SAMPLES
from anchorview.metrics import clustering_scores
from anchorview.plotting.drawn_samples import DrawnSamples, stored_embedding
from anchorview.views.container import container_with_views

UNKNOWN_CLASS = "–"
"""Class of samples without a known one."""


class CheckedFit(DrawnSamples):
    """A fitted model with the samples it was fitted on, and what is known of these.

    The model may be any object with `labels_`; what depends on other attributes is left out if it
    does not have them. Raises if something is of other samples.
    """

    classes: Array | None = None
    """Known classes as strings, or :data:`UNKNOWN_CLASS`; None if no class is known."""

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
    ) -> None:
        super().__init__(model, X, of_fit=True)
        self.texts = self._values(texts, "texts")
        self.thumbnails = self._values(thumbnails, "thumbnails")
        self.scores = scores or {}
        classes = self._values(target, "target")
        if sample_ids is not None:
            self.sample_ids = pd.Index(self.aligned(np.asarray(sample_ids), "sample_ids"))
        known = np.array([]) if classes is None else pd.notna(classes)
        if classes is not None and known.any():
            self.classes = np.where(known, classes.astype(str), UNKNOWN_CLASS)
            if scores is None:
                self.scores = clustering_scores(self.classes[known], self.labels[known])
        self.n_clusters = len(self.clusters)
        self.cluster_names = [str(cluster) for cluster in self.clusters]
        self.sizes = np.bincount(self.labels, minlength=self.n_clusters)
        """Number of samples of each cluster."""
        self.is_auto = hasattr(model, "candidates_")
        """Whether the model selected its settings among candidates."""
        levels = getattr(model, "levels_", None)
        self.other_levels = [] if levels is None else levels.index[~levels["chosen"]].tolist()
        """Numbers of clusters that are supported beside the chosen one."""
        given = self.data
        names = () if given is None else given.names
        self.view_names = list(getattr(model, "view_names_in_", names))
        """Names of the views; none if neither the model nor the user gives any."""
        widths = () if given is None else given.n_features_per_view
        self.n_features_per_view = list(getattr(model, "n_features_per_view_", widths))
        self.has_coordinates = X is not None or stored_embedding(model) is not None
        """Whether there is an embedding, or views, by which a map can be laid out."""

    def _values(self, values: Any, name: str) -> Array | None:
        """Values in the order of the fit, or None; a Series is matched by id."""
        if values is None:
            return None
        objects = values.astype(object) if isinstance(values, pd.Series) else values
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


N_REPRESENTATIVES = 3
"""Typical samples per cluster."""

UNCLEAR_SHARE = 0.25
"""Clusters with a larger share of doubtful samples are unclear."""

CONSENSUS = (
    "The share of the candidate partitions that agree with the cluster of a sample, weighted as in "
    "the consensus. Samples below {:.0%} are doubtful."
)
MEMBERSHIP = (
    "The membership of a sample in its cluster: large if it is much closer to the center of its "
    "cluster than to all others. Samples whose membership in the next cluster is more than "
    "half of that are doubtful."
)

N_MARKERS = 3
"""Features per cluster and view."""

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
    meaning: str
    """What confidence is and which samples are doubtful, in words."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """One row per cluster: `size` and `share`; if distances are known, `confidence`, `separation`
    and `nearest_cluster`; `border`; and `view:<name>`, the share of each view; as of
    `cluster_summary`. If the certainty of samples is known, `doubtful` is the number of doubtful
    samples."""
    certainty: Certainty | None
    representatives: pd.DataFrame | None
    """Typical samples of each cluster, the nearest first, in the columns `cluster` and `row`."""
    markers: pd.DataFrame | None
    """The leading rows of `cluster_markers` of each cluster and view."""
    without_view: pd.DataFrame | None
    """As returned by `leave_one_view_out`."""
    left_out: Sequence[str]
    """Sentences on what was not computed, and why."""


def inspect_fit(fit: CheckedFit) -> Findings:
    """Clusters, features, samples and views of a fit, as far as they are known."""
    without_view, left_out = _without_view(fit)
    look = _overview_of_model if fit.data is None else _overview_of_views
    clusters, certainty, representatives = look(fit)
    if certainty is not None:
        doubtful = fit.labels[certainty.doubtful]
        clusters["doubtful"] = np.bincount(doubtful, minlength=fit.n_clusters)
    clusters = with_borders(clusters, fit.model)
    markers = _leading_markers(fit)
    return Findings(clusters, certainty, representatives, markers, without_view, left_out)


Overview = tuple[pd.DataFrame, Certainty | None, pd.DataFrame | None]
"""The fields `clusters`, `certainty` and `representatives` of `Findings`."""


def _overview_of_model(fit: CheckedFit) -> Overview:
    """What the model has stored about its samples."""
    model, embedding = fit.model, stored_embedding(fit.model)
    if hasattr(model, "__anchorview_explain__") and embedding is not None and not fit.is_auto:
        explanation, rows = model.__anchorview_explain__(), np.asarray(embedding)
        blocks = list(map(distance_moments, explanation.distances_of_rows(rows)))
        clusters = distance_table(reduce(Moments.merged, blocks), pd.RangeIndex(fit.n_clusters))
        samples = samples_of_blocks(explanation.distances_of_rows(rows), 0, _in_order)
        return clusters, _certainty(fit, samples), None
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    certainty = None
    if fit.is_auto:
        certainty = _consensus(model, model.confidence_, model.second_labels_)
    return clusters, certainty, None


def _overview_of_views(fit: CheckedFit) -> Overview:
    # Labels of models that do not explain themselves are those of the fit, even if they predict.
    explains = hasattr(fit.model, "__anchorview_explain__") and hasattr(fit.model, "predict")
    labeled = labeled_source(fit.model if explains else fit.clusters[fit.labels], fit.data)
    labeled = replace(labeled, clusters=pd.Index(fit.clusters.get_indexer(labeled.clusters)))
    # Labels say nothing about clusters without samples.
    clusters = summary_of(labeled, 1, 1).reindex(range(fit.n_clusters))
    clusters["size"], clusters["share"] = fit.sizes, fit.sizes / len(fit.labels)
    samples = kept_samples(labeled, _in_order, "confidence")
    samples["second"] = labeled.clusters[samples["second"].to_numpy()]
    typical = nearest(samples, N_REPRESENTATIVES)
    names = labeled.clusters[typical["label"].to_numpy()]
    rows = pd.DataFrame({"cluster": names, "row": typical["position"].to_numpy()})
    return clusters, _certainty(fit, samples), rows


def _in_order(samples: pd.DataFrame) -> pd.DataFrame:
    return samples.sort_values("position")


def _certainty(fit: CheckedFit, samples: pd.DataFrame) -> Certainty | None:
    if fit.n_clusters == 1:
        return None
    names = ("confidence", "second", "second_confidence")
    confidence, second, others = (samples[name].to_numpy() for name in names)
    if fit.is_auto:
        return _consensus(fit.model, confidence, second)
    return Certainty(confidence, second, others > DOUBTFUL_SHARE * confidence, MEMBERSHIP)


def _consensus(model: Any, confidence: Array, second_labels: Array) -> Certainty:
    limit = model.confidence_threshold_
    return Certainty(confidence, second_labels, confidence < limit, CONSENSUS.format(limit))


def _leading_markers(fit: CheckedFit) -> pd.DataFrame | None:
    if fit.data is None or np.count_nonzero(fit.sizes) < 2:
        return None
    explanation = explanation_of_model(fit.model)
    data = fit.data if explanation is None else explanation.prepare(fit.data)
    # Tables as they were given: in the given units, and with all levels.
    tables = fit.data.table_views
    chosen = [fit.data if p in tables else data for p in range(len(data.views))]
    views = tuple(each.views[p] for p, each in enumerate(chosen))
    names = tuple(each.feature_names[p] for p, each in enumerate(chosen))
    data = container_with_views(data, views, names, nan_cells=True)
    n_rows = fit.n_clusters * data.shape[1]
    n_features = None if n_rows <= MAX_MARKER_ROWS else MAX_MARKER_ROWS // fit.n_clusters
    markers = cluster_markers(fit.labels, data, n_features=n_features)
    return leading_markers(markers, N_MARKERS, ["cluster", "view"])


def _without_view(fit: CheckedFit) -> tuple[pd.DataFrame | None, list[str]]:
    data, model = fit.data, fit.model
    if data is None or len(data.views) < 2 or not hasattr(model, "get_params"):
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


def verdict(fit: CheckedFit, findings: Findings) -> str:
    """Sentences on clusters, samples and views: what to know when reading nothing else."""
    parts = [_verdict_on_clusters(fit, findings)]
    if fit.other_levels:
        parts.append(f"{in_words(fit.other_levels)} are supported too")
    single = [name for name, size in zip(fit.cluster_names, fit.sizes, strict=True) if size == 1]
    if single:
        clusters = "cluster" if len(single) == 1 else "clusters"
        verb = "has" if len(single) == 1 else "have"
        parts.append(f"{clusters} {in_words(single)} {verb} a single sample")
    if findings.certainty is not None and fit.n_clusters > 1:
        count = int(findings.certainty.doubtful.sum())
        verb = "is" if count == 1 else "are"
        parts.append(f"{count:,} of {len(fit.labels):,} samples {verb} doubtful")
    # Without evidence of clusters there is nothing to disagree about.
    if getattr(fit.model, "structure_", None) != 0:
        parts += disagreement(findings)
    sentences = [*apart_sentences(fit.model), "; ".join(parts), *edge_sentences(fit.model)]
    sentences += structure_sentences(fit.model, fit.cluster_names)
    sentences += [*view_sentences(fit.model), *batch_sentences(fit.model)]
    return " ".join(f"{capitalized(sentence)}." for sentence in sentences)


def _verdict_on_clusters(fit: CheckedFit, findings: Findings) -> str:
    number = "1 cluster" if fit.n_clusters == 1 else f"{fit.n_clusters} clusters"
    if "doubtful" not in findings.clusters or fit.n_clusters == 1:
        return number
    is_unclear = findings.clusters["doubtful"].to_numpy() > UNCLEAR_SHARE * fit.sizes
    names = np.asarray(fit.cluster_names, dtype=object)[is_unclear].tolist()
    if len(names) in (0, fit.n_clusters):
        return f"{number}, {'none' if names else 'all'} of them clear"
    if 2 * len(names) > fit.n_clusters > 4:
        return f"{number}, only {fit.n_clusters - len(names)} of them clear"
    return (
        f"{number}, clear but for {'cluster' if len(names) == 1 else 'clusters'} {in_words(names)}"
    )


def disagreement(findings: Findings) -> list[str]:
    """Return what is said of views that disagree with the others; nothing if there are none."""
    if findings.without_view is None:
        return []
    views = findings.without_view.index[findings.without_view["disagrees"]].tolist()
    verb = "disagrees" if len(views) == 1 else "disagree"
    return [f"{in_words(views)} {verb} with the other views"] if views else []
