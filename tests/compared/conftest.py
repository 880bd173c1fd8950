from pathlib import Path

import numpy as np
import pytest

VECTORS = Path(__file__).parents[1] / "data" / "compared"


@pytest.fixture(scope="session")
def vectors():
    """What an authors' program returned, by the method's name."""

    def load(name):
        with np.load(VECTORS / f"{name}.npz") as file:
            return dict(file)

    return load


@pytest.fixture(scope="session")
def toy(vectors):
    """Views that the authors' programs were given, and their classes."""
    file = vectors("toy")
    return [file[f"view_{p}"] for p in range(3)], file["y"]
