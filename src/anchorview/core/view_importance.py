"""Importance of views: how much the user wants each of them to count."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array

ViewImportance = Mapping[str, float] | None
"""Importance of views by name, 1 for those that are not named; None if all count the same."""


def importance_of_views(given: ViewImportance, names: Sequence[str]) -> Array:
    """Importance of each view, relative to the mean over the views.

    Raises if a view is unknown, or its importance is not a positive number.
    """
    values: Mapping[str, Any] = given or {}
    for name, value in values.items():
        if name not in names:
            raise ValueError(
                f"view_importance names the view {quoted(name)}, but the views are {list(names)}."
            )
        number = isinstance(value, Real) and not isinstance(value, bool)
        if number and value == 0:
            raise ValueError(
                f"view_importance of {quoted(name)} is 0: leave the view out of the data instead."
            )
        if not (number and 0 < value < np.inf):
            raise ValueError(
                f"view_importance of {quoted(name)} is {value!r}, but must be a positive number."
            )
    return relative(np.array([float(values.get(name, 1)) for name in names]))


def relative(importance: Array) -> Array:
    """Importance relative to the mean, by which a common factor does not matter."""
    # Divided by the largest first: the sum of huge numbers is not one.
    shares = importance / importance.max()
    return np.asarray(shares / shares.mean())
