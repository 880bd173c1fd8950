"""What is known about some samples of a fit: their classes."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anchorview._utils.text import listed
from anchorview._utils.typing import Array
from anchorview.estimators.relabeling import Relabeling, by_block
from anchorview.views.alignment import matched_rows
from anchorview.views.container import MultiViewData, concatenate_samples
from anchorview.views.row_source import RowSource, selected_rows
from anchorview.views.sample_design import values_of_obs

UNKNOWN = -1
"""Class of samples whose class is not known, as in :mod:`sklearn.semi_supervised`."""

MAX_KNOWN = 5_000
"""Maximum number of known samples that the model of the classes is fitted to."""


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Known classes of some samples."""

    rows: Array
    """Positions of the samples, ascending."""
    codes: npt.NDArray[np.int32]
    """Classes of these samples."""
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
        if data.available is None or (has := data.available.any(axis=1)).all():
            return data, chosen
        return data[has], chosen[has]

    def kept(self, labels: Any, second: Any, confidence: Any) -> tuple[Any, Any, Any]:
        """Results of all samples, in which those that are known keep their class.

        Their second cluster is the one that the model would give them, if this is another one.
        Files are changed in place.
        """
        known: Any = np.full(len(labels), UNKNOWN, np.int32)
        given = known.copy()
        known[self.rows] = self.codes
        given[self.labeled_rows] = 0
        if hasattr(labels, "map_blocks"):
            from dask.array import from_array

            known, given = (from_array(own, labels.chunks) for own in (known, given))
        return (
            _stored(labels, by_block(_kept, labels, known)),
            _stored(second, by_block(_second_of_known, second, labels, known)),
            _stored(confidence, by_block(_certain_if_known, confidence, given, dtype=np.float64)),
        )

    @property
    def labeled_rows(self) -> Array:
        """Positions of the samples with a known class."""
        return self.rows[self.given]

    @property
    def fewest(self) -> int:
        """Smallest number of clusters."""
        return len(self.names) or int(self.codes.max()) + 1

    def fits(self, requested: Sequence[int], n_samples: int) -> bool:
        """Whether there can be as many clusters as classes.

        Classes of all samples may be meant for scores only: then there is a warning, else an error.
        """
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
        clusters = np.arange(n_clusters, dtype=np.int32)
        rest = ("",) * (n_clusters - len(self.names))
        return Relabeling(clusters, self.names + rest, "names")


def _kept(labels: Array, known: Array) -> Array:
    return np.where(known == UNKNOWN, labels, known)


def _second_of_known(second: Array, labels: Array, known: Array) -> Array:
    return np.where((known == UNKNOWN) | (known == labels), second, labels)


def _certain_if_known(confidence: Array, known: Array) -> Array:
    return np.where(known == UNKNOWN, confidence, 1.0)


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
    y: Any, X: Any, ids: "pd.Index[Any] | None", n_samples: int, kept: Array, fewest: int
) -> KnownLabels | None:
    """Known classes of samples, which are matched by id or position; None without any.

    `kept` says which samples are fitted; integers below `fewest`, the smallest number
    of clusters that was asked for, are numbers of clusters.
    """
    if y is None:
        return None
    given: Any = values_of_obs(y, X, "y")
    given = given.squeeze(axis=1) if isinstance(given, pd.DataFrame) else given
    index = getattr(given, "index", None) if isinstance(given, pd.Series) else None
    values: Any = pd.Series(np.asarray(given, dtype=object).ravel(), index, dtype=object)
    values = values.where(values.notna() & ~values.isin([UNKNOWN, str(UNKNOWN)]), None)
    if index is not None and ids is None and pd.api.types.is_integer_dtype(index.dtype):
        # Positions in place of ids.
        ids = pd.RangeIndex(n_samples)
    if index is not None and ids is not None and not isinstance(index, pd.RangeIndex):
        unknown = values.dropna().index.difference(ids).tolist()
        if unknown:
            raise ValueError(
                f"y has classes of {len(unknown)} samples that are not in X: {listed(unknown)}. "
                "Leave them out of y, or add them to X."
            )
    rows = matched_rows((ids, n_samples, "X"), (index, len(values), "y"), partial=True)
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
