"""What a file or folder of views holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.typing import FeatureNames
from anchorview.views.stored_view import StoredView

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
View: TypeAlias = "NDArray[Any] | sparse.csr_array[Any] | pd.DataFrame | StoredView"
Target: TypeAlias = "NDArray[Any] | pd.Series[Any] | None"


@dataclass(frozen=True, eq=False)
class ViewFile:
    """What a file or folder of views holds.

    :class:`~anchorview.MultiViewData` accepts it as input.

    Attributes
    ----------
    views : dict of str to array, csr_array, DataFrame or StoredView (n_samples, n_features)
        The views by name, all with the same samples in the same order. They keep the file's
        number types, but integers become floats where NaN has to mark a missing sample. Views
        in memory are DataFrames where the file names samples and the view is dense. Views that
        were opened, not read, are of type ``StoredView``, unless they are sparse in the file.
    target : array or Series of shape (n_samples,), or None
        The labels, int64 or strings; None if the file has none. A Series, with the sample ids as
        its index, where the file names samples.
    path : Path
        Where it was read from.
    sample_ids : pandas.Index or None
        The names of the samples; None if the file does not name them.
    available : array of bool of shape (n_samples, n_views), or None
        Which views each sample has; None if every sample has every view. What a view holds for a
        sample that does not have it is ignored. Of views that were opened, not read, it is
        only what the file says itself: rows of NaN are not detected.
    feature_names : mapping of str to array of str
        Names of the features of sparse views, by view, where the file has them. DataFrames and
        views that were opened have their own.
    """

    views: dict[str, View]
    target: Target
    path: Path
    sample_ids: "pd.Index[Any] | None" = None
    available: "NDArray[np.bool_] | None" = None
    feature_names: Mapping[str, FeatureNames] = field(default_factory=dict)
