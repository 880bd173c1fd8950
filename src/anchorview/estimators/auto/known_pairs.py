"""Pairs of samples that are known to be in the same or in different clusters."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array
from anchorview.estimators.auto.known_labels import UNKNOWN, KnownLabels

TINY = 1e-12
"""Smallest probability whose logarithm is taken."""


@dataclass(frozen=True, eq=False)
class PairedLabels(KnownLabels):
    """Samples of which classes or pairs are known; the class of some is still unknown."""

    groups: Array
    """Group of each sample: those of a group have the same class."""
    different: Array
    """Pairs of groups that have different classes, (n_pairs, 2)."""

    def assigned(self, probabilities: Array, places: Array) -> Self:
        """Classes of all groups, the most certain first, so that no pair is broken.

        `probabilities` are those of the samples at some places.
        """
        n_groups, k = 1 + int(self.groups.max()), probabilities.shape[1]
        scores = np.zeros((n_groups, k))
        np.add.at(scores, self.groups[places], np.log(np.maximum(probabilities, TINY)))
        classes = np.full(n_groups, UNKNOWN)
        classes[self.groups[self.given]] = self.codes[self.given]
        best = np.sort(scores, axis=1)
        for group in np.argsort(best[:, -2] - best[:, -1], kind="stable"):
            if classes[group] == UNKNOWN:
                classes[group] = self._best(int(group), scores[group], classes)
        return replace(self, codes=classes[self.groups].astype(np.int32))

    def _best(self, group: int, scores: Array, classes: Array) -> int:
        """Most likely class of a group that those it differs from do not have."""
        here = self.different == group
        others = classes[self.different[:, ::-1][here]]
        possible = np.setdiff1d(np.arange(len(scores)), others)
        if not len(possible):
            raise ValueError(
                f"different: the pairs need more than {len(scores)} clusters. Give a larger "
                "n_clusters, or leave out some of the pairs."
            )
        return int(possible[scores[possible].argmax()])


def with_pairs(
    known: KnownLabels | None,
    same: Iterable[tuple[Any, Any]],
    different: Iterable[tuple[Any, Any]],
    ids: "pd.Index[Any] | None",
    kept: Array,
) -> KnownLabels | None:
    """Known classes and pairs of samples; `kept` says which samples are fitted."""
    index = pd.RangeIndex(len(kept)) if ids is None else ids
    joined, apart = (
        _rows(own, index, what) for own, what in ((same, "same"), (different, "different"))
    )
    if not len(joined) and not len(apart):
        return known
    n, labeled = len(kept), np.full(len(kept), UNKNOWN)
    if known is not None:
        labeled[np.flatnonzero(kept)[known.rows]] = known.codes
    graph = sparse.coo_array((np.ones(len(joined)), joined.T), shape=(n, n))
    _, groups = connected_components(graph, directed=False)
    classes = _group_classes(groups, labeled, index)
    for first, second in apart:
        a, b = groups[[first, second]]
        if a == b or classes[a] == classes[b] != UNKNOWN:
            why = "of the same class by y" if a != b else "joined by same"
            raise ValueError(
                f"different: the samples {quoted(index[first])} and {quoted(index[second])} are "
                f"{why}. Leave out one of the two."
            )
    labeled = classes[groups]
    concerned = labeled != UNKNOWN
    concerned[np.concatenate([joined.ravel(), apart.ravel()])] = True
    rows = np.flatnonzero(concerned & kept)
    together = np.concatenate([groups[rows], groups[apart].ravel()])
    own = np.unique(together, return_inverse=True)[1]
    codes, names = labeled[rows].astype(np.int32), known.names if known is not None else ()
    return PairedLabels(
        (np.cumsum(kept) - 1)[rows].astype(np.int32),
        codes,
        names,
        codes != UNKNOWN,
        own[: len(rows)],
        own[len(rows) :].reshape(-1, 2),
    )


def _rows(pairs: Iterable[tuple[Any, Any]], index: "pd.Index[Any]", what: str) -> Array:
    """Rows of the samples of pairs, (n_pairs, 2)."""
    given = [tuple(pair) for pair in pairs]
    if any(len(pair) != 2 for pair in given):
        raise ValueError(f"{what} has an entry that is no pair. Give pairs of ids or positions.")
    flat = [sample for pair in given for sample in pair]
    rows = index.get_indexer(pd.Index(flat)) if flat else np.empty(0, int)
    if (rows < 0).any():
        sample = flat[int((rows < 0).argmax())]
        raise ValueError(f"{what}: there is no sample {quoted(sample)} in X.")
    return np.asarray(rows).reshape(-1, 2)


def _group_classes(groups: Array, labeled: Array, index: "pd.Index[Any]") -> Array:
    """Class of each group; raises if one has several."""
    classes = np.full(1 + int(groups.max()), UNKNOWN)
    first = np.zeros_like(classes)
    for row in np.flatnonzero(labeled != UNKNOWN):
        group = groups[row]
        if classes[group] not in (UNKNOWN, labeled[row]):
            one, other = (quoted(index[int(own)]) for own in (first[group], row))
            raise ValueError(
                f"same: the samples {one} and {other} are joined by pairs, but have different "
                "classes in y. Leave out a pair or a class."
            )
        classes[group], first[group] = labeled[row], row
    return classes
