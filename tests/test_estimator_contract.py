"""What every estimator promises in every form of input: DALMC, AutoDALMC and all baselines.

A relation changes the data in a way that must not change the result, or changes it in a known way.
`EXEMPTIONS` has the relations that a method does not have, with the reason.
"""

from functools import cache
from typing import NamedTuple

import anndata
import dask.array as da
import dask.dataframe as dd
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from anchorview import MultiViewData, load
from anchorview._utils import threads
from anchorview.datasets import open_views, read_views
from anchorview.estimators.methods import REGISTRY, method_class
from anchorview.views import row_source
from helpers.data import clustered_views
from helpers.installed import require_installed
from helpers.view_files import converted_files, csv_files, write_npy_folder

N, K, WIDTHS = 60, 3, (10, 8, 6)
METHODS = [method.name for method in REGISTRY]
QUICK = {"auto": {"budget": "fast"}}
QUICK |= {name: {"n_init": 3} for name in ("awmvc", "dalmc", "fpmvs-cag", "opmc", "smvsc")}
QUICK |= {"eomsc-ca": {"max_iter": 5}, "lmvsc": {"n_anchors": 6}, "sfmc": {"max_iter": 2}}


@pytest.fixture(autouse=True)
def small_blocks(set_constants):
    """Have several blocks of rows, so that their sums and order matter."""
    set_constants(row_source, CACHED_BLOCK=4096)


def make(name, **params):
    require_installed(name)
    return method_class(name)(K, random_state=0, **QUICK.get(name, {}), **params)


@cache
def tables():
    """Views as frames with sample ids and feature names; clusters overlap a little."""
    views, _ = clustered_views(N, K, WIDTHS, separation=4.0)
    ids = pd.Index([f"s{i:03}" for i in range(N)])
    return {
        name: pd.DataFrame(view, ids, [f"{name}_{j}" for j in range(view.shape[1])])
        for name, view in zip(("image", "sound", "text"), views.values(), strict=True)
    }


# Forms of input, made of frames; those with ids or feature names are marked.


def arrays(tables, _):
    return {name: table.to_numpy() for name, table in tables.items()}


def frames(tables, _):
    return tables


def shuffled_frames(tables, _):
    """Frames whose rows are in another order in each view but the first."""
    first, *others = tables
    shuffled = {name: tables[name].sample(frac=1, random_state=1) for name in others}
    return {first: tables[first], **shuffled}


def sparse_matrices(tables, _):
    return {name: sparse.csc_array(table.to_numpy()) for name, table in tables.items()}


def sparse_halves(tables, _):
    """CSR matrices that store every value as two halves, which SciPy adds up."""
    return {name: halves(table.to_numpy()) for name, table in tables.items()}


def halves(X):
    n, d = X.shape
    columns = np.repeat(np.tile(np.arange(d), n), 2)
    return sparse.csr_array((np.repeat(X.ravel() / 2, 2), columns, 2 * d * np.arange(n + 1)))


def container(tables, _):
    return MultiViewData(tables)


def annotated(tables, _):
    return {
        name: anndata.AnnData(sparse.csr_array(table.to_numpy()), table[[]], table.T[[]])
        for name, table in tables.items()
    }


def npz_file(tables, folder):
    np.savez(folder / "views.npz", **arrays(tables, folder))
    return read_views(folder / "views.npz")


def npy_files(tables, folder):
    return open_views(write_npy_folder(folder, **arrays(tables, folder)))


def parquet_files(tables, folder):
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet")
    return open_views(folder)


def dask_arrays(tables, folder):
    chunks = (30, 25, N)
    views = arrays(tables, folder).items()
    return {name: da.from_array(view, (chunks[p], -1)) for p, (name, view) in enumerate(views)}


def dask_frames(tables, _):
    return {name: dd.from_pandas(table, npartitions=3) for name, table in tables.items()}


WITH_IDS = [frames, shuffled_frames, container, annotated, csv_files, dask_frames]
WITH_FEATURE_NAMES = [*WITH_IDS, parquet_files]
PLAIN = [arrays, sparse_matrices, sparse_halves, npz_file, npy_files, dask_arrays]
FORMS = [*PLAIN, *WITH_FEATURE_NAMES]

# Methods share the way from the input to matrices: baselines one, the others another.
REPRESENTATIVES = ["dalmc", "concat-kmeans"]
IN_FORMS = [(name, form) for name in REPRESENTATIVES for form in FORMS]
IN_FORMS += [("auto", form) for form in (npy_files, dask_frames)]


@cache
def reference(name):
    """Fit on frames."""
    return make(name).fit(tables())


def labels_of(model):
    return np.asarray(model.labels_)


def assert_same(model, expected, rows=slice(None), rtol=1e-6):
    """Two fits have the same clusters, and the same weights of views by name."""
    assert adjusted_rand_score(labels_of(model), labels_of(expected)[rows]) == 1
    weights, wanted = (
        dict(zip(each.view_names_in_, each.views_["weight"], strict=True))
        for each in (model, expected)
    )
    assert weights == pytest.approx(wanted, rel=rtol)


@pytest.mark.parametrize(
    ("name", "form"), IN_FORMS, ids=lambda given: getattr(given, "__name__", given)
)
def test_forms_of_input_give_the_same_result_with_names_and_ids(name, form, tmp_path):
    model = make(name).fit(form(tables(), tmp_path))
    assert_same(model, reference(name))
    assert model.view_names_in_ == tuple(tables())
    if form in WITH_IDS:
        ids = next(iter(tables().values())).index
        np.testing.assert_array_equal(np.asarray(model.sample_ids_), ids)
        labels = pd.Series(labels_of(model), np.asarray(model.sample_ids_))
        assert adjusted_rand_score(labels[ids[::-1]], reference(name).labels_[::-1]) == 1
    if form in WITH_FEATURE_NAMES:
        for names, table in zip(model.feature_names_per_view_, tables().values(), strict=True):
            np.testing.assert_array_equal(names, table.columns)


@pytest.mark.parametrize("name", METHODS)
def test_attributes_mean_the_same_in_every_estimator(name):
    model = reference(name)
    assert model.labels_.shape == (N,)
    assert model.labels_.dtype == np.int32
    assert isinstance(model.views_["weight"], pd.Series)
    assert model.views_["weight"].index.tolist() == list(tables())
    assert (model.views_["weight"] >= 0).all()
    assert model.views_["weight"].sum() == pytest.approx(1)
    # The objective after each iteration.
    assert model.objective_.shape == (model.n_iter_,)
    assert np.isfinite(model.objective_).all()
    assert model.n_views_in_ == len(WIDTHS)
    assert model.n_features_per_view_ == WIDTHS
    assert model.n_features_in_ == sum(WIDTHS)


@pytest.mark.parametrize("name", METHODS)
def test_a_refused_fit_leaves_the_model_as_it_was(name):
    model = make(name).fit(tables())
    before = dict(vars(model))
    refused = dict(tables(), sound=pd.DataFrame(1.0, tables()["sound"].index, list("abc")))
    with pytest.raises(ValueError, match="constant"):
        model.fit(refused)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[attribute] is value for attribute, value in before.items())
    unfitted = make(name)
    parameters = set(vars(unfitted))
    with pytest.raises(ValueError, match="constant"):
        unfitted.fit(refused)
    assert set(vars(unfitted)) == parameters


# Relations: changed tables, and the rows of the first fit that the samples are now.


class Changed(NamedTuple):
    tables: dict
    rows: slice | np.ndarray = slice(None)
    rtol: float = 1e-6


def permuted_samples(tables):
    order = np.random.default_rng(0).permutation(N)
    return Changed({name: table.iloc[order] for name, table in tables.items()}, order)


def permuted_views(tables):
    return Changed(dict(reversed(tables.items())))


def permuted_features(tables):
    return Changed(
        {name: table.sample(frac=1, axis=1, random_state=0) for name, table in tables.items()}
    )


def duplicated_samples(tables):
    rows = np.repeat(np.arange(N), 2)
    ids = [f"{sample}{copy}" for sample in next(iter(tables.values())).index for copy in "ab"]
    copies = {name: table.iloc[rows].set_axis(ids) for name, table in tables.items()}
    return Changed(copies, rows)


def added_constant(tables):
    return Changed({name: table + 7.0 for name, table in tables.items()})


def shifted_features(tables):
    return Changed(
        {name: table + 3.0 * np.arange(table.shape[1]) for name, table in tables.items()}
    )


def rescaled_views(tables):
    factors = dict(zip(tables, (1e3, 1e-5, -1.0), strict=True))
    return Changed({name: factors[name] * table for name, table in tables.items()})


def single_precision(tables):
    return Changed({n: table.astype(np.float32) for n, table in tables.items()}, rtol=1e-3)


RELATIONS = [
    permuted_samples,
    permuted_views,
    permuted_features,
    duplicated_samples,
    added_constant,
    shifted_features,
    rescaled_views,
    single_precision,
]
CASES = [(name, arrays) for name in METHODS]
CASES += [("dalmc", form) for form in (sparse_matrices, npy_files, dask_arrays)]

ANCHORS = "BMVC draws anchors at random by the position of samples and views"
CENTERS = "anchors are K-means centers from random starts by the order of samples"
NEIGHBORS = "the nearest neighbors of a sample are its copies then"
EXEMPTIONS = {
    (permuted_samples, "bmvc"): ANCHORS,
    (permuted_views, "bmvc"): ANCHORS,
    (duplicated_samples, "bmvc"): ANCHORS,
    (duplicated_samples, "amgl"): NEIGHBORS,
    (duplicated_samples, "uomvsc"): NEIGHBORS,
    (duplicated_samples, "concat-hdbscan"): "copies count for its minimum size of clusters",
    (duplicated_samples, "lmvsc"): CENTERS,
    (duplicated_samples, "mvsc"): CENTERS,
    (single_precision, "mvsc"): CENTERS,
    (duplicated_samples, "sfmc"): "anchors of SFMC are samples, so that some are copies then",
    (rescaled_views, "sfmc"): "SFMC chooses anchors by sums of features, which have a sign",
    (single_precision, "sfmc"): "the choice of anchors of SFMC amplifies rounding",
    (duplicated_samples, "eomsc-ca"): "columns of its graph sum to 1 for any number of samples",
    (shifted_features, "opmc"): "OPMC standardizes rows, not columns, as its authors do",
}
"""Relations that a method does not have, and why."""

DIVISOR = "deviations have the divisor n - 1, as in the authors' programs"
LANDMARKS = "landmarks are drawn in an order that depends on the columns and their values"
FAMILIES = "some candidates normalize rows before columns are centered"
APPROXIMATE_WEIGHTS = {
    (duplicated_samples, "smvsc"): (1e-3, DIVISOR),
    (duplicated_samples, "fpmvs-cag"): (1e-3, DIVISOR),
    (duplicated_samples, "omsc"): (1e-3, DIVISOR),
    (permuted_features, "auto"): (0.01, LANDMARKS),
    (rescaled_views, "auto"): (0.01, LANDMARKS),
    (added_constant, "auto"): (0.3, FAMILIES),
    (shifted_features, "auto"): (0.3, FAMILIES),
}
"""Relations in which the labels are the same but the view weights only up to this, and why."""


def shown(parameter):
    return getattr(parameter, "__name__", parameter)


@pytest.mark.parametrize(("name", "form"), CASES, ids=shown)
@pytest.mark.parametrize("relation", RELATIONS, ids=shown)
def test_relations(name, form, relation, tmp_path):
    if (relation, name) in EXEMPTIONS:
        pytest.skip(EXEMPTIONS[relation, name])
    changed = relation(tables())
    model = make(name).fit(form(changed.tables, tmp_path))
    rtol, _ = APPROXIMATE_WEIGHTS.get((relation, name), (changed.rtol, None))
    assert_same(model, reference(name), changed.rows, rtol)


@pytest.mark.parametrize("name", METHODS)
def test_a_second_fit_is_identical_and_leaves_the_input_alone(name, tmp_path):
    views = arrays(tables(), tmp_path)
    before = {key: view.copy() for key, view in views.items()}
    first = make(name).fit(views)
    labels, weights = first.labels_.copy(), first.views_["weight"].copy()
    # A list has no names of views, which must not matter for anything but the names.
    for model in (first.fit(views), clone(first).fit(list(views.values()))):
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.views_["weight"], weights)
    for key, view in views.items():
        np.testing.assert_array_equal(view, before[key])


@pytest.mark.parametrize("name", METHODS)
def test_threads_do_not_change_the_result(name, set_constants):
    models = []
    for cores in (1, 2):
        set_constants(threads, n_cores=lambda cores=cores: cores)
        with threadpool_limits(cores):
            models.append(make(name).fit(tables()))
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_allclose(models[0].views_["weight"], models[1].views_["weight"], rtol=1e-9)


# New samples.

PREDICTING = [("dalmc", form) for form in FORMS] + [("auto", frames), ("auto", npy_files)]


@pytest.mark.parametrize(("name", "form"), PREDICTING, ids=shown)
def test_predict_and_saved_models_give_the_labels_of_the_fit(name, form, tmp_path):
    (tmp_path / "data").mkdir()
    views = form(tables(), tmp_path / "data")
    model = make(name).fit(views)
    predicted = model.predict(views)
    np.testing.assert_array_equal(np.asarray(predicted), labels_of(model))
    if form in WITH_IDS and form is not dask_frames:
        pd.testing.assert_series_equal(predicted, model.labels_series)
    model.save(tmp_path / "model.anchorview")
    loaded = load(tmp_path / "model.anchorview")
    np.testing.assert_array_equal(np.asarray(loaded.predict(views)), labels_of(model))
    np.testing.assert_array_equal(
        np.asarray(loaded.transform(views)), np.asarray(model.transform(views))
    )
    for each in (model, loaded):
        assert each.view_names_in_ == tuple(tables())
        if form in WITH_FEATURE_NAMES:
            np.testing.assert_array_equal(
                np.concatenate(each.feature_names_per_view_),
                np.concatenate([table.columns for table in tables().values()]),
            )


def converted_files_in_memory(tables, folder):
    return read_views(converted_files(tables, folder).path)


def sparse_mudata(tables, folder):
    return mudata.MuData(annotated(tables, folder))


NAMED = [(name, form) for name, form in PREDICTING if form in WITH_FEATURE_NAMES]
NAMED += [("dalmc", form) for form in (converted_files, converted_files_in_memory, sparse_mudata)]


@pytest.mark.filterwarnings("ignore:::mudata\\b")
@pytest.mark.parametrize(("name", "form"), NAMED, ids=shown)
def test_new_samples_are_matched_by_view_and_feature_names(name, form, tmp_path):
    model = reference(name)
    other_order = {key: table.iloc[:, ::-1] for key, table in reversed(tables().items())}
    renamed = {key: table.rename(columns={f"{key}_3": "other"}) for key, table in tables().items()}
    for folder in ("order", "renamed"):
        (tmp_path / folder).mkdir()
    found = model.predict(form(other_order, tmp_path / "order"))
    np.testing.assert_array_equal(np.asarray(found), model.labels_)
    listed = r"view 0 \('image'\).* lacks 1 feature \('image_3'\).*has 1 feature \('other'\)"
    with pytest.raises(ValueError, match=listed):
        model.predict(form(renamed, tmp_path / "renamed"))


# Batches, covariates and mappings are matched by id and by name, in any order.

TAKES_OUT = ["dalmc", "auto"]


@cache
def design():
    """Batch and covariates of each sample, by id."""
    rng = np.random.default_rng(3)
    ids = tables()["image"].index
    covariates = pd.DataFrame(rng.gamma(2, size=(N, 2)) * (1, 5), ids)
    covariates.columns = ["covariate_0", "covariate_1"]
    return pd.Series(rng.permutation(np.arange(N) % 2), ids), covariates


@pytest.mark.parametrize("name", TAKES_OUT)
@pytest.mark.parametrize("form", [frames, shuffled_frames, csv_files, dask_frames], ids=shown)
def test_batches_and_covariates_are_matched_by_id_and_name(name, form, tmp_path):
    batch, covariates = design()
    model = make(name).fit(tables(), batch=batch.to_numpy(), covariates=covariates)
    order = np.random.default_rng(4).permutation(N)
    batches = batch.iloc[order].map({0: "a", 1: "b"})
    views = form(tables(), tmp_path)
    again = make(name).fit(views, batch=batches, covariates=covariates.iloc[order, ::-1])
    assert_same(again, model)
    predicted = model.predict(
        views, batch=batch.iloc[order], covariates=covariates.iloc[order[::-1], ::-1]
    )
    np.testing.assert_array_equal(np.asarray(predicted), labels_of(model))
    for wrong in (
        {"batch": batch, "covariates": covariates.set_axis(["age", "age"], axis=1)},
        {"batch": [np.nan, *batch[1:]], "covariates": covariates},
        {"batch": batch[1:], "covariates": covariates},
        {"batch": batch, "covariates": covariates.assign(other=1.0)},
    ):
        with pytest.raises(ValueError, match=r"more than once|exactly these|is missing for|not in"):
            model.predict(views, **wrong)
        if "other" not in wrong["covariates"]:
            with pytest.raises(ValueError, match=r"more than once|is missing for|not in"):
                make(name).fit(views, **wrong)


@pytest.mark.parametrize(
    ("name", "step"),
    [("dalmc", "impute-mean"), ("dalmc", "clr"), ("dalmc", StandardScaler()), ("auto", "clr")],
    ids=str,
)
def test_mappings_are_matched_by_name(name, step):
    views = {key: table.abs() for key, table in tables().items()}
    if step == "impute-mean":
        views["sound"] = views["sound"].mask(np.eye(N, WIDTHS[1]) == 1)
    models = [
        make(name, preprocess=mapping).fit(given)
        for mapping in ({"sound": step}, {"text": None, "sound": step})
        for given in (views, dict(reversed(views.items())))
    ]
    for model in models[1:]:
        assert_same(model, models[0])
    with pytest.raises(ValueError, match="names the view 'noise'"):
        make(name, preprocess={"noise": step}).fit(views)


# Bad input.


class Unreadable:
    """An object of another library that must not be read element by element."""

    def __len__(self):
        raise AssertionError

    __iter__ = __getitem__ = __len__


def spoiled(value, row=7, column=2):
    table = tables()["sound"].copy()
    table.iloc[row, column] = value
    return table


def beside(view):
    """Views of which the second is bad."""
    return {"image": tables()["image"], "sound": view}


VIEW = r"view 1 \('sound'\)"
GOOD = next(iter(tables().values()))
BAD_INPUT = {
    "nothing": ([], "There are no views"),
    "number": (3, "list, tuple or dict of 2-D arrays"),
    "unknown object": (beside(Unreadable()), f"{VIEW} is of type Unreadable, which"),
    "vector": (beside(np.ones(N)), rf"{VIEW} has shape \(\d+,\).*reshape\(-1, 1\)"),
    "stacked views": (np.ones((2, N, 4)), r"has shape .*, got 3D array instead.*list\(array\)"),
    "no features": (beside(GOOD[[]]), f"{VIEW} is empty.* 0 feature"),
    "other length": ([GOOD.to_numpy(), np.ones((9, 2))], f"view 0 has {N} .* view 1 has 9"),
    "other ids": (beside(GOOD.add_prefix("t", axis=0)), "shares no sample with another view"),
    "repeated ids": (beside(GOOD.rename({"s001": "s000"})), f"{VIEW} has the sample id 's000'"),
    "NaN": (beside(spoiled(np.nan).to_numpy()), rf"{VIEW} contains NaN at row 7 \(sample 's007'\)"),
    "infinity": (beside(spoiled(-np.inf)), f"{VIEW} contains infinity at row 7"),
    "huge value": (beside(spoiled(1e200)), rf"{VIEW} has 1e\+200 at row 7.* too large"),
    "tiny values": (beside(1e-180 * GOOD), f"{VIEW} is zero after scaling"),
    "text": (beside(GOOD.assign(t=["x", *[1.0] * (N - 1)])), f"{VIEW}.*column 't' is not numeric"),
    "complex": (beside(GOOD.to_numpy() + 1j), f"{VIEW} is complex"),
    "constant view": (beside(0 * GOOD + 3), f"{VIEW} is constant"),
    "few samples": (GOOD[:2], "n_samples=2 should be >= n_clusters=3"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_bad_input_is_refused(name, case):
    views, message = BAD_INPUT[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make(name).fit(views)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize("form", [sparse_matrices, npy_files, dask_arrays, dask_frames], ids=shown)
@pytest.mark.parametrize("case", ["NaN", "infinity", "huge value", "tiny values", "constant view"])
def test_bad_values_are_refused_in_every_source(form, case, tmp_path):
    views, message = BAD_INPUT[case]
    views = beside(spoiled(np.nan)) if case == "NaN" else views
    views = form({"image": views["image"], "sound": views["sound"]}, tmp_path)
    with pytest.raises(ValueError, match=message.split(" at row")[0]):
        make("dalmc", solver="compressed").fit(views)
