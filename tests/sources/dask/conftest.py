from logging import CRITICAL

import pytest
from distributed import Client, LocalCluster

from anchorview.sources.dask import dask_input


@pytest.fixture
def small_parts(set_constants):
    """Small chunks are not combined: each is a part."""
    set_constants(dask_input, SMALL_PART=1, PRODUCTS_PER_PART=0)


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # Killed workers would fill the log.
    with (
        LocalCluster(n_workers=2, silence_logs=CRITICAL, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """Client of two workers; killed ones have been restarted."""
    cluster.wait_for_workers(2, timeout=120)
    return cluster
