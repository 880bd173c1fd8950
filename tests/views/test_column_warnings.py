"""Columns that are probably not features: sample ids and class labels left in a view."""

import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, MultiViewData
from anchorview.datasets import open_views, read_views
from helpers.data import clustered_views

N = 60
IDS = {
    "row numbers": np.arange(N),
    "row numbers from 1 as floats": np.arange(1.0, N + 1),
    "shuffled row numbers": np.random.default_rng(0).permutation(N),
    "sorted with gaps": np.cumsum(np.random.default_rng(0).integers(1, 9999, N)),
    "descending": 10**6 - 17 * np.arange(N),
}


def frames(**columns):
    """Two views, the second with additional columns in front."""
    views, _ = clustered_views(N, widths=(6, 5))
    names = [f"f{j}" for j in range(5)]
    return {
        "a": pd.DataFrame(views["view_0"]),
        "b": pd.concat(
            [pd.DataFrame(columns), pd.DataFrame(views["view_1"], columns=names)], axis=1
        ),
    }


def no_warning(views):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiViewData(views)


@pytest.mark.parametrize("kind", IDS)
def test_ids_in_the_first_column(kind):
    views = frames(patient_no=IDS[kind])
    for use in (MultiViewData, DALMC(3, random_state=0).fit):
        with pytest.warns(UserWarning, match=r"view 1 \('b'\): the first column, 'patient_no'"):
            use(views)


def test_integers_and_coordinates_are_not_taken_for_ids_or_labels():
    rng = np.random.default_rng(0)
    for values in (rng.poisson(3, N), rng.random(N) < 0.5, np.sort(rng.standard_normal(N))):
        no_warning(frames(values=values))
    no_warning(frames(f=rng.standard_normal(N), row=np.arange(N)))
    no_warning({name: view[:9] for name, view in frames(row=np.arange(N)).items()})
    no_warning(pd.DataFrame(rng.integers(256, size=(N, 20)), dtype=np.uint8))
    no_warning(frames(x=rng.random(N), y=rng.random(N)))


@pytest.mark.parametrize("form", ["read", "opened", "dask"])
def test_tables_in_files_and_in_dask(tmp_path, form):
    views = frames(f=np.ones(N), target=np.repeat([0, 1, 2], N // 3))
    if form == "dask":
        X = {name: dd.from_pandas(view, npartitions=2) for name, view in views.items()}
    else:
        for name, view in views.items():
            view.rename(index="s{}".format, columns=str).to_parquet(tmp_path / f"{name}.parquet")
        X = (read_views if form == "read" else open_views)(tmp_path)
    with pytest.warns(UserWarning, match=r"view 1 \('b'\): column 'target' is named like class"):
        DALMC(3, random_state=0).fit(X)
