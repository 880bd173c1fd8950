"""Files, Dask, small blocks and loaded models give the same tables."""

from functools import partial

import dask
import pandas as pd
import pytest

from anchorview import inspection, load
from anchorview.estimators import explanation
from helpers.dask_problems import in_dask, stored

FUNCTIONS = {
    "summary": inspection.cluster_summary,
    "doubtful": partial(inspection.doubtful, n_samples=7),
    "memberships": inspection.memberships,
    "outlier scores": inspection.outlier_scores,
    "representatives": inspection.representatives,
    "contributions": inspection.view_contributions,
    "contributions by cluster": partial(inspection.view_contributions, by="cluster"),
}


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_form_gives_the_same(fitted, name, tmp_path, set_constants):
    model, views = fitted
    function = FUNCTIONS[name]
    expected = pd.DataFrame(function(model, views))

    def check(table):
        pd.testing.assert_frame_equal(pd.DataFrame(table), expected, rtol=1e-7, atol=1e-9)

    check(function(model, stored(tmp_path, views)))
    with dask.config.set(scheduler="threads"):
        check(function(model, in_dask(views, 40)))
    if hasattr(model, "save"):
        model.save(tmp_path / "m")
        check(function(load(tmp_path / "m"), views))
    set_constants(explanation, LARGEST_BLOCK=64)
    check(function(model, views))


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (inspection.cluster_markers, {"n_features": 0}, "n_features=0 should be >= 1"),
        (inspection.cluster_summary, {"n_features": -3}, "n_features == -3, must be >= 1"),
        (inspection.cluster_summary, {"n_medoids": 0}, "n_medoids == 0, must be >= 1"),
        (inspection.representatives, {"n_samples": 0}, "n_samples == 0, must be >= 1"),
        (inspection.doubtful, {"n_samples": 0}, "n_samples == 0, must be >= 1"),
        (inspection.view_contributions, {"by": "view"}, "by='view' should be 'sample' or"),
    ],
)
def test_options_are_checked(fitted, function, options, message):
    with pytest.raises(ValueError, match=message):
        function(*fitted, **options)
