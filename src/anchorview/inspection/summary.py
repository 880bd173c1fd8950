"""A table with one row per cluster, and titles: readable features by which clusters differ most.

Features of embeddings ("e117", "pc3") and those without names say nothing, and are in no title.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_scalar

from anchorview._utils.moments import Moments, as_counts, group_moments
from anchorview._utils.text import number_text, percent, shorten
from anchorview._utils.typing import Array
from anchorview.estimators.explanation import ClusterDistances, Explanation
from anchorview.estimators.preparation import Preparation, words_of_texts
from anchorview.inspection.cluster_moments import Feature, ViewMoments, merge_views, part_moments
from anchorview.inspection.labeled_parts import (
    LabeledSource,
    explanation_of,
    filled,
    labeled_source,
    with_words,
)
from anchorview.inspection.markers import leading_markers, marker_table
from anchorview.inspection.typical_samples import Keep, merge_samples, nearest, samples_of_blocks
from anchorview.inspection.view_contributions import PartContributions, contribution_moments
from anchorview.views.container import MultiViewData, ViewsLike


@filled
def cluster_summary(
    model_or_labels: Any, X: ViewsLike, *, n_features: int = 3, n_medoids: int = 3
) -> pd.DataFrame:
    """Describe each cluster by one row: size, confidence, neighbor, typical samples, features.

    One pass over the rows, in memory, from files or in Dask; two for labels and estimators that
    only have labels. Every estimator has it as the method ``summary`` as well.

    Parameters
    ----------
    %(model_or_labels)s
    X : views of samples, in any form that estimators take
    n_features : int, default=3
        Number of leading features per cluster.
    n_medoids : int, default=3
        Number of typical samples per cluster.

    Returns
    -------
    summary : DataFrame
        Indexed by cluster, with the columns

        - `title`: the readable features that set the cluster apart, in a few words, such as
          ``"audio: price 110, stereo"``; or its name, given by ``relabel``. All are different.
        - `size`, `share`: number of samples, or sum of their weights, and the share of all.
        - `confidence`: mean confidence of the samples, as for :func:`doubtful`.
        - `nearest_cluster`: the cluster whose center has the smallest mean squared distance to the
          samples of this one; distances are those of :func:`representatives`.
        - `separation`: how separate the two are: mean of ``(b - a) / max(a, b)`` over the samples,
          with the distances a to its center and b to that of the nearest cluster. At most 1;
          near 0 if the two are nearly one.
        - `border`, only of :class:`~anchorview.AutoDALMC`: evidence for the cluster, as in its
          attribute `borders_`: "strong", "moderate", "weak" or "none".
        - `medoids`: ids or positions of the samples nearest to the center.
        - `features`: the features with the largest effects (:func:`cluster_markers`), as
          ``"view: feature"``. Levels of categories, at most one per column, also have
          their shares: ``"customers: plan=premium 84 % (21 % elsewhere)"``.
        - ``view:<name>`` for each view: its share of the evidence for the cluster, which is its
          contribution (:func:`view_contributions`), if positive, divided by the sum of the positive
          ones.

        A cluster without samples has a title, the size 0 and nothing else.

    See Also
    --------
    cluster_markers : All features of all clusters.
    representatives : Typical samples with their distances.

    %(digits)s
    >>> summary = cluster_summary(model, views)
    >>> list(summary.columns[:5])
    ['title', 'size', 'share', 'confidence', 'nearest_cluster']
    >>> int(summary["size"].sum())
    2000
    """
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_medoids, "n_medoids", Integral, min_val=1)
    labeled = labeled_source(model_or_labels, X)
    summary, shares, sums = summarized(labeled, partial(nearest, n=n_medoids))
    summary.insert(0, "title", cluster_titles(labeled, sums.moments, summary["size"].to_numpy()))
    with_borders(summary, model_or_labels)
    labels, positions = sums.samples[["label", "position"]].to_numpy().T
    samples = labeled.sample_index[positions]
    summary["medoids"] = [tuple(samples[labels == c].tolist()) for c in range(len(summary))]
    features = _leading_features(labeled, sums, n_features)
    summary["features"] = [features.get(cluster, ()) for cluster in labeled.clusters]
    return summary.join(shares)


def with_borders(summary: pd.DataFrame, model: Any) -> None:
    """Insert the column `border` in the table of the clusters of a model that judges them."""
    borders = getattr(model, "borders_", None)
    if borders is not None:
        words = pd.Series(borders, index=summary.index, dtype=object)
        position = summary.columns.get_indexer(pd.Index(["separation"]))[0] + 1
        summary.insert(position, "border", words.where(summary["size"] > 0, None))


class Sums(NamedTuple):
    """What a summary needs to know about some samples."""

    distances: Moments
    contributions: Moments
    moments: list[ViewMoments]
    samples: pd.DataFrame

    def merged(self, other: "Sums", keep: Keep) -> "Sums":
        """The same about both; `keep` selects samples."""
        return Sums(
            self.distances.merged(other.distances),
            self.contributions.merged(other.contributions),
            merge_views(self.moments, other.moments),
            merge_samples(self.samples, other.samples, keep),
        )


def summarized(labeled: LabeledSource, keep: Keep) -> tuple[pd.DataFrame, pd.DataFrame, Sums]:
    """Numbers of the clusters, shares of the views in them, and all sums, in one pass."""
    explanation, n_clusters = explanation_of(labeled), len(labeled.clusters)
    work = partial(
        _part_sums, explanation, explanation.contributions(), labeled.words, n_clusters, keep
    )
    merge = partial(Sums.merged, keep=keep)
    sums = labeled.source.reduce_as_is(work, merge, "summarizing")
    numbers = distance_table(sums.distances, labeled.clusters)
    support = np.maximum(sums.contributions.mean, 0)
    total = support.sum(axis=1, keepdims=True)
    shares = np.divide(support, total, out=np.full_like(support, np.nan), where=total > 0)
    names = [f"view:{name}" for name in explanation.view_names]
    return numbers, pd.DataFrame(shares, numbers.index, names), sums


def distance_moments(block: ClusterDistances, weights: Array | None = None) -> Moments:
    """Moments by cluster of confidence, squared distances to all centers, and separation."""
    squares = np.where(np.isfinite(block.squares), block.squares, np.nan)
    distances, to_cluster = np.sqrt(squares), np.sqrt(block.squares_to_cluster)[:, None]
    larger, apart = np.maximum(distances, to_cluster), distances - to_cluster
    separation = np.divide(apart, larger, out=np.zeros_like(apart), where=larger > 0)
    values = np.column_stack([block.confidence, squares, separation])
    return group_moments(values, block.labels, squares.shape[1], weights)


def distance_table(moments: Moments, clusters: "pd.Index[Any]") -> pd.DataFrame:
    """The first columns of :func:`cluster_summary`, of :func:`distance_moments`."""
    sizes = as_counts(moments.weight[:, 0])
    confidence, squares, separation = np.split(moments.mean, [1, 1 + len(sizes)], axis=1)
    filled = sizes > 0
    squares = np.where(filled, squares, np.inf)
    np.fill_diagonal(squares, np.inf)
    nearest = squares.argmin(axis=1)
    pairs = filled & (filled.sum() > 1)
    neighbors = clusters[nearest]
    if not pairs.all():
        neighbors = neighbors.astype(object).where(pairs, None)
    columns = {
        "size": sizes,
        "share": sizes / sizes.sum(),
        "confidence": np.where(filled, confidence[:, 0], np.nan),
        "nearest_cluster": neighbors,
        "separation": np.where(pairs, separation[np.arange(len(sizes)), nearest], np.nan),
    }
    return pd.DataFrame(columns).set_index(clusters.rename("cluster"))


def _part_sums(
    explanation: Explanation,
    contributions: PartContributions,
    words: Preparation | None,
    n_clusters: int,
    keep: Keep,
    part: MultiViewData,
) -> Sums:
    distances, samples = [], []
    for block in explanation.distances(part):
        distances.append(distance_moments(block, part.weights(block.rows)))
        samples.append(samples_of_blocks([block], part.first_row))
    in_part = pd.concat(samples)
    return Sums(
        reduce(Moments.merged, distances),
        contribution_moments(contributions, n_clusters, part),
        part_moments(n_clusters, with_words(words, part), in_part["label"].to_numpy()),
        keep(in_part),
    )


def _leading_features(
    labeled: LabeledSource, sums: Sums, n_features: int
) -> dict[Any, tuple[str, ...]]:
    """The leading features of each cluster in words; nothing if all samples are in one cluster."""
    if np.count_nonzero(sums.distances.weight[:, 0]) < 2:
        return {}
    n_levels = sum(len(view.levels) for view in sums.moments)
    table = marker_table(labeled, n_features + n_levels, sums.moments)
    table = leading_markers(table, n_features, ["cluster"])
    texts = [_feature_text(row) for row in table.to_dict("records")]
    return pd.Series(texts, table.index).groupby(table["cluster"]).agg(tuple).to_dict()


def _feature_text(marker: Any) -> str:
    """A feature with its view; of a level, with its shares inside and outside."""
    text = f"{marker['view']}: {marker['feature']}"
    if marker["kind"] != "level" or np.isnan(marker["effect"]):
        return text
    return f"{text} {percent(marker['mean_in'])} ({percent(marker['mean_out'])} elsewhere)"


MAX_TITLE_ROWS, N_CONSIDERED = 10_000, 60
"""Maximum number of samples by which a fit makes titles, and of features that may be in a title."""

MIN_EFFECT, RELATIVE_EFFECT, LARGE_EFFECT = 0.3, 0.35, 3.0
"""Least effect of a feature in a title, and relative to the strongest; larger ones than the last
count the same."""

MIN_SHARE, OFTEN, RARE = 0.6, 0.25, 0.1
"""Shares of its samples from which on a cluster has a level, or often has it if nothing else is
known, and up to which it lacks it."""

FEW_VALUES = 0.25
"""Share of values that are not 0 below which they are counted."""

MAX_PIECES, MAX_LENGTH, MAX_PIECE = 4, 44, 32
"""Maximum number of features in a title, its length after the first two, and that of a feature."""

MAX_NARROW = 60
"""Features of wider views are named without their means."""

YES, NO = {"true", "yes"}, {"false", "no"}

COMPONENT = re.compile(
    r"(|[pi]ca?|dimension|dim|dc|lv|embedding|embed|emb|feature|feat|variable|var|column|col|"
    r"component|comp|factor|latent|hidden|ls[ai]|svd|nmf|umap|tsne|vector|vec|pixel|px)[\s_.:-]*\d+",
    re.IGNORECASE,
)
LETTER_AND_NUMBER = re.compile(r"[a-z][\s_.:-]*\d+", re.IGNORECASE)

MANY_NUMBERED = 16
"""Names of one letter and a number are those of an embedding if most of so many features have
them, or if the numbers count up."""


def are_readable(features: Sequence[Feature]) -> Array:
    """Which features of a view have names that tell people something."""
    columns = [feature.column for feature in features]
    named = np.array([COMPONENT.fullmatch(column) is None for column in columns], dtype=bool)
    lettered = np.array([LETTER_AND_NUMBER.fullmatch(c) is not None for c in columns], dtype=bool)
    numbers = {int(column[1:].strip(" _.:-")) for column in np.array(columns)[lettered]}
    counted = len(numbers) > 2 and max(numbers) - min(numbers) == len(numbers) - 1
    are_many = lettered.sum() >= max(MANY_NUMBERED, len(columns) / 2)
    return named & ~lettered if are_many or counted else named


def cluster_titles(
    labeled: LabeledSource, moments: Sequence[ViewMoments], sizes: Array
) -> list[str]:
    """Different titles of the clusters: names that people gave, else features, else numbers."""
    pieces: dict[Any, list[str]] = {cluster: [] for cluster in labeled.clusters}
    if np.count_nonzero(sizes) > 1:
        markers = marker_table(labeled, N_CONSIDERED, moments, are_readable)
        widths = [view.numbers.nonzeros.shape[1] for view in moments]
        views = zip(labeled.view_names, widths, strict=True)
        narrow = {name for name, width in views if width <= MAX_NARROW}
        pieces |= _pieces_by_cluster(markers, narrow)
    names = list(map(str, labeled.clusters))
    given = [name for name in names if not name.lstrip("-").isdecimal()]
    shown = zip(names, pieces.values(), strict=True)
    return _distinct({name: [name] if name in given else found for name, found in shown})


def titles_of_fit(model: Any, data: MultiViewData) -> tuple[str, ...] | None:
    """Titles of the clusters of a fit by some of its samples; None if no feature is readable."""
    rows = np.arange(0, len(data), -(-len(data) // MAX_TITLE_ROWS))
    if len(model.labels_) != len(data):
        return None
    labeled = labeled_source(model.labels_[rows], data[rows])
    words = words_of_texts(model, labeled.source, labeled.view_names)
    if words is not None:
        labeled = replace(labeled, words=words, feature_names=words.feature_names)
    moments = labeled.moments("titles")
    sizes = np.bincount(model.labels_[rows])[labeled.clusters]
    found = dict(zip(labeled.clusters, cluster_titles(labeled, moments, sizes), strict=True))
    return tuple(found.get(c, f"cluster {c}") for c in range(model.n_clusters_fit_))


def _pieces_by_cluster(markers: pd.DataFrame, narrow: Iterable[str]) -> dict[Any, list[str]]:
    """What may be in the title of each cluster, the strongest first."""
    if not len(markers):
        return {}
    markers = markers.assign(strength=markers["effect"].abs().clip(upper=LARGE_EFFECT))
    markers = markers[markers["strength"] >= MIN_EFFECT]
    levels = markers[markers["kind"] == "level"].drop_duplicates(["view", "column", "feature"])
    texts = [_level(row) for row in levels.to_dict("records")]
    pieces = {}
    for cluster, rows in leading_markers(markers, N_CONSIDERED, ["cluster"]).groupby("cluster"):
        rows = rows[rows["strength"] >= RELATIVE_EFFECT * rows["strength"].max()]
        for least in (MIN_SHARE, OFTEN):
            found = [
                _piece(row, row["view"] in narrow, texts.count(_level(row)) == 1, least)
                for row in rows.to_dict("records")
            ]
            pieces[cluster] = list(dict.fromkeys(filter(None, found)))
            if pieces[cluster]:
                break
    return pieces


def _level(marker: Mapping[Any, Any]) -> str:
    return str(marker["feature"])[len(marker["column"]) + 1 :]


def _piece(marker: Mapping[Any, Any], with_mean: bool, is_only: bool, least: float) -> str:
    """What a feature says about a cluster; a level of only one column stands for itself (colon)."""
    name = shorten(marker["column"].replace("_", " "), MAX_PIECE)
    inside, outside = marker["mean_in"], marker["mean_out"]
    if marker["kind"] == "date":
        return f"{name} {date_text(inside)}"
    is_level = marker["kind"] == "level"
    if is_level or is_indicator(marker):
        level = _level(marker).lower() if is_level else "yes"
        if level in YES | NO:
            has = inside if level in YES else 1 - inside
            return name if has >= MIN_SHARE else f"no {name}" if has <= RARE else ""
        if inside < least or inside < outside:
            return ""
        level = shorten(_level(marker), MAX_PIECE)
        if least < MIN_SHARE:
            return f"often {name} {level}"
        stands_alone = is_only and sum(map(str.isalpha, level)) >= 3
        return f"{level}:" if stands_alone else f"{name} {level}"
    if with_mean and not is_mostly_zero(marker):
        return f"{name} {number_text(inside)}"
    return name if inside > outside else f"low {name}"


def is_mostly_zero(marker: Mapping[Any, Any]) -> bool:
    """Whether few samples have any value, as of words: their share tells more than the mean."""
    return bool(min(marker["nonzero_in"], marker["nonzero_out"]) < FEW_VALUES)


def is_indicator(marker: Mapping[Any, Any]) -> bool:
    """Whether a number is 0 or 1."""
    shares = marker["nonzero_in"], marker["nonzero_out"]
    return bool(np.allclose(shares, (marker["mean_in"], marker["mean_out"])))


def date_text(days: float) -> str:
    """Month of a mean of days since 1970."""
    return str(pd.Timestamp(0) + pd.Timedelta(days=days))[:7]


def _distinct(pieces: Mapping[str, Sequence[str]]) -> list[str]:
    """Title of each cluster, by its name: as many pieces as fit, and more where two are equal."""
    counts = {name: _fitting(found) for name, found in pieces.items()}
    while True:
        titles = {name: _joined(found[: counts[name]]) for name, found in pieces.items()}
        seen = Counter(titles.values())
        equal = [name for name, title in titles.items() if seen[title] > 1]
        longer = {n: counts[n] + 1 for n in equal if counts[n] < len(pieces[n])}
        if not longer:
            break
        counts |= longer
    return [
        f"{title} ({name})" if title and name in equal else title or f"cluster {name}"
        for name, title in titles.items()
    ]


def _fitting(pieces: Sequence[str]) -> int:
    """Number of pieces that fit in a title."""
    lengths = np.cumsum([len(piece) + 2 for piece in pieces[:MAX_PIECES]])
    return min(len(lengths), max(2, int((lengths <= MAX_LENGTH).sum())))


def _joined(pieces: Sequence[str]) -> str:
    """Title of some pieces; a level that stands for itself comes first."""
    alone = [piece for piece in pieces if piece.endswith(":")]
    rest = [piece.removesuffix(":") for piece in pieces if piece not in alone[:1]]
    return " ".join([*alone[:1], ", ".join(rest)]).removesuffix(": ").strip()
