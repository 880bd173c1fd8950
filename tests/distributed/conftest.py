import pytest


@pytest.fixture
def small_parts(monkeypatch):
    """Chunks of small data stay parts of their own."""
    monkeypatch.setattr("anchorview.distributed._views.SMALL_PART", 1)
    monkeypatch.setattr("anchorview.distributed._chunks.PRODUCTS_PER_PART", 0)
