"""Labels of parts are those of the samples, wherever these are."""

import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, MultiViewData
from anchorview.compared import OPMC
from anchorview.inspection.labeled_parts import labeled_source
from helpers.data import clustered_views

pytestmark = pytest.mark.usefixtures("many_parts")

N = 150


def positions_and_labels(labels_of, part):
    positions = part.first_row + np.arange(len(part))
    return [(positions, part.views[0][:, 0].copy(), labels_of(part))]


def collected(labeled):
    """Positions, first feature and labels that a pass over the parts sees."""
    work = partial(positions_and_labels, labeled.labels_of)
    parts = labeled.source.reduce_as_is(work, list.__add__, "test")
    return *(np.concatenate(values) for values in zip(*parts, strict=True)), len(parts)


@pytest.mark.parametrize("model", [DALMC(3), AutoDALMC(3, budget="fast")])
def test_what_workers_get_does_not_grow_with_the_samples_of_fit(model):
    views, _ = clustered_views(N)
    many = {name: np.vstack([view] * 20) for name, view in views.items()}
    sizes = [
        len(
            pickle.dumps(
                labeled_source(model.set_params(random_state=0).fit(data), views).labels_of
            )
        )
        for data in (views, many)
    ]
    assert sizes[1] < sizes[0] + 20_000


def frames(views, ids):
    return {name: pd.DataFrame(view, index=ids) for name, view in views.items()}


@pytest.mark.parametrize("kind", ["series", "baseline"])
def test_labels_are_matched_by_id(kind):
    views, y = clustered_views(N)
    ids = pd.Index([f"s{i}" for i in range(N)])
    labels = pd.Series(y, index=ids)
    if kind == "baseline":
        labels = OPMC(3, random_state=0).fit(frames(views, ids))
        y = labels.labels_
    rows = np.random.default_rng(0).permutation(N)[:100]
    some = MultiViewData(frames(views, ids))[rows]
    labeled = labeled_source(labels, some)
    np.testing.assert_array_equal(labeled.clusters[collected(labeled)[2]], y[rows])


def test_labels_without_ids_are_matched_by_position():
    views, y = clustered_views(N)
    text_ids = frames(views, pd.Index([f"s{i}" for i in range(N)]))
    integer_ids = frames(views, pd.Index(np.arange(N)[::-1].copy()))
    for labels, data in [
        (y, views),
        (list(y), text_ids),
        (pd.Series(y), text_ids),
        (y, integer_ids),
        (pd.Series(y, index=text_ids["view_0"].index), views),
        (OPMC(3, random_state=0).fit(views), integer_ids),
    ]:
        expected = labels.labels_ if isinstance(labels, OPMC) else y
        labeled = labeled_source(labels, data)
        np.testing.assert_array_equal(labeled.clusters[collected(labeled)[2]], expected)
    # A series with an integer index is matched to integer ids.
    labeled = labeled_source(pd.Series(y), integer_ids)
    np.testing.assert_array_equal(labeled.clusters[collected(labeled)[2]], y[::-1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(N - 1), f"There are {N} samples in X, but {N - 1} in the vector of labels"),
        (np.zeros((N, 2)), f"shape ({N}, 2)"),
        (pd.Series(0, index=[f"s{i}" for i in range(1, N + 1)]), "1 of 150 samples in X are not "
         "in the vector of labels: 's0'. It has ids such as 's1'"),
        (pd.Series(0, index=pd.RangeIndex(5, N + 5)), "150 of 150 samples in X are not"),
        (pd.Series(0, index=["s0"] * N), "has the sample id 's0' more than once"),
        (pd.Series([0.0, np.nan] * (N // 2), index=[f"s{i}" for i in range(N)]),
         "75 label(s) are missing (NaN), the first that of sample 's1'"),
    ],
)  # fmt: skip
def test_labels_that_do_not_belong_to_the_samples_raise(labels, message):
    views, _ = clustered_views(N)
    data = frames(views, pd.Index([f"s{i}" for i in range(N)]))
    with pytest.raises(ValueError, match=re.escape(message)):
        labeled_source(labels, data)
