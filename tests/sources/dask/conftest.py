import pytest


@pytest.fixture
def small_parts(monkeypatch):
    """Chunks of small data stay parts of their own."""
    monkeypatch.setattr("anchorview.sources.dask.dask_source.SMALL_PART", 1)
    monkeypatch.setattr("anchorview.sources.dask.chunks.PRODUCTS_PER_PART", 0)
