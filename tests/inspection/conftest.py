import pytest

from anchorview import DALMC, AutoDALMC
from anchorview.compared import OPMC
from anchorview.sources import disk_source
from anchorview.sources.dask import dask_input
from helpers.data import clustered_views


@pytest.fixture
def many_parts(set_constants):
    """Files are read in parts of a few rows, and every chunk of a dask array is a part."""
    set_constants(disk_source, PART=2**12, PRODUCTS_PER_PART=0)
    set_constants(dask_input, SMALL_PART=1, PRODUCTS_PER_PART=0)


@pytest.fixture(scope="session", params=["dalmc", "auto", "baseline"])
def fitted(request):
    """A model of four clusters and its 150 samples, some of which lack views if they may."""
    missing = 0.0 if request.param == "baseline" else 0.2
    views, _ = clustered_views(150, 4, separation=2.5, missing=missing)
    models = {"dalmc": DALMC(4), "auto": AutoDALMC(4, budget="fast"), "baseline": OPMC(4)}
    return models[request.param].set_params(random_state=0).fit(views), views
