"""Preparation of views before they are scaled: one transformer per view, fitted and saved.

Transformers are those of :mod:`anchorview.preprocessing`, by name, or any other of scikit-learn's
form. A table with categories, or with missing cells, has one by default.
"""

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from anchorview._utils.errors import errors_of
from anchorview._utils.text import describe_view, quoted
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.preprocessing import (
    CellImputer,
    CenteredLogRatio,
    LogNormalizer,
    PeakTfidf,
    Similarity,
    TableEncoder,
    WordTfidf,
)
from anchorview.preprocessing.view_transformer import CountTransformer, ViewTransformer
from anchorview.views.alignment import reindex_rows
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.fitted_views import NUMBERS, FittedColumns
from anchorview.views.row_source import RowSource, working_precision
from anchorview.views.table_columns import NUMERIC, TEXTS, TableView

ENCODERS = TableEncoder, WordTfidf
"""Transformers that make numbers of tables."""

STEPS: dict[str, ViewTransformer | Similarity] = {
    "lognorm": LogNormalizer(),
    "clr": CenteredLogRatio(),
    "tfidf": PeakTfidf(),
    "impute-mean": CellImputer("mean"),
    "impute-median": CellImputer("median"),
    "table": TableEncoder(),
    "words": WordTfidf(),
    "kernel": Similarity("kernel"),
    "distance": Similarity("distance"),
    "graph": Similarity("graph"),
}
"""Transformers by the names that `preprocess` takes."""

Step: TypeAlias = "str | Any | None"
"""A name of `STEPS`, or a transformer."""
Preprocess: TypeAlias = "Step | Mapping[str, Step]"

TEXTS_EXAMINED = 1000
"""Number of rows that show whether a column is one of texts."""

FIT_ROWS = 100
"""Number of rows that show what a transformer returns."""


def step_name(step: Any) -> str:
    """Name of a fitted step, or of its class if it has none."""
    for name, known in STEPS.items():
        if type(known) is type(step) and known.get_params() == step.get_params():
            return name
    return type(step).__name__


def _transformer(step: Step, parameter: str) -> Any:
    if isinstance(step, str):
        if step not in STEPS:
            allowed = ", ".join(map(repr, STEPS))
            raise ValueError(
                f"{parameter} is {step!r}, but must be {allowed}, a transformer or None."
            )
        step = STEPS[step]
    if step is None:
        return None
    methods = ("fit", "transform", "get_params")
    if isinstance(step, type) or not all(hasattr(step, name) for name in methods):
        raise TypeError(
            f"{parameter} is of type {type(step).__name__}, which is no transformer. Pass an "
            f"instance of a class with {', '.join(methods)}."
        )
    return clone(step)


def steps_by_view(preprocess: Preprocess, source: RowSource) -> list[Any]:
    """Unfitted transformers in the order of the views; raises if there are no such views."""
    names = source.names
    if isinstance(preprocess, Mapping):
        unknown = [name for name in preprocess if name not in names]
        if unknown:
            raise ValueError(
                f"preprocess names the view {unknown[0]!r}, but the views are {list(names)}."
            )
        steps = [_transformer(preprocess.get(name), f"preprocess[{name!r}]") for name in names]
    else:
        steps = [_transformer(preprocess, "preprocess") for _ in names]
    for p, kinds in source.table_kinds.items():
        if steps[p] is None:
            steps[p] = _default_step(source, p, kinds)
    return steps


def _default_step(source: RowSource, p: int, kinds: tuple[str, ...]) -> ViewTransformer:
    """Transformer of a table that was given none."""
    if set(kinds) <= NUMERIC:
        return CellImputer()
    if kinds != TEXTS:
        return TableEncoder()
    first = source.first_rows(TEXTS_EXAMINED)
    texts = first.views[p][first.rows_with(p)].frame.iloc[:, 0].astype(str)
    if 2 * texts.nunique() < len(texts) or 2 * texts.str.contains(r"\s").sum() < len(texts):
        return TableEncoder()
    warnings.warn(
        f"{source.describe_view(p)} holds texts: its features are their words (TF-IDF). Pass "
        f"preprocess={{{source.names[p]!r}: 'words'}} to say so, or another transformer.",
        UserWarning,
        stacklevel=2,
    )
    return WordTfidf()


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done with samples before they are scaled."""

    steps: tuple[Any, ...]
    """Fitted transformers; None for a view that is used as it is."""
    widths: tuple[int, ...]
    feature_names: tuple[FeatureNames | None, ...]
    """Features of the prepared views."""
    dtype: "np.dtype[Any]"
    """Precision in which prepared views that are read in parts are multiplied."""

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Prepared samples; raises if a value is missing, or a count is negative."""
        views = list(data.views)
        for p, step in enumerate(self.steps):
            if step is not None:
                views[p] = self._transformed(data, p, step)
            elif isinstance(views[p], TableView):
                views[p] = views[p].values()
        return container_with_views(data, tuple(views), self.feature_names)

    @property
    def columns(self) -> tuple[FittedColumns | None, ...]:
        """Types of the columns that the transformers take; None if a foreign one takes any."""
        return tuple(map(_columns_of, self.steps))

    def require_nothing_learned(self, names: tuple[str, ...]) -> None:
        """Raise if a transformer has learned from the first chunk of samples."""
        for p, (step, name) in enumerate(zip(self.steps, names, strict=True)):
            if learns(step):
                raise ValueError(
                    f"{describe_view(p, name)}: {step_name(step)} would learn from the first chunk "
                    "only, so the model would not be that of fit. Fit it before, and pass it as "
                    "sklearn.frozen.FrozenEstimator, or use fit, which reads files in parts."
                )

    def encode_tables(self, data: MultiViewData) -> MultiViewData:
        """Samples with numbers in place of tables with categories, and all else as it is."""
        views = [
            self._transformed(data, p, step) if isinstance(step, ENCODERS) else data.views[p]
            for p, step in enumerate(self.steps)
        ]
        return container_with_views(data, tuple(views), self.feature_names, nan_cells=True)

    def _transformed(self, data: MultiViewData, p: int, step: Any) -> Matrix:
        rows = data.rows_with(p)
        if not len(rows):
            return sparse.csr_array((len(data), self.widths[p]), dtype=np.float32)
        place = np.full(len(data), -1)
        place[rows] = np.arange(len(rows))
        result = transformed(data, p, step, rows)
        if result.shape[1] != self.widths[p]:
            raise ValueError(
                f"{data.describe_view(p)}: {step_name(step)} returned {result.shape[1]} features, "
                f"but {self.widths[p]} in fit. A transformer must return the same features for all "
                "samples."
            )
        return cast(Matrix, reindex_rows(result, place))


def _columns_of(step: Any) -> FittedColumns | None:
    if isinstance(step, TableEncoder):
        return step.fitted_columns
    if isinstance(step, WordTfidf):
        return None
    return NUMBERS if step is None or isinstance(step, ViewTransformer | Similarity) else None


def fit_preparation(source: RowSource, preprocess: Preprocess) -> Preparation | None:
    """Fit the transformers of the views; None if there are none."""
    by_view = enumerate(steps_by_view(preprocess, source))
    steps = {p: step for p, step in by_view if step is not None}
    if not steps:
        return None
    first = None
    if not all(isinstance(step, ViewTransformer) for step in steps.values()):
        first = source.first_rows(FIT_ROWS)
    fitted = _fitted_steps(source, steps, first)
    widths, names = list(source.n_features_per_view), list(source.feature_names)
    dtypes = [source.dtype]
    for p, step in fitted.items():
        if isinstance(step, ENCODERS):
            with errors_of(source.describe_view(p)):
                encoded = step.get_feature_names_out()
            names[p], widths[p] = encoded, len(encoded)
            dtypes.append(np.dtype(step.dtype))
            if isinstance(step, TableEncoder):
                _warn_of_written_numbers(step, source.describe_view(p))
        elif isinstance(step, CellImputer):
            with errors_of(source.describe_view(p)):
                step.require_values(names[p])
        elif not isinstance(step, ViewTransformer):
            assert first is not None
            shown = transformed(first, p, step, first.rows_with(p)[:FIT_ROWS])
            widths[p], names[p] = shown.shape[1], _names_out(step, shown.shape[1])
            dtypes.append(shown.dtype)
        if not widths[p]:
            raise ValueError(source.problem("constant", p))
    steps_or_none = tuple(map(fitted.get, range(len(names))))
    return Preparation(steps_or_none, tuple(widths), tuple(names), working_precision(dtypes))


def _warn_of_written_numbers(step: TableEncoder, view: str) -> None:
    for name, example in step.written_numbers.items():
        warnings.warn(
            f"{view}: column {name!r} has texts such as {example!r}, which are used as categories. "
            "Convert the column if these are numbers or dates; as type category (categorical= for "
            "files) it is used without this warning.",
            UserWarning,
            stacklevel=2,
        )


def learns(step: Any) -> bool:
    """Whether a transformer learns from the samples of `fit`."""
    stateless = isinstance(step, CenteredLogRatio | FrozenEstimator)
    return step is not None and not stateless and bool(get_tags(step).requires_fit)


def prepare(source: RowSource, preparation: Preparation) -> RowSource:
    """Source of prepared samples."""
    features = preparation.widths, preparation.feature_names, preparation.dtype
    return source.prepared(preparation, features)


def words_of_texts(model: Any, source: RowSource, names: tuple[str, ...]) -> Preparation | None:
    """What puts weights of words in place of texts, as a model does; None if it does not.

    `names` are those of the views of the source. All other views stay as they are.
    """
    known = getattr(model, "preprocessing_", None) or ()
    fitted = dict(zip(model.view_names_in_, known, strict=False))
    texts = {p: fitted.get(names[p]) for p, kinds in source.table_kinds.items() if kinds == TEXTS}
    steps = {p: step for p, step in texts.items() if isinstance(step, WordTfidf)}
    if not steps:
        return None
    features, widths = list(source.feature_names), list(source.n_features_per_view)
    for p, step in steps.items():
        features[p], widths[p] = step.words_, len(step.words_)
    steps_or_none = tuple(map(steps.get, range(len(names))))
    return Preparation(steps_or_none, tuple(widths), tuple(features), source.dtype)


def _names_out(step: Any, width: int) -> FeatureNames | None:
    try:
        out = np.asarray(step.get_feature_names_out(), dtype=object)
    # Transformers without names of features raise various errors.
    except Exception:
        return None
    return out if len(out) == width else None


def _fitted_to(data: MultiViewData, p: int, step: Any, rows: Array) -> Any:
    _require_counts(data, p, step)
    with errors_of(data.describe_view(p)):
        if isinstance(step, Similarity):
            return step.fit(_input(data, p, step, rows), samples=_columns_of_samples(data, p)[rows])
        return step.fit(_input(data, p, step, rows), None)


def _columns_of_samples(data: MultiViewData, p: int) -> Array:
    """Columns of a square view that are the samples, by id if columns have names."""
    names, ids, width = data.feature_names[p], data.sample_ids, data.views[p].shape[1]
    if names is not None and ids is not None:
        columns = pd.Index(names).get_indexer(pd.Index(ids.map(str)))
        if (missing := np.flatnonzero(columns < 0)).size:
            raise ValueError(f"no column has the id {quoted(ids[missing[0]])} of a sample.")
        return columns
    columns, count = (np.arange(len(data)), len(data)) if data.whole is None else data.whole
    if width != count:
        raise ValueError(
            f"the view has {width} columns, but must be square: a row and a column for each "
            "sample, in the same order. Select samples by MultiViewData(views)[rows]."
        )
    return columns


def _fitted_steps(
    source: RowSource, steps: dict[int, Any], first: MultiViewData | None
) -> dict[int, Any]:
    """Fitted transformers; of samples in parts they are merged, or see one part after the other."""
    at_once, part_by_part = {}, {}
    for p, step in steps.items():
        if not source.in_parts or (isinstance(step, ViewTransformer) and hasattr(step, "merge")):
            at_once[p] = step
        elif hasattr(step, "partial_fit") and learns(step):
            part_by_part[p] = step
        elif learns(step):
            raise ValueError(
                f"{source.describe_view(p)}: {step_name(step)} needs all samples in memory, but "
                "the views are read in parts. Use a transformer with partial_fit, transform the "
                "view beforehand, or read it into memory."
            )
    ready = {p: step for p, step in steps.items() if p not in at_once and p not in part_by_part}
    found: dict[int, Any] = {} if first is None else _fitted_part(ready, first)

    def add(part: MultiViewData) -> None:
        for p, step in part_by_part.items():
            if len(rows := part.rows_with(p)):
                found[p] = step
                with errors_of(part.describe_view(p)):
                    step.partial_fit(_input(part, p, step, rows))

    if at_once:
        fit_part = partial(_fitted_part, at_once)
        fitted: dict[int, Any] = source.reduce_as_is(fit_part, _merge_steps, "preprocessing")
        found |= fitted
    if part_by_part:
        source.for_each_part(add, "preprocessing")
    for p in steps:
        if p not in found:
            raise ValueError(source.problem("missing", p))
    return found


def _fitted_part(steps: dict[int, Any], part: MultiViewData) -> dict[int, Any]:
    rows = {p: part.rows_with(p) for p in steps}
    return {p: _fitted_to(part, p, clone(steps[p]), has) for p, has in rows.items() if len(has)}


def _merge_steps(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
    # The result of a task must not be changed: it may be merged again.
    return b | {p: copy(step).merge(b[p]) if p in b else step for p, step in a.items()}


def _input(data: MultiViewData, p: int, step: Any, rows: Any) -> Any:
    """Rows of a view in the form in which a transformer takes them."""
    view, names = data.views[p], data.feature_names[p]
    view = view if len(rows) == len(data) else view[rows]
    takes_matrix = isinstance(step, ViewTransformer | Similarity) and not isinstance(step, ENCODERS)
    if isinstance(view, TableView):
        takes_texts = view.shape[1] == 1 and not _takes_tables(step)
        frame = view.frame.copy(deep=False)
        return view.values() if takes_matrix else frame.iloc[:, 0] if takes_texts else frame
    if takes_matrix:
        return view
    # Transformers of other packages may write into it.
    view = view.copy() if sparse.issparse(view) else np.array(view)
    return view if names is None or sparse.issparse(view) else pd.DataFrame(view, columns=names)


def _takes_tables(step: Any) -> bool:
    """Whether a transformer, or the first of a pipeline, takes tables, not a sequence of texts."""
    first = step.steps[0][1] if hasattr(step, "steps") else step
    return bool(get_tags(first).input_tags.two_d_array)


def transformed(data: MultiViewData, p: int, step: Any, rows: Any) -> Matrix:
    """Rows of a view as a transformer returns them: an array or CSR matrix of numbers."""
    _require_counts(data, p, step)
    with errors_of(data.describe_view(p)):
        result = step.transform(_input(data, p, step, rows))
    result = sparse.csr_array(result) if sparse.issparse(result) else np.asarray(result)
    if result.ndim != 2 or result.shape[0] != len(rows) or result.dtype.kind not in "buif":
        raise ValueError(
            f"{data.describe_view(p)}: {step_name(step)} returned an array of shape {result.shape} "
            f"and type {result.dtype} for {len(rows)} samples. A transformer must return one row "
            "of numbers per sample."
        )
    return result


def _require_counts(data: MultiViewData, p: int, step: Any) -> None:
    """Raise if a value of a view is negative, and a step needs counts, which are not."""
    view: Any = data.views[p]
    if not isinstance(step, CountTransformer) or isinstance(view, TableView):
        return
    rows, columns = (view < 0).nonzero()
    if not len(rows):
        return
    row, column = int(rows[0]), int(columns[0])
    raise ValueError(
        f"{data.describe_view(p)} has {view[row, column]:.3g} at {data.cell(p, row, column)}: "
        "preprocess needs counts, which are not negative. Leave the view out of preprocess if it "
        "is preprocessed already."
    )


def encoded_tables(data: MultiViewData, nan_cells: bool = False) -> MultiViewData:
    """Samples with numbers in place of tables, by the default transformers.

    With `nan_cells`, tables of numbers stay as they are: their missing cells are not imputed.
    """
    preparation = fit_preparation(data, None) if data.table_kinds else None
    if preparation is None:
        return data
    return preparation.encode_tables(data) if nan_cells else preparation(data)
