import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC
from anchorview.estimators.partitions import candidates, coordinates
from helpers.data import clustered_views


@pytest.fixture(scope="session")
def dalmc():
    views, _ = clustered_views(12, 2, (2, 3))
    views["view_1"][0] = np.nan
    return DALMC(2, n_components=1, max_iter=2, tol=0, random_state=0).fit(views)


@pytest.fixture(scope="session")
def auto():
    """Model of four clusters in two groups."""
    rng = np.random.default_rng(1)
    classes = np.arange(48) % 4
    views = {}
    for p, width in enumerate((3, 4)):
        centers = 8 * rng.standard_normal((2, width))[[0, 0, 1, 1]]
        centers += 4 * rng.standard_normal((4, width))
        views[f"view_{p}"] = centers[classes] + rng.standard_normal((48, width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MAX_ITER", 2)
        model = AutoDALMC([2, 3, 4], budget="fast", random_state=0).fit(views)
    # Tests change the parameters of the chosen level, which is the last, and of another one.
    assert model.levels_.index.tolist() == [2, 4]
    assert model.n_clusters_ == 4
    return model


@pytest.fixture(scope="session")
def wide_auto():
    """Model of a view with so many features that its bases have directions."""
    views, _ = clustered_views(48, 3, (70, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coordinates, "MAX_DIRECTIONS", 12)
        patch.setattr(coordinates, "FEW_SAMPLES", 12)
        patch.setattr(candidates, "MAX_ITER", 2)
        return AutoDALMC(3, budget="fast", random_state=0).fit(views)


@pytest.fixture(scope="session")
def batch_dalmc():
    """Model that takes out batches and a covariate; one batch lacks a view."""
    views, _ = clustered_views(16, 2, (2, 3))
    batch, depth = np.arange(16) % 2, np.linspace(0, 1, 16) ** 2
    views["view_1"][batch == 1] = np.nan
    model = DALMC(2, n_components=1, max_iter=2, tol=0, random_state=0)
    return model.fit(views, batch=batch, covariates=depth)


def file_of(name):
    """Fixture with the file of a model, which is the fixture of this name."""

    @pytest.fixture
    def saved(request, tmp_path):
        request.getfixturevalue(name).save(tmp_path / f"{name}.anchorview")
        return tmp_path / f"{name}.anchorview"

    return saved


saved, saved_batches = file_of("dalmc"), file_of("batch_dalmc")
saved_auto, saved_wide = file_of("auto"), file_of("wide_auto")


@pytest.fixture(params=["saved", "saved_auto", "saved_batches"])
def either(request):
    """File of a model."""
    return request.getfixturevalue(request.param)
