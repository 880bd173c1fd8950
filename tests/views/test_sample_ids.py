"""Samples are matched by id: the same id has the same label in every form of input."""

import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import anndata
import dask.dataframe as dd
import mudata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC, MultiViewData, make_multiview
from anchorview.compared import OPMC
from anchorview.inspection import (
    associate,
    cluster_markers,
    cluster_summary,
    compare_partitions,
    doubtful,
    leave_one_view_out,
    memberships,
    outlier_scores,
    representatives,
    view_contributions,
)
from helpers.dask_problems import stored
from helpers.view_files import converted_files, csv_files

N = 40
SHARED = "share only .* sample ids"


@pytest.fixture(scope="module")
def views():
    return make_multiview(N, n_clusters=3, random_state=0)[0]


def framed(views, ids):
    return {
        name: pd.DataFrame(view, list(of_view), [f"{name}{j}" for j in range(view.shape[1])])
        for (name, view), of_view in zip(views.items(), ids, strict=True)
    }


def dask_frames(frames, _):
    return {
        name: dd.from_pandas(frame.sort_index(), npartitions=2) for name, frame in frames.items()
    }


def fast_auto(k, **params):
    return AutoDALMC(k, budget="fast", **params)


FORMS = {
    "frames": lambda frames, _: frames,
    "other order": lambda frames, _: dict(reversed(frames.items())),
    "container": lambda frames, _: MultiViewData(frames),
    "anndata": lambda frames, _: {
        name: anndata.AnnData(frame.to_numpy(), frame[[]], frame.T[[]])
        for name, frame in frames.items()
    },
    "csv": csv_files,
    "npy": converted_files,
    "dask": dask_frames,
}


def by_id(values, source_ids):
    """Values as a Series by id as text, since files have no other ids."""
    if not isinstance(values, pd.Series):
        values = pd.Series(np.asarray(values), np.asarray(source_ids))
    return values.rename(str).sort_index()


def tables_of(model, X):
    """What other functions say of samples, by id, and of clusters."""
    samples = [
        view_contributions(model, X),
        representatives(model, X, n_samples=2).set_index("sample"),
        doubtful(model, X, n_samples=N).set_index("sample"),
    ]
    summary = cluster_summary(model, X)
    summary["medoids"] = summary["medoids"].map(lambda ids: tuple(map(str, ids)))
    markers = cluster_markers(model, X).set_index(["cluster", "view", "feature"])
    by_sample = [table.rename(str).rename_axis(None).sort_index() for table in samples]
    return [*by_sample, summary.drop(columns="features"), markers]


IDS = st.lists(
    st.text("abcxyzAB0123456789", min_size=1, max_size=6).map("s".__add__),
    min_size=N,
    max_size=N,
    unique=True,
)
SEEDS = st.integers(0, 2**32 - 1)


def shuffled(ids, seed):
    """Views with these ids: each has its order of the samples, and lacks some."""
    views, y = make_multiview(N, n_clusters=3, random_state=0)
    rng = np.random.default_rng(seed)
    new = {
        name: frame.iloc[rng.permutation(N)[: N - 4 * p]]
        for p, (name, frame) in enumerate(framed(views, [ids] * len(views)).items())
    }
    return new, pd.DataFrame({"class": y.astype(str)}, ids).iloc[rng.permutation(N)]


@cache
def fitted(make):
    views, _ = make_multiview(N, n_clusters=3, random_state=0)
    return make(3, random_state=0).fit(framed(views, [range(N)] * len(views)))


@pytest.mark.parametrize("make", [DALMC, fast_auto])
@settings(max_examples=2)
@given(IDS, SEEDS)
@pytest.mark.filterwarnings("ignore:Transforming to str index")
def test_an_id_has_the_same_label_in_every_form(make, ids, seed):
    model, (new, _) = fitted(make), shuffled(ids, seed)
    expected = by_id(model.predict(new), None)
    assert expected.dtype == np.int32
    scores, tables = by_id(outlier_scores(model, new), None), tables_of(model, new)
    for name, form in FORMS.items():
        with TemporaryDirectory() as folder:
            given_views = form(new, Path(folder))
            # In Dask, labels have no ids; those of another function have the same order.
            labels = by_id(model.predict(given_views), memberships(model, given_views).index)
            pd.testing.assert_series_equal(labels, expected, check_names=False, obj=name)
            if make is DALMC:
                likely = memberships(model, given_views).idxmax(axis=1)
                pd.testing.assert_series_equal(
                    by_id(likely, None), expected, check_names=False, check_dtype=False
                )
            else:
                found = model.predict_with_confidence(given_views)
                wanted = model.predict_with_confidence(new)
                for a, b in zip(found, wanted, strict=True):
                    a = by_id(a, memberships(model, given_views).index)
                    pd.testing.assert_series_equal(a, by_id(b, None), check_names=False)
            found = by_id(outlier_scores(model, given_views), None)
            pd.testing.assert_series_equal(found, scores, rtol=1e-4)
            for table, wanted in zip(tables_of(model, given_views), tables, strict=True):
                pd.testing.assert_frame_equal(table, wanted, rtol=1e-4, check_like=True, obj=name)


@settings(max_examples=1)
@given(IDS, SEEDS)
@pytest.mark.filterwarnings("ignore:Transforming to str index")
def test_a_fit_gives_an_id_the_same_label_in_every_form(ids, seed):
    new, table = shuffled(ids, seed)
    model = DALMC(3, random_state=0)
    labels = by_id(model.fit_predict(new), None)
    left_out = leave_one_view_out(model, new)
    for name, form in FORMS.items():
        with TemporaryDirectory() as folder:
            given_views = form(new, Path(folder))
            again = DALMC(3, random_state=0).fit(given_views)
            found = by_id(again.labels_, again.sample_ids_)
            assert found.index.tolist() == labels.index.tolist()
            assert adjusted_rand_score(found, labels) == 1, name
            assert compare_partitions(again, model).scores["ARI"] == 1
            pd.testing.assert_frame_equal(associate(again, table), associate(model, table))
            refits = leave_one_view_out(again, given_views).loc[left_out.index]
            pd.testing.assert_frame_equal(refits, left_out, rtol=1e-4)


@pytest.mark.parametrize("make", [DALMC, fast_auto, OPMC])
@pytest.mark.filterwarnings("ignore:view 0 does not have valid feature names")
def test_frames_give_series_and_arrays_give_arrays(make, views):
    frames = framed(views, [[f"s{i}" for i in range(N)]] * len(views))
    shuffled = {name: frame[::-1] if p else frame for p, (name, frame) in enumerate(frames.items())}
    model = make(3, random_state=0)
    labels = model.fit_predict(shuffled)
    assert isinstance(model.labels_, np.ndarray)
    pd.testing.assert_series_equal(labels, model.labels_series)
    assert isinstance(make(3, random_state=0).fit_predict(views), np.ndarray)
    if not hasattr(model, "predict"):
        return
    table = next(iter(frames.values())).copy()
    table["cluster"] = model.predict(dict(reversed(shuffled.items())))
    np.testing.assert_array_equal(table["cluster"], model.labels_)
    assert model.predict(frames).name == "cluster"
    assert isinstance(model.predict(views), np.ndarray)
    if hasattr(model, "predict_with_confidence"):
        found = model.predict_with_confidence(frames)
        assert [values.name for values in found] == ["cluster", "confidence"]


def test_shared_ids_are_expected_unless_join_is_given(views, tmp_path):
    ids = [[f"{letter * (i > 5)}{i}" for i in range(N)] for letter in "abc"]
    frames = framed(views, ids)
    forms = [FORMS[name](frames, tmp_path) for name in ("frames", "anndata", "csv", "dask")]
    for given_views in forms:
        with pytest.warns(UserWarning, match=f"{SHARED}.*join='outer'"):
            model = DALMC(3, random_state=0).fit(given_views)
        with pytest.warns(UserWarning, match=SHARED):
            model.predict(given_views)
    with pytest.warns(UserWarning, match=SHARED):
        MultiViewData(frames)
    # A small view of which half is shared is a subset, not misspelled.
    part = {name: frame[: 10 if p else N] for p, (name, frame) in enumerate(frames.items())}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", SHARED)
        DALMC(3, random_state=0).fit(part)
        DALMC(2, random_state=0, solver="direct").fit(frames, join="inner")
        for given_views in (forms[0], forms[3]):
            DALMC(3, random_state=0).fit(given_views, join="outer").predict(given_views)


@pytest.mark.parametrize("form", ["memory", "sparse", "files", "MuData"])
@pytest.mark.filterwarnings("ignore:::mudata\\b")
def test_a_hint_names_views_of_raw_counts(form, views, tmp_path):
    rng = np.random.default_rng(0)
    means = (
        np.exp(rng.normal(0, 2, 60)) * np.exp(rng.normal(size=(3, 60)))[rng.integers(3, size=200)]
    )
    counts, other = rng.poisson(rng.gamma(1, 1, (200, 60)) * 5 * means), rng.normal(size=(200, 8))
    assert counts.max() > 255
    given_views = {"rna": sparse.csr_array(counts) if form == "sparse" else counts, "other": other}
    if form == "files":
        given_views = stored(tmp_path, given_views)
    if form == "MuData":
        given_views = {name: anndata.AnnData(view) for name, view in given_views.items()}
        given_views = mudata.MuData(given_views)
    with pytest.warns(UserWarning, match=r"^view \d \('rna'\): .* raw counts") as caught:
        DALMC(3, random_state=0).fit(given_views)
    assert sum("raw counts" in str(warning.message) for warning in caught) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*raw counts")
        for preprocess in ({"rna": "lognorm"}, {}):
            DALMC(3, random_state=0, preprocess=preprocess).fit(given_views)
        images = {"image": np.minimum(counts, 255).astype(np.uint8), "scale": counts.clip(max=5)}
        DALMC(3, random_state=0).fit(images)
