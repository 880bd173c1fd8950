import pytest

from anchorview.sources.dask import chunks, dask_source


@pytest.fixture
def small_parts(set_constants):
    """Small chunks are not combined: each is a part."""
    set_constants(dask_source, SMALL_PART=1)
    set_constants(chunks, PRODUCTS_PER_PART=0)
