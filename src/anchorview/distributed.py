"""Views in Dask: arrays and dataframes of any size, processed where they are."""

from anchorview._utils.optional_imports import optional_import

optional_import("dask.array", "Views in Dask", "dask")
optional_import("distributed", "Views in Dask", "dask")

# After the check, so that a missing package is reported with the extra to install.
from anchorview.sources.dask.connection import connected  # noqa: E402
from anchorview.sources.dask.dask_source import DaskSource  # noqa: E402
from anchorview.sources.dask.stored_blocks import dask_views  # noqa: E402

__all__ = ["DaskSource", "connected", "dask_views"]
