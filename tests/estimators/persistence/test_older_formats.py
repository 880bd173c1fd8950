"""Files of earlier format versions, written by the versions of the package that had them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anchorview import AutoDALMC, load
from helpers.model_files import (
    document_of,
    error_of,
    few_or_many,
    forge,
    forge_document,
    members_of,
    one_of_each_kind,
    places_in,
    require_errors_or_models,
    round_trip,
)

MODELS = Path(__file__).parents[2] / "data" / "models"
ARCHIVED = sorted(MODELS.glob("*.anchorview"))


@pytest.fixture(params=ARCHIVED, ids=lambda path: path.stem)
def archived(request):
    return request.param


@pytest.fixture
def copied(archived, tmp_path):
    path = tmp_path / "model.anchorview"
    path.write_bytes(archived.read_bytes())
    return path


def test_archived_models_predict_as_they_did(archived, tmp_path):
    loaded = load(archived)
    with np.load(archived.with_suffix(".npz")) as expected:
        views = {
            name.removeprefix("view/"): expected[name]
            for name in expected
            if name.startswith("view/")
        }
        if (names := getattr(loaded, "feature_names_in_", None)) is not None:
            views = {name: pd.DataFrame(view, columns=names) for name, view in views.items()}
        np.testing.assert_array_equal(loaded.labels_, expected["labels"])
        np.testing.assert_array_equal(loaded.embedding_, expected["embedding"])
        assert hasattr(loaded, "predict") == ("predicted" in expected)
        if "predicted" in expected:
            np.testing.assert_array_equal(loaded.predict(views), expected["predicted"])
            np.testing.assert_allclose(
                loaded.transform(views, scale=False), expected["transformed"], atol=1e-12
            )
        if isinstance(loaded, AutoDALMC):
            confidence = loaded.predict_with_confidence(views)[1]
            np.testing.assert_array_equal(confidence, expected["confidence"])
    round_trip(loaded, tmp_path)


def test_details_of_archived_models():
    models = {path.stem: load(path) for path in ARCHIVED}
    for path in ARCHIVED:
        assert path.stem.endswith(f"_v{document_of(members_of(path))['format_version']}")
    auto, incomplete = models["auto_v2"], models["dalmc_incomplete_ids_v2"]
    assert auto.curve_.index.tolist() == [2, 3]
    assert auto.candidates_["n_landmarks"].tolist()[-1] == 10
    assert incomplete.sample_ids_.name == "sample"
    assert incomplete.labels_series.index[0] == "s0"
    assert incomplete.plan_.route == "compressed"
    assert not hasattr(models["dalmc_partial_fit_v2"], "plan_")


def test_lifts_of_older_files_have_no_directions():
    models = [load(path) for path in ARCHIVED if path.stem.startswith("auto")]
    fitted = [own for model in models for own in model._families.values()]
    lifted = [view for own in fitted if own.lift is not None for view in own.lift.views]
    assert lifted
    assert all(view.directions is None for view in lifted)


def test_the_layout_belongs_to_the_version(saved, saved_auto, saved_batches):
    """A renamed or new field needs another format version, and a translation of this one."""
    found = set()
    for path in (saved, saved_auto, saved_batches):
        document = document_of(members_of(path))
        found |= {re.sub(r"\d+", "#", place) for place in places_in(document["state"])}
    expected = (MODELS / f"layout_v{document['format_version']}.txt").read_text().split()
    assert sorted(found) == expected


def test_version_1_does_not_name_the_estimator_and_version_2_does(copied):
    version = document_of(members_of(copied))["format_version"]
    if version >= 3:
        return
    forge_document(copied, {"format_version": 3 - version})
    assert ("'estimator' is unknown" if version == 2 else "its estimator is unknown") in error_of(
        copied
    )


@few_or_many
def test_unknown_and_missing_parts(copied, factor):
    members = members_of(copied)
    labels = members.get("labels.npy", members.get("state/labels_.npy"))
    for name in one_of_each_kind(members, factor):
        if "center" not in name and "deviation" not in name:
            forge(copied, {other: members[other] for other in members if other != name})
            error_of(copied)
    for name in ("more", "center/9", "labels/0", "bases/9", "steps/99/weights", "start/more/0"):
        forge(copied, {**members, f"{name}.npy": labels})
        error_of(copied)


@few_or_many
def test_random_changes_give_an_error_or_a_model(copied, factor):
    require_errors_or_models(copied, members_of(copied), factor, 0.6)
