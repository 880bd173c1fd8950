"""Multi-view clustering."""
