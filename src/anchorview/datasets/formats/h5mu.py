"""MuData files, read with the mudata package."""

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError, MissingPackageError
from anchorview.datasets.file_contents import LABEL_NAMES, is_label_name, named_target
from anchorview.views.mudata_views import views_from_mudata
from anchorview.views.view_file import Target, View


def read_h5mu(
    path: Path,
) -> "tuple[dict[str, View], Target, pd.Index[Any], NDArray[np.bool_]]":
    """Read views, labels, sample ids and availability."""
    with warnings.catch_warnings():
        # They announce changes to come, to those who call the packages' functions themselves.
        warnings.filterwarnings("ignore", module=r"(mudata|anndata)\b")
        try:
            mudata = import_module("mudata")
        except ImportError as error:
            raise MissingPackageError(
                '.h5mu files need mudata: pip install "anchorview[mudata]".'
            ) from error
        mdata = mudata.read_h5mu(path)
    try:
        found, available = views_from_mudata(mdata)
    except ValueError as error:
        raise DataFileError(str(error)) from error
    views: dict[str, View] = dict(found)
    return views, _target(mdata.obs), mdata.obs_names, available


def _target(obs: pd.DataFrame) -> Target:
    names = [name for name in obs.columns if isinstance(name, str) and is_label_name(name)]
    if not names:
        return None
    name = min(names, key=lambda name: LABEL_NAMES.index(name.lower()))
    return named_target(obs[name], obs.index, f"the column {name!r} of obs")
