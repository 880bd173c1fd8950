"""Names for types that are used throughout the package."""

import os
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

PathLike = str | os.PathLike[str]

Array = npt.NDArray[Any]
"""A dense array."""

FeatureNames = npt.NDArray[np.object_]
"""Names of features, strings."""

ExtendedArray = Annotated[Array, "may be infinite"]
"""A dense array with entries that may be infinite; model files refuse infinity in other arrays."""

Matrix = Any
"""Anything with ``shape``, ``dtype``, ``@`` and ``.T``: array, sparse matrix, linear operator."""
