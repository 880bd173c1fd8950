import pytest

from anchorview.sources.dask import chunks, dask_source


@pytest.fixture
def small_parts(monkeypatch):
    """Chunks of small data stay parts of their own."""
    monkeypatch.setattr(dask_source, "SMALL_PART", 1)
    monkeypatch.setattr(chunks, "PRODUCTS_PER_PART", 0)
