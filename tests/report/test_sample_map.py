"""What the map of the samples tells its script."""

import numpy as np
import pytest

from anchorview.report import sample_map as map_module
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.findings import inspect_fit
from anchorview.report.sample_map import SampleContents, pattern_name, sample_map


@pytest.fixture
def drawn(incomplete_fit, set_constants):
    """A map of the odd samples."""
    model, data, target, sample_ids = incomplete_fit
    rows = np.arange(1, 240, 2)
    positions = np.random.RandomState(0).rand(120, 2) * [3, 1] - 5
    set_constants(map_module, map_layout=lambda *_, **__: (rows, positions))
    fit = CheckedFit(model, data, target=target, sample_ids=sample_ids)
    contents = SampleContents(sample_ids, None, None, on_map=True)
    return sample_map(fit, inspect_fit(fit), contents).values, rows, positions


def test_points_have_the_values_of_their_samples(drawn, incomplete_fit):
    model, data, target, sample_ids = incomplete_fit
    payload, rows = drawn[0]["payload"], drawn[1]
    assert payload["rows"] == rows.tolist()
    assert payload["ids"] == [sample_ids[row] for row in rows]
    assert payload["cluster"] == model.labels_[rows].tolist()
    assert payload["confidence"] == np.floor(100 * model.confidence_[rows]).tolist()
    classes = payload["classes"]
    assert [classes["names"][code] for code in classes["codes"]] == target[rows].tolist()
    availability = payload["availability"]
    names = [availability["patterns"][pattern] for pattern in availability["pattern"]]
    assert names == [pattern_name(has, data.names) for has in data.available[rows]]
    assert max(availability["codes"]) < len(availability["names"]) <= 8
    assert list(drawn[0]["colorings"]) == ["cluster", "class", "confidence", "availability"]


def test_positions_keep_their_shape_and_the_last_is_up(drawn):
    payload, positions = drawn[0]["payload"], drawn[2]
    placed = np.column_stack([payload["x"], payload["y"]])
    assert placed.min(axis=0).tolist() == [0, 0]
    assert placed.max() == 2**16 - 1
    ratio = np.ptp(positions, axis=0)
    assert np.ptp(placed, axis=0) / placed.max() == pytest.approx(ratio / ratio.max(), abs=1e-4)
    assert np.argsort(placed[:, 0]).tolist() == np.argsort(positions[:, 0]).tolist()
    assert placed[:, 1].argmin() == positions[:, 1].argmax()
