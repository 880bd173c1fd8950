"""Views in Dask: arrays and dataframes of any size, processed where they are."""

from anchorview._utils.errors import optional_import

optional_import("dask.array", "Views in Dask", "dask")
optional_import("distributed", "Views in Dask", "dask")

# After the check, so that a missing package is reported with the extra to install.
from anchorview.sources.dask.dask_input import dask_views  # noqa: E402

__all__ = ["dask_views"]
