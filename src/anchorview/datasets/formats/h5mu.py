"""MuData files, read with the mudata package."""

import warnings
from pathlib import Path

from anchorview._utils.errors import DataFileError
from anchorview._utils.optional_imports import optional_import
from anchorview.datasets.file_contents import by_precedence, labels_by_id
from anchorview.datasets.formats.hdf5 import require_readable
from anchorview.views.mudata_views import modality_features, views_from_mudata
from anchorview.views.view_file import Target, ViewFile


def read_h5mu(path: Path) -> ViewFile:
    """Read the modalities as views, and class labels from a column of ``obs``."""
    mudata = optional_import("mudata", ".h5mu files", "mudata")
    require_readable(path)
    with warnings.catch_warnings():
        # Announcements of changes, meant for direct users of these packages.
        warnings.filterwarnings("ignore", module=r"(mudata|anndata)\b")
        mdata = mudata.read_h5mu(path)
    try:
        views, available = views_from_mudata(mdata)
    except ValueError as error:
        raise DataFileError(str(error)) from error
    target: Target = None
    for name in by_precedence(name for name in mdata.obs.columns if isinstance(name, str))[:1]:
        target = labels_by_id(mdata.obs[name], mdata.obs_names, f"the column {name!r} of obs")
    features = modality_features(mdata)
    return ViewFile(views, target, path, mdata.obs_names, available, features)
