"""Models that earlier versions have saved, one of each estimator, still load and predict.

The files were written before `views_` and `_level_labels` had these names. A file is added, never
replaced, when the recipe for a learned attribute in CONTRIBUTING.md is not enough to read it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from anchorview import DALMC, load
from anchorview.estimators.persistence.fitted_state import DALMCState

STORED = Path(__file__).parents[2] / "data" / "models"


@pytest.fixture(scope="module")
def views():
    """Samples of the stored models: six clusters, two of which are near each other."""
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0], [0, 6, 0], [12, 0, 0], [12, 6, 0], [0, 0, 14], [0, 6, 14]])
    classes = np.repeat(range(6), 10)
    return {name: (centers[classes] + rng.normal(size=(60, 3))).round(2) for name in ("a", "b")}


@pytest.mark.parametrize("name", ["dalmc", "auto"])
def test_stored_models_predict_their_labels(name, views, tmp_path):
    model = load(STORED / f"{name}.anchorview")
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    assert model.views_.index.tolist() == ["a", "b"]
    assert model.views_["weight"].sum() == pytest.approx(1)
    model.save(tmp_path / "again.anchorview")
    again = load(tmp_path / "again.anchorview")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    if name == "auto":
        assert model.views_["used"].all()
        assert [len(set(labels)) for labels in model.cluster_layers_] == [4, 2]
        np.testing.assert_array_equal(model.predict(views, level=2), model.labels_at(2))
    else:
        assert model.cluster_names_[0] == "first"


@dataclass(kw_only=True)
class GrownState(DALMCState):
    """State with one more learned attribute, as the recipe in CONTRIBUTING.md adds it."""

    threshold_: float = 0.25
    note_: str | None = None


def test_a_learned_attribute_that_a_file_lacks_has_its_default(views, tmp_path, monkeypatch):
    monkeypatch.setattr(DALMC, "_state_class", GrownState)
    old = load(STORED / "dalmc.anchorview")
    assert (old.threshold_, old.note_) == (0.25, None)
    model = DALMC(4, random_state=0).fit(views)
    model.threshold_ = 0.5
    model.save(tmp_path / "model.anchorview")
    assert load(tmp_path / "model.anchorview").threshold_ == 0.5
