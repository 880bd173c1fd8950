"""Titles: clusters named by the readable features by which they differ most.

Features of embeddings ("e117", "pc3") and those without names say nothing, and are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import number_text, shorten
from anchorview._utils.typing import Array
from anchorview.estimators.preparation import words_of_texts
from anchorview.inspection.cluster_moments import Feature, ViewMoments
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source
from anchorview.inspection.markers import labeled_moments, leading_markers, marker_table
from anchorview.views.container import MultiViewData

MAX_ROWS = 10_000
"""Maximum number of samples by which a fit makes titles."""

N_CONSIDERED = 60
"""Number of leading features of a cluster that may be in its title."""

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
    rows = np.arange(0, len(data), -(-len(data) // MAX_ROWS))
    if len(model.labels_) != len(data):
        return None
    labeled = labeled_source(model.labels_[rows], data[rows])
    words = words_of_texts(model, labeled.source, labeled.view_names)
    if words is not None:
        labeled = replace(labeled, words=words, feature_names=words.feature_names)
    moments = labeled_moments(labeled, "titles")
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
