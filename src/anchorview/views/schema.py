"""What is known about views without reading a sample: names, widths, precision, number of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from anchorview._utils.typing import FeatureNames

SINGLE_PRECISION = {"float16", "float32", "int8", "uint8", "int16", "uint16", "bool"}
"""Types whose values float32 holds exactly; blocks of them are multiplied in float32."""

CACHED_BLOCK = 4 * 2**20
"""Bytes of a row block that stays in the processor's cache while it is scaled."""

LARGEST_BLOCK = 64 * 2**20
"""Maximum number of bytes of a row block, however many features there are."""


class ViewsSchema(ABC):
    """Names, widths and number of samples of views, wherever the samples are."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given by the user; otherwise they are ``view_0``, ``view_1``..."""
    feature_names: tuple[FeatureNames | None, ...]
    """Names of the features of each view; None for a view without."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples."""

    @property
    @abstractmethod
    def n_features_per_view(self) -> tuple[int, ...]:
        """Number of features of each view."""

    @property
    @abstractmethod
    def dtype(self) -> "np.dtype[Any]":
        """Precision in which row blocks are multiplied: float32 if it holds every view exactly."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and number of features over all views."""
        return len(self), sum(self.n_features_per_view)

    @property
    def rows_per_block(self) -> int:
        """Number of rows that are scaled and multiplied together."""
        return rows_per_block(self.shape[1], self.dtype)

    def describe_view(self, p: int) -> str:
        """Return how messages name a view."""
        return describe_view(p, self.names[p])

    def missing_message(self, p: int) -> str:
        """Message for a view that no sample has."""
        return f"{self.describe_view(p)} is missing for all samples. Leave it out."

    def constant_message(self, p: int) -> str:
        """Message for a view in which all samples are equal."""
        return (
            f"{self.describe_view(p)} is constant: every sample has the same values. Leave this "
            "view out."
        )

    def zero_message(self, p: int) -> str:
        """Message for a view of which scaling leaves only zeros."""
        return (
            f"{self.describe_view(p)} is zero after scaling. Leave this view out, or multiply "
            "it by a constant if its values are tiny."
        )

    def overflow_message(self, p: int) -> str:
        """Message for a view whose values are too large."""
        return (
            f"{self.describe_view(p)} overflows {self.dtype}: its values are too large to be "
            "squared; rescale the view."
        )

    def underflow_message(self, p: int) -> str:
        """Message for a view whose values are too small."""
        return (
            f"{self.describe_view(p)} underflows: all its values are too small to be squared; "
            "multiply the view by a constant."
        )


def describe_view(p: int, name: str) -> str:
    """Return how messages name a view: by position and, if it has one, name."""
    return f"view {p}" if name == f"view_{p}" else f"view {p} ('{name}')"


def rows_per_block(width: int, dtype: "np.dtype[Any]") -> int:
    """Number of rows with `width` features that are scaled and multiplied together.

    In single precision this number changes the last digits of sums: parts that begin at multiples
    of it give the same sums as all rows at once.
    """
    row_bytes = width * dtype.itemsize
    # With twice as many rows as features, adding up a Gram block is cheap beside computing it.
    wanted = max(CACHED_BLOCK // row_bytes, 2 * width)
    return int(max(1, min(wanted, LARGEST_BLOCK // row_bytes)))


def working_precision(dtypes: Iterable["np.dtype[Any]"]) -> "np.dtype[Any]":
    """Precision in which row blocks of views of these types are multiplied."""
    single = all(dtype.name in SINGLE_PRECISION for dtype in dtypes)
    return np.dtype(np.float32 if single else np.float64)
