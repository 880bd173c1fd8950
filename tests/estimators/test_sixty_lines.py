"""The example that has the whole algorithm in plain NumPy equals the package on the digits."""

import runpy
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, load_digits

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_steps" / "dalmc_in_60_lines.py"


def test_the_example_equals_the_package_on_the_digits():
    example = runpy.run_path(str(EXAMPLE))
    views, _ = load_digits(return_X_y=True)
    views = {name: view.astype(np.float64) for name, view in views.items()}
    S, objective = example["dalmc"](list(views.values()), 10)
    model = DALMC(10, assignment="cluster_qr").fit(views)
    np.testing.assert_allclose(objective[1:], model.objective_, rtol=1e-10)
    assert np.linalg.norm(S - model.embedding_ @ (model.embedding_.T @ S), 2) < 1e-8
    assert adjusted_rand_score(model.labels_, example["clusters"](S, 10)) == 1
