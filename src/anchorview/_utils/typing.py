"""Names for types that are used throughout the package."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""A dense array."""

Matrix = Any
"""Anything with ``shape``, ``dtype``, ``@`` and ``.T``: array, sparse matrix, linear operator."""
