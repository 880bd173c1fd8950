import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

SHARED_DATA = Path(os.environ.get("ANCHORVIEW_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def real_data():
    """Load a real data set by name; the test is left out where the data are not at hand."""

    def load(name):
        path = SHARED_DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"data set {name} is not here")
        with np.load(path) as file:
            return [file[f"view_{p}"] for p in range(len(file.files) - 1)], file["y"]

    return load


@pytest.fixture(scope="session")
def digits():
    from anchorview import load_digits

    return load_digits(return_X_y=True)
