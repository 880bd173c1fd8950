"""Features are matched by name wherever names are known, and by position only with a warning."""

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC
from helpers.data import clustered_views

K = 3


@pytest.fixture(scope="module")
def frames():
    """Two views that overlap, so that columns in another order give other labels."""
    views, _ = clustered_views(80, K, (6, 9), separation=1.5)
    ids = [f"s{i}" for i in range(80)]
    return {
        name: pd.DataFrame(view, index=ids).add_prefix(f"{name}_") for name, view in views.items()
    }


def reversed_columns(frames):
    return {name: frame[frame.columns[::-1]] for name, frame in frames.items()}


def test_views_without_names_and_default_labels_are_matched_by_position(frames):
    arrays = {name: frame.to_numpy() for name, frame in frames.items()}
    model = DALMC(K, random_state=0).fit(frames)
    with pytest.warns(UserWarning, match=r"view 0.*does not have valid feature names"):
        labels = model.predict(arrays)
    np.testing.assert_array_equal(labels, model.labels_)
    model.fit(arrays)
    assert model.feature_names_per_view_ == (None, None)
    np.testing.assert_array_equal(model.predict(frames), model.labels_)
    plain = {name: pd.DataFrame(frame.to_numpy()) for name, frame in frames.items()}
    model = DALMC(K, random_state=0).fit(plain)
    assert model.feature_names_per_view_ == (None, None)
    np.testing.assert_array_equal(model.predict(reversed_columns(plain)), model.labels_)


def test_repeated_names_must_be_in_order(frames):
    first = frames["view_0"]
    twice = first.set_axis(["a", "a", *first.columns[2:]], axis=1)
    model = DALMC(K, random_state=0).fit(twice)
    np.testing.assert_array_equal(model.predict(twice), model.labels_)
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        model.predict(twice[twice.columns[::-1]])
