"""The batch and the covariates of each sample, in the order of the samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anchorview._utils.text import listed
from anchorview._utils.typing import Array
from anchorview.views.alignment import matched_rows
from anchorview.views.matrix_checks import sample_at
from anchorview.views.table_columns import level_texts

if TYPE_CHECKING:
    from anchorview.views.row_source import RowSource

ONE_BATCH = ("",)
"""Name of the batch of all samples if there are only covariates; no value has an empty name."""

MISSING = ("", "nan", "<NA>")
"""Missing values as text: an array of texts holds them so."""


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """Batch and covariates of each sample."""

    batches: tuple[str, ...]
    """Some may have no samples."""
    codes: Array
    """Position in `batches` for each sample."""
    covariates: Array
    """Finite numbers, (n_samples, n_covariates)."""
    covariate_names: tuple[str, ...] = ()
    covariates_named: bool = False
    """Whether covariates have names of columns; without names they are matched by position."""

    def __getitem__(self, rows: Any) -> "SampleDesign":
        """Return the batches and covariates of some samples."""
        return replace(self, codes=self.codes[rows], covariates=self.covariates[rows])

    @property
    def has_batches(self) -> bool:
        """Whether batches were given, not only covariates."""
        return self.batches != ONE_BATCH

    @property
    def used_batches(self) -> tuple[str, ...]:
        """Names of the batches that have samples."""
        return tuple(self.batches[i] for i in np.unique(self.codes))


def stacked_design(parts: Sequence[SampleDesign | None]) -> SampleDesign | None:
    """Design of the samples of several parts of a source; None if they have none."""
    first = parts[0]
    if first is None:
        return None
    known = [part for part in parts if part is not None]
    return replace(
        first,
        codes=np.concatenate([part.codes for part in known]),
        covariates=np.concatenate([part.covariates for part in known]),
    )


def ids_in_memory(source: "RowSource") -> "pd.Index[Any] | None":
    """Ids of all samples of a source, computed if they are in Dask."""
    ids: Any = source.sample_ids
    return pd.Index(ids.compute()) if hasattr(ids, "compute") else ids


def set_design(source: "RowSource", X: Any, batch: Any, covariates: Any) -> None:
    """Give the samples of a source, those of `X`, batches, covariates or both.

    Values with an index are aligned by sample id if `X` has ids, and all else by position. A text
    names a column of ``X.obs``.
    """
    _require_none(source.design, "batch= and covariates=")
    batches: tuple[str, ...] = ONE_BATCH
    codes: Array = np.zeros(len(source), np.int32)
    if batch is not None:
        batches, codes = _batch_codes(_aligned(batch, source, X, "batch"), source)
    source.design = SampleDesign(batches, codes, np.empty((len(source), 0)))
    if covariates is not None:
        values = _aligned(covariates, source, X, "covariates")
        source.design = SampleDesign(batches, codes, *_covariate_matrix(values, source))


def set_weights(source: "RowSource", X: Any, given: Any) -> None:
    """Give the samples of a source weights, aligned like batches."""
    _require_none(source.sample_weight, "sample_weight=")
    values = np.full(len(source), given) if isinstance(given, Real) else given
    try:
        weights = np.array(_aligned(values, source, X, "sample_weight"), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight: {error}") from error
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        raise ValueError(
            f"sample_weight is {weights[wrong[0]]} for {_sample(source, wrong[0])}, but must be a "
            "finite number that is not negative."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for all samples. Give some a positive weight.")
    source.sample_weight = weights


def _require_none(known: Any, names: str) -> None:
    if known is not None:
        raise ValueError(
            f"{names} cannot be given with MultiViewData that has some already. Give them once."
        )


def _sample(source: "RowSource", row: int) -> str:
    """How messages name a sample."""
    return sample_at(int(row), ids_in_memory(source))


def values_of_obs(values: Any, X: Any, what: str) -> Any:
    """Columns of ``X.obs`` if values are names, else the values, computed if they are in Dask."""
    names = [values] if isinstance(values, str) else values if what == "covariates" else []
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        return values.compute() if hasattr(values, "compute") else values
    obs = getattr(X, "obs", None)
    if not isinstance(obs, pd.DataFrame):
        raise ValueError(
            f"{what}={values!r} names columns of obs, but X is not a MuData or AnnData object. "
            "Give one value per sample."
        )
    missing = [name for name in names if name not in obs]
    if missing:
        raise ValueError(
            f"{what}: X.obs has no column {missing[0]!r}, only {listed(list(obs.columns))}."
        )
    return obs[values]


def _aligned(values: Any, source: "RowSource", X: Any, what: str) -> Any:
    """Values in the order of the samples."""
    values = values_of_obs(values, X, what)
    if isinstance(values, pd.DataFrame) and what == "batch":
        if values.shape[1] != 1:
            raise ValueError(
                f"batch is a DataFrame with {values.shape[1]} columns. Give one column."
            )
        values = values.iloc[:, 0]
    has_index = isinstance(values, pd.Series | pd.DataFrame)
    if not (has_index or isinstance(values, pd.Categorical)):
        # NumPy would turn NaN beside texts into a text.
        texts = what == "batch" and isinstance(values, list | tuple)
        values = np.asarray(values, dtype=object if texts else None)
    if np.ndim(values) not in ((1, 2) if what == "covariates" else (1,)):
        raise ValueError(
            f"{what} has shape {np.shape(values)}, but X has {len(source)} samples. Give one value "
            "per sample."
        )
    # Ids in Dask are computed only if something is aligned by them.
    ids, index = (ids_in_memory(source), values.index) if has_index else (None, None)
    rows = matched_rows((ids, len(source), "X"), (index, len(values), what))
    return values.iloc[rows] if has_index else values[rows]


def _batch_codes(values: Any, source: "RowSource") -> tuple[tuple[str, ...], Array]:
    """Names of the batches, and the position in them for each sample."""
    codes, values_of_batches = pd.factorize(values, use_na_sentinel=True)
    # The batches 1, 1.0 and "1" are the same, as files and tables do not keep the type.
    names = level_texts(list(values_of_batches))
    empty = np.array([name.strip() in MISSING for name in names] + [True])
    missing = np.flatnonzero(empty[codes])
    if len(missing):
        raise ValueError(
            f"batch is missing for {len(missing)} samples, first for "
            f"{_sample(source, missing[0])}. Give all a batch, or leave these out."
        )
    batches = tuple(sorted(set(names)))
    positions = np.array([batches.index(name) for name in names], np.int32)
    return batches, positions[codes]


def _covariate_matrix(values: Any, source: "RowSource") -> tuple[Array, tuple[str, ...], bool]:
    """Finite numbers, one column per covariate, their names, and whether these were given."""
    named = isinstance(values, pd.DataFrame) or getattr(values, "name", None) is not None
    table = pd.DataFrame(values)
    names = tuple(str(name) if named else f"covariate_{name}" for name in table.columns)
    for name, dtype in zip(names, table.dtypes, strict=True):
        if not pd.api.types.is_numeric_dtype(dtype):
            raise ValueError(
                f"covariates: column {name!r} is not numeric (dtype {dtype}). Encode it as "
                "numbers, or give it as batch."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"covariates have the column {name!r} more than once. Rename or drop one."
            )
    matrix = table.to_numpy(np.float64, na_value=np.nan)
    rows, columns = np.nonzero(~np.isfinite(matrix))
    if len(rows):
        raise ValueError(
            f"covariate {names[columns[0]]!r} is NaN or infinite for "
            f"{_sample(source, rows[0])}. Fill it in, or leave the sample out."
        )
    return matrix, names, named
