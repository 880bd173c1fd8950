"""The interface of a source: the same samples in several views, wherever their rows are.

Samples are processed part by part; those in memory are one part. A stage of the algorithm is a
function of a part, which returns a few numbers, and a way to merge these.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from anchorview._utils.text import describe_view
from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.sample_design import SampleDesign

if TYPE_CHECKING:
    from anchorview.views.anndata_matrices import PlainSelection
    from anchorview.views.container import MultiViewData
    from anchorview.views.input_grammar import NamedViews

CACHED_BLOCK = 4 * 2**20
"""Bytes of a row block that stays in the processor's cache while it is scaled."""

LARGEST_BLOCK = 64 * 2**20
"""Maximum number of bytes of a row block, however many features there are."""

PROBLEMS = {
    "missing": "is missing for all samples. Leave it out.",
    "constant": "is constant: every sample has the same values. Leave this view out.",
    "zero": "is zero after scaling. Leave this view out, or multiply it by a constant if its "
    "values are tiny.",
    "overflow": "overflows {dtype}: its values are too large to be squared; rescale the view.",
}
"""Why a view cannot be used, and what to do."""

Result = TypeVar("Result")
Second = TypeVar("Second")
PartFunction = Callable[["MultiViewData"], Result]
RowFunction = Callable[["MultiViewData"], Array]
Merge = Callable[[Result, Result], Result]
Features = tuple[tuple[int, ...], tuple[FeatureNames | None, ...], "np.dtype[Any]"]
"""Widths of views, names of their features, and the precision in which they are multiplied."""


class Records(NamedTuple, Generic[Result]):
    """Several results per sample, which are computed in one pass."""

    function: RowFunction
    """Returns one record per sample of a part."""
    dtype: "np.dtype[Any]"
    summary: Callable[[Array], Result]
    """Returns a summary of the records of a part; those of all parts are merged in order."""
    merge: Merge[Result]


class RowSource:
    """Views of samples that are processed in parts; a part is a container in memory."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given by the user; otherwise they are ``view_0``, ``view_1``..."""
    feature_names: tuple[FeatureNames | None, ...]
    """Names of the features of each view; None for a view without."""
    n_features_per_view: tuple[int, ...]
    shape: tuple[int, int]
    """Number of samples, and number of features over all views."""
    dtype: "np.dtype[Any]"
    """Precision in which row blocks are multiplied: float32 if it holds every view exactly."""
    rows_per_block: int
    """Number of rows that are scaled and multiplied together."""
    sample_ids: "pd.Index[Any] | None" = None
    design: SampleDesign | None = None
    """Batch and covariates of each sample; parts have those of their samples."""
    sample_weight: Array | None = None
    """Weight of each sample in sums over samples; None if all weigh 1. Parts have theirs."""
    table_kinds: dict[int, tuple[str, ...]]
    """Kinds of the columns of views that are tables, of which transformers make numbers."""
    hints_at_counts: bool = False
    """Whether a warning names views of raw counts, since none are preprocessed."""

    def set_schema(self, given: "NamedViews", matrices: Sequence[Any]) -> None:
        """Set what is known of views from matrices of their shapes and types, or None."""
        self.names, self.named, self.feature_names = given.names, given.named, given.feature_names
        self.selection = given.selection
        self.n_features_per_view = tuple(0 if m is None else int(m.shape[1]) for m in matrices)
        n = next(int(matrix.shape[0]) for matrix in matrices if matrix is not None)
        self.shape = n, sum(self.n_features_per_view)
        self.dtype = working_precision(m.dtype for m in matrices if m is not None)
        self.rows_per_block = rows_per_block(self.shape[1], self.dtype)
        # A view on disk may be a table, too.
        kinds = {p: getattr(matrix, "kinds", ()) for p, matrix in enumerate(matrices)}
        self.table_kinds = {p: of_view for p, of_view in kinds.items() if of_view}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of samples if there are none."""
        return float(len(self) if self.sample_weight is None else self.sample_weight.sum())

    def counted(self) -> "RowSource":
        """Source without the samples of weight zero."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.prepared(_counted)

    # Samples in memory are one part; sources of several parts override what follows.

    selection: "PlainSelection | None" = None
    """What was selected to be the views, as `views` of `fit` says it."""
    in_parts: bool = False
    """Whether the samples are read and processed part by part."""
    keeps_results: bool = True
    """Whether results stay in this process; else workers have them."""

    def read(self: Any) -> "MultiViewData":
        """All samples, in memory; raises if they do not fit."""
        return self

    def require_output_folder(self, out: Path) -> None:
        """Raise if results cannot be written to a folder, or would replace the views."""
        raise ValueError(
            "out= writes results part by part, which needs data that are read in parts: "
            "use solver='compressed', give more samples than features, or do not pass out=."
        )

    def for_each_part(self: Any, function: PartFunction[None], stage: str) -> None:
        """Call a function with all parts, one after the other, in this process."""
        function(self)

    def reduce(self, function: PartFunction[Result], merge: Merge[Result], stage: str) -> Result:
        """``function`` of all parts, merged in order; the first pass checks the views as well."""
        return self.reduce_as_is(function, merge, stage)

    def reduce_as_is(
        self: Any, function: PartFunction[Result], merge: Merge[Result], stage: str
    ) -> Result:
        """As `reduce`, without checks: views may be missing or constant."""
        return function(self)

    known_samples: Array | None = None
    """Which samples have any view; None if all have, or if this is found when parts are read."""

    def map_rows(
        self: Any, function: RowFunction, width: int | None, dtype: Any, stage: str, out: Any
    ) -> Any:
        """Rows that a function computes of the samples, with `width` columns (None: a vector).

        They are returned in the form of the source, or as a memory map of the file `out`. Samples
        without any view have -1 or NaN.
        """
        return of_known_samples(function, width, dtype, self)

    def map_fields(
        self: Any, records: Records[Result], fields: Sequence[str], out: Path | None
    ) -> tuple[dict[str, Any], Result]:
        """The `fields` of results per sample, as `map_rows` returns them, and a summary of them."""
        rows = of_known_samples(records.function, None, records.dtype, self)
        return {name: np.ascontiguousarray(rows[name]) for name in fields}, records.summary(rows)

    def prepared(
        self: Any, function: "PartFunction[MultiViewData]", features: Features | None = None
    ) -> "RowSource":
        """Source of a function of every part; `features` are those of its views, if others."""
        return function(self)

    def first_rows(self, count: int) -> "MultiViewData":
        """Some of the first samples in which each view occurs, if it does."""
        return cast("MultiViewData", self)

    def describe_view(self, p: int) -> str:
        """Return how messages name a view."""
        return describe_view(p, self.names[p])

    def problem(self, kind: str, p: int) -> str:
        """Message for a view that cannot be used, by a key of `PROBLEMS`."""
        return f"{self.describe_view(p)} {PROBLEMS[kind].format(dtype=self.dtype)}"


def of_known_samples(
    function: RowFunction, width: int | None, dtype: Any, part: "MultiViewData"
) -> Array:
    """Rows that a function computes of the samples with any view; -1 or NaN for the rest."""
    known = part.known_samples
    if known is None:
        return function(part)
    warn_of_unknown(part)
    no_rows = np.empty((0,) if width is None else (0, width), dtype)
    return restored_rows(function(part[known]) if known.any() else no_rows, known)


def warn_of_unknown(part: "MultiViewData") -> None:
    """Count the samples without any view in a warning."""
    known = part.known_samples
    assert known is not None
    warnings.warn(
        f"{(~known).sum()} of {len(known)} samples have no value in any view, the first at "
        f"{part.sample_at(int(known.argmin()))}. They belong to no cluster: their label is -1.",
        stacklevel=2,
    )


def restored_rows(rows: Array, known: Array) -> Array:
    """Rows of some samples among those of all, for which -1 or NaN stands."""
    restored = np.zeros((len(known), *rows.shape[1:]), rows.dtype)
    names = rows.dtype.names
    for values in [restored] if names is None else map(restored.__getitem__, names):
        values[~known] = np.nan if values.dtype.kind == "f" else -1
    restored[known] = rows
    return restored


def _counted(part: "MultiViewData") -> "MultiViewData":
    assert part.sample_weight is not None
    return part.selected(part.sample_weight > 0)


def both(
    first: PartFunction[Result], second: PartFunction[Second], part: "MultiViewData"
) -> tuple[Result, Second]:
    """Two results of a part, for a pass that finds both."""
    return first(part), second(part)


def merge_both(
    first: Merge[Result],
    second: Merge[Second],
    a: tuple[Result, Second],
    b: tuple[Result, Second],
) -> tuple[Result, Second]:
    """Two results of each of two sets of samples, merged."""
    return first(a[0], b[0]), second(a[1], b[1])


def selected_rows(rows: Array, part: "MultiViewData") -> "list[MultiViewData]":
    """Samples of a part at ascending positions in the source; a list without any if there are none.

    The list has one container, so that those of several parts can be added up.
    """
    first, last = np.searchsorted(rows, [part.first_row, part.first_row + len(part)])
    return [part[rows[first:last] - part.first_row]] if last > first else []


def rows_per_block(width: int, dtype: "np.dtype[Any]") -> int:
    """Number of rows with `width` features that are scaled and multiplied together.

    In single precision this number changes the last digits of sums: parts that begin at multiples
    of it give the same sums as all rows at once.
    """
    row_bytes = max(1, width * dtype.itemsize)
    # With twice as many rows as features, adding up a Gram block is cheap beside computing it.
    wanted = max(CACHED_BLOCK // row_bytes, 2 * width)
    return int(max(1, min(wanted, LARGEST_BLOCK // row_bytes)))


def working_precision(dtypes: Iterable["np.dtype[Any]"]) -> "np.dtype[Any]":
    """Precision in which row blocks of views are multiplied: float32 if it holds these types."""
    return np.result_type(np.float32, *dtypes)
