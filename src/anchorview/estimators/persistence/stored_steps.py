"""Fitted transformers in model files: those of anchorview as arrays, foreign ones by skops."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from anchorview._utils.errors import optional_import
from anchorview._utils.text import one_line
from anchorview._utils.typing import Array, FeatureNames
from anchorview.estimators.persistence.codec import require
from anchorview.estimators.preparation import STEPS, Preparation
from anchorview.preprocessing import LogNormalizer, WordTfidf
from anchorview.preprocessing.encoders import ColumnSums

CLASSES: dict[str, Any] = {type(s).__name__: type(s) for s in STEPS.values()}
FOREIGN = "skops"
HARMLESS = {"numpy.dtype"}
"""Types of fitted transformers of scikit-learn that skops does not trust by itself."""
FITTED = (
    *("n_samples_seen_", "n_features_in_", "_median", "sums_", "_sums", "_known"),
    *("projection_", "offset_", "samples_", "smoothing_"),
)
"""Fitted attributes of `CLASSES` that are numbers or arrays."""


class UntrustedTypeError(ValueError):
    """A model file holds a type that the user has not declared to be trusted."""


@contextmanager
def _storable() -> Iterator[None]:
    """Explain errors of skops, which are of any type."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            "a transformer of another package in preprocess cannot be stored or restored "
            f"({one_line(error)}). Its functions must be in a module that can be imported: a "
            "lambda, or a function of a script, is not."
        ) from error


@dataclass(frozen=True, kw_only=True)
class StoredStep:
    """A fitted transformer."""

    kind: str
    """Name of one of `CLASSES`, or `FOREIGN`."""
    parameters: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    numbers: dict[str, int | float] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sums: tuple[ColumnSums, ...] = ()
    """Columns of a table."""
    words: dict[str, int] = field(default_factory=dict)
    """Number of texts that have a word."""
    content: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Bytes that skops has written."""

    @classmethod
    def of(cls, step: Any) -> "StoredStep":
        """Store a fitted transformer; raises if it is foreign and skops is not installed."""
        kind, state = type(step).__name__, vars(step)
        if CLASSES.get(kind) is not type(step):
            skops = optional_import("skops.io", "Transformers of other packages", "skops")
            with _storable():
                return cls(kind=FOREIGN, content=np.frombuffer(skops.dumps(step), np.uint8))
        fitted = {name: state[name] for name in FITTED if name in state}
        if isinstance(step, LogNormalizer):
            fitted["_median"] = step.total_
        arrays = {name: v for name, v in fitted.items() if isinstance(v, np.ndarray)}
        return cls(
            kind=kind,
            parameters=step.get_params(),
            numbers={name: v for name, v in fitted.items() if isinstance(v, int | float)},
            arrays={name: np.asarray(v, dtype=np.float64) for name, v in arrays.items()},
            columns=state.get("columns_", ()),
            sums=state.get("_columns", ()),
            words=step.frequencies_ if isinstance(step, WordTfidf) else {},
        )

    def restored(self, trusted: tuple[str, ...] | None = ()) -> Any:
        """Fitted transformer; raises if a type of a foreign one is not trusted."""
        if self.kind == FOREIGN:
            skops = optional_import("skops.io", "Transformers of other packages", "skops")
            content = self.content.tobytes()
            types = skops.get_untrusted_types(data=content)
            unknown = [] if trusted is None else sorted(set(types) - set(trusted) - HARMLESS)
            if unknown:
                raise UntrustedTypeError(
                    f"it holds the type {unknown[0]}, which is not trusted. If you trust the file, "
                    f"load it with trusted={unknown}"
                )
            with _storable():
                return skops.loads(content, trusted=types)
        require(self.kind in CLASSES, f"the transformer {self.kind[:40]!r} is unknown")
        step = CLASSES[self.kind](**self.parameters)
        step._validate_params()
        for name, value in (*self.numbers.items(), *self.arrays.items()):
            require(name in FITTED, f"{name[:40]!r} is unknown")
            setattr(step, name, np.asarray(value).astype(np.intp) if name == "samples_" else value)
        if self.columns:
            require(len(self.columns) == len(self.sums), "columns have no sums")
            step.__dict__.update(columns_=self.columns, _columns=self.sums)
        if isinstance(step, WordTfidf):
            step._texts_with = Counter(self.words)
        return step


@dataclass(frozen=True, kw_only=True)
class StoredPreparation:
    """Transformers of all views, and the features that they return."""

    steps: tuple[StoredStep | None, ...]
    widths: tuple[int, ...]
    feature_names: tuple[FeatureNames | None, ...]
    dtype: str

    @classmethod
    def of(cls, preparation: Preparation) -> Self:
        """Store a fitted preparation."""
        return cls(
            steps=tuple(None if s is None else StoredStep.of(s) for s in preparation.steps),
            widths=preparation.widths,
            feature_names=preparation.feature_names,
            dtype=preparation.dtype.name,
        )

    def restored(self, trusted: tuple[str, ...] | None) -> Preparation:
        """Fitted preparation; raises if a type of a foreign transformer is not trusted."""
        require(self.dtype in ("float32", "float64"), "the precision is unknown")
        steps = tuple(None if step is None else step.restored(trusted) for step in self.steps)
        return Preparation(steps, self.widths, self.feature_names, np.dtype(self.dtype))


def parameter_of(preparation: Preparation, names: tuple[str, ...]) -> dict[str, Any]:
    """`preprocess` of a model with fitted transformers, by view."""
    steps = zip(names, preparation.steps, strict=True)
    return {name: clone(step) for name, step in steps if step is not None}
