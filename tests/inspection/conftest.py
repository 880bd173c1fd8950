import pytest

from anchorview.sources import disk_source
from anchorview.sources.dask import dask_input


@pytest.fixture
def many_parts(set_constants):
    """Files are read in parts of a few rows, and every chunk of a dask array is a part."""
    set_constants(disk_source, PART=2**12, PRODUCTS_PER_PART=0)
    set_constants(dask_input, SMALL_PART=1, PRODUCTS_PER_PART=0)
