"""Views in Dask: arrays and dataframes of any size, worked on where they are."""

from anchorview._stored_formats import package

package("dask.array", "Views in Dask", "dask")
package("distributed", "Views in Dask", "dask")

# What is missing is said first.
from anchorview.distributed._connecting import connected  # noqa: E402
from anchorview.distributed._loading import dask_views  # noqa: E402
from anchorview.distributed._views import DaskViews  # noqa: E402

__all__ = ["DaskViews", "connected", "dask_views"]
