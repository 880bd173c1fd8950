"""What is known about some samples of a fit: their classes, and pairs in one or two clusters."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from operator import add
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from anchorview._utils.text import listed, quoted
from anchorview._utils.typing import Array
from anchorview.estimators.relabeling import Relabeling
from anchorview.views.alignment import matched_rows
from anchorview.views.container import MultiViewData, concatenate_samples
from anchorview.views.row_source import RowSource, selected_rows
from anchorview.views.sample_design import values_of_obs

UNKNOWN = -1
"""Class of samples whose class is not known, as in :mod:`sklearn.semi_supervised`."""

MAX_KNOWN = 5_000
"""Maximum number of known samples that the model of the classes is fitted to."""

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Known classes of some samples."""

    rows: Array
    """Positions of the samples, ascending."""
    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]
    """Names of the classes; none if classes are numbers of clusters."""
    given: npt.NDArray[np.bool_]
    """Which of the classes are known from the start."""

    def assigned(self, probabilities: Array, places: Array) -> "KnownLabels":
        """Classes of all of the samples, by probabilities of those at some places."""
        return self

    def of(self, source: RowSource, views: Sequence[int]) -> tuple[MultiViewData, Array]:
        """Views of known samples, or of as many as are enough, and their places among them."""
        chosen = np.arange(len(self.rows))
        if len(chosen) > MAX_KNOWN and self.given.all():
            chosen = np.sort(np.random.default_rng(0).choice(chosen, MAX_KNOWN, replace=False))
        chosen_rows = partial(selected_rows, self.rows[chosen])
        samples = source.reduce(chosen_rows, add, "reading the labeled samples")
        data = concatenate_samples(*samples).with_views(tuple(views))
        has = data.known_samples
        return (data, chosen) if has is None else (data[has], chosen[has])

    def kept(self, labels: Any, second: Any, confidence: Any) -> tuple[Any, Any, Any]:
        """Results in which known samples keep their class; files are changed in place.

        Their second cluster is the one that the model would give them, if this is another one.
        """
        known = np.full(len(labels), UNKNOWN, np.int32)
        known[self.rows] = self.codes
        certain = np.zeros(len(labels), dtype=bool)
        certain[self.labeled_rows] = True
        # Before the file of the labels changes.
        agrees = (known == UNKNOWN) | (known == labels)
        second = _stored(second, np.where(agrees, second, labels))
        labels = _stored(labels, np.where(known == UNKNOWN, labels, known))
        return labels, second, _stored(confidence, np.where(certain, 1.0, confidence))

    @property
    def labeled_rows(self) -> Array:
        """Positions of the samples with a known class."""
        return self.rows[self.given]

    @property
    def fewest(self) -> int:
        """Smallest number of clusters."""
        return len(self.names) or int(self.codes.max()) + 1

    def fits(self, requested: Sequence[int], n_samples: int) -> bool:
        """Whether there can be as many clusters as classes; those of all may be for scores only."""
        if not requested or self.fewest <= requested[-1]:
            return True
        problem = f"y has {self.fewest} classes, but n_clusters is at most {requested[-1]}"
        if len(self.rows) < n_samples:
            raise ValueError(
                f"{problem}. Give at least n_clusters={self.fewest}; a larger number adds clusters "
                "without a class."
            )
        warnings.warn(f"y is ignored: {problem}.", stacklevel=5)
        return False

    def numbers(self, requested: Sequence[int]) -> Sequence[int]:
        """Numbers of clusters to choose from; as many as classes if none is requested."""
        if requested:
            return [number for number in requested if number >= self.fewest]
        return [self.fewest] if self.fewest > 1 else []

    def relabeling(self, n_clusters: int) -> Relabeling | None:
        """Names of the clusters, which methods return; None if classes have no names."""
        if not self.names:
            return None
        names = self.names + ("",) * (n_clusters - len(self.names))
        return Relabeling(np.arange(n_clusters, dtype=np.int32), names, "names")


def _stored(values: Any, changed: Any) -> Any:
    """Return changed values, written to the file of the values before if they have one."""
    if not isinstance(values, np.memmap):
        return changed
    assert values.filename is not None
    written = np.load(values.filename, mmap_mode="r+")
    written[:] = changed
    written.flush()
    return values


def known_labels(
    y: Any, X: Any, ids: "pd.Index[Any] | None", kept: Array, fewest: int
) -> KnownLabels | None:
    """Known classes of the samples that are `kept`, matched by id or position; None without any.

    Integers below `fewest`, the smallest number that was asked for, are numbers of clusters.
    """
    if y is None:
        return None
    given: Any = values_of_obs(y, X, "y")
    given = given.squeeze(axis=1) if isinstance(given, pd.DataFrame) else given
    index = given.index if isinstance(given, pd.Series) else None
    values: Any = pd.Series(np.asarray(given, dtype=object).ravel(), index, dtype=object)
    values = values.where(values.notna() & ~values.isin([UNKNOWN, str(UNKNOWN)]), None)
    if index is not None and ids is None and pd.api.types.is_integer_dtype(index.dtype):
        # Positions in place of ids.
        ids = pd.RangeIndex(len(kept))
    if index is not None and ids is not None and not isinstance(index, pd.RangeIndex):
        unknown = values.dropna().index.difference(ids).tolist()
        if unknown:
            raise ValueError(
                f"y has classes of {len(unknown)} samples that are not in X: {listed(unknown)}. "
                "Leave them out of y, or add them to X."
            )
    rows = matched_rows((ids, len(kept), "X"), (index, len(values), "y"), partial=True)
    aligned = values.to_numpy()[rows]
    aligned[rows < 0] = None
    aligned = aligned[kept]
    known = np.flatnonzero(pd.notna(aligned)).astype(np.int32)
    if not len(known):
        return None
    names, codes = _codes(aligned[known], fewest)
    return KnownLabels(known, codes, names, np.ones(len(known), dtype=bool))


def _codes(values: Array, fewest: int) -> tuple[tuple[str, ...], Array]:
    """Names of classes, and the class of each value; without names, classes are integers."""
    numeric = [isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in values]
    if all(numeric):
        numbers = values.astype(float)
        broken = numbers[(numbers != np.round(numbers)) | (numbers < 0)]
        if len(broken):
            raise ValueError(
                f"y has the value {broken[0]:g}, which is no class: give texts or whole numbers "
                "from 0 on, and -1, None or NaN for samples whose class is not known."
            )
        classes, codes = np.unique(numbers.astype(np.int64), return_inverse=True)
        if classes[-1] < max(len(classes), fewest):
            return (), numbers.astype(np.int32)
        return tuple(f"class {number}" for number in classes), codes.astype(np.int32)
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    return tuple(texts.tolist()), codes.astype(np.int32)


# Pairs


@dataclass(frozen=True, eq=False)
class PairedLabels(KnownLabels):
    """Samples of which classes or pairs are known; the class of some is still unknown."""

    groups: Array
    """Group of each sample: those of a group have the same class."""
    different: Array
    """Pairs of groups that have different classes, (n_pairs, 2)."""

    def assigned(self, probabilities: Array, places: Array) -> Self:
        """Classes of all groups, the most certain first, so that no pair is broken."""
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
    joined, apart = _rows(same, index, "same"), _rows(different, index, "different")
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
    own, pairs = own[: len(rows)], own[len(rows) :].reshape(-1, 2)
    codes, names = labeled[rows].astype(np.int32), () if known is None else known.names
    rows = (np.cumsum(kept) - 1)[rows].astype(np.int32)
    return PairedLabels(rows, codes, names, codes != UNKNOWN, own, pairs)


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
    rows = np.flatnonzero(labeled != UNKNOWN)
    first = np.full(1 + int(groups.max()), -1)
    # Of the known samples of a group, the first is written last.
    first[groups[rows[::-1]]] = rows[::-1]
    classes = np.where(first < 0, UNKNOWN, labeled[first])
    wrong = rows[labeled[rows] != classes[groups[rows]]]
    if len(wrong):
        one, other = (quoted(index[int(row)]) for row in (first[groups[wrong[0]]], wrong[0]))
        raise ValueError(
            f"same: the samples {one} and {other} are joined by pairs, but have different classes "
            "in y. Leave out a pair or a class."
        )
    return classes
