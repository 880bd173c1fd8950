"""Running jobs: data sets, worker processes, limits, and the store of results."""
