"""Transformers of single views: counts as in scanpy, means, and tables as in FAMD."""

import anndata
import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anchorview import MultiViewData
from anchorview.estimators.preparation import STEPS, fit_preparation
from anchorview.preprocessing import (
    CellImputer,
    CenteredLogRatio,
    LogNormalizer,
    PeakTfidf,
    TableEncoder,
)

COUNTS = np.random.default_rng(0).poisson(1.0, (40, 7)).astype(np.float32)
COUNTS[3] = 0
COUNTS[:, 5] = 0
FORMS = [np.asarray, sparse.csr_array]


def preprocessed(X, step):
    view = STEPS[step].fit_transform(X)
    assert sparse.issparse(view) == sparse.issparse(X)
    return view.toarray() if sparse.issparse(view) else view


@pytest.mark.filterwarnings("ignore:Some cells have zero counts")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_log_normalization_is_that_of_scanpy(form, dtype):
    scanpy = pytest.importorskip("scanpy")
    cells = anndata.AnnData(COUNTS.astype(np.float64))
    scanpy.pp.normalize_total(cells)
    scanpy.pp.log1p(cells)
    found = preprocessed(form(COUNTS.astype(dtype)), "lognorm")
    np.testing.assert_allclose(found, cells.X, rtol=2e-6, atol=1e-7)
    assert found.dtype == (np.float32 if dtype in (np.float32, np.uint8) else np.float64)


@pytest.mark.parametrize("form", FORMS)
def test_tfidf_and_clr_by_their_definitions(form):
    X = COUNTS.astype(np.float64)
    totals = X.sum(axis=1, keepdims=True)
    tf = np.log1p(1e4 * np.divide(X, totals, out=np.zeros_like(X), where=totals > 0))
    sums = X.sum(axis=0)
    idf = np.log1p(np.divide(len(X), sums, out=np.zeros_like(sums), where=sums > 0))
    np.testing.assert_allclose(preprocessed(form(X), "tfidf"), tf * idf, rtol=1e-12)
    geometric = np.exp(np.log1p(X).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(preprocessed(form(X), "clr"), np.log1p(X / geometric), rtol=1e-12)


def test_samples_without_the_view_do_not_count():
    gaps = COUNTS.copy()
    gaps[::4] = np.nan
    other = np.random.default_rng(1).normal(size=(40, 2))
    data = MultiViewData({"a": gaps, "b": other})
    preparation = fit_preparation(data, {"a": "tfidf"})
    assert preparation.steps[1] is None
    alone = PeakTfidf().fit(COUNTS[np.arange(40) % 4 != 0])
    np.testing.assert_allclose(preparation.steps[0].sums_, alone.sums_)
    found = preparation(data)
    np.testing.assert_array_equal(found.available, data.available)
    np.testing.assert_array_equal(found.views[1], other)


@pytest.mark.parametrize("form", FORMS)
def test_negative_values_are_no_counts(form):
    wrong = COUNTS.copy()
    wrong[12, 2] = -0.5
    data = MultiViewData({"a": COUNTS, "b": form(wrong)})
    with pytest.raises(ValueError, match=r"'b'.* row 12, column 2"):
        fit_preparation(data, {"b": "lognorm"})
    with pytest.raises(ValueError, match="needs counts"):
        CenteredLogRatio().fit(COUNTS).transform(form(wrong))


TABLE = pd.DataFrame(
    {
        "age": [20.0, 31, 44, np.nan, 58, 23, 37, 40],
        "plan": ["free", "pro", "pro", "team", None, "free", "free", "team"],
        "active": [True, False, True, True, False, True, False, True],
        "region": pd.Categorical([3, 1, 1, 2, 3, 3, 2, 1]),
        "since": pd.to_datetime(["2020-01-01", None, *["2021-06-01", "2024-02-02"] * 3]),
    }
)


def test_encoding_is_that_of_factor_analysis_of_mixed_data():
    encoder = TableEncoder(dtype="float64").fit(TABLE)
    found = pd.DataFrame(encoder.transform(TABLE), columns=encoder.get_feature_names_out())
    age = TABLE["age"]
    np.testing.assert_allclose(
        found["age"], ((age - age.mean()) / age.std(ddof=0)).fillna(0), atol=1e-12
    )
    for plan, share in TABLE["plan"].value_counts(normalize=True).items():
        expected = ((TABLE["plan"] == plan) - share) / np.sqrt(share)
        expected[TABLE["plan"].isna()] = 0
        np.testing.assert_allclose(found[f"plan={plan}"], expected, atol=1e-12)
    # Distances are those of two columns, as for any category.
    p = TABLE["active"].mean()
    both = np.column_stack(
        [(TABLE["active"] - p) / np.sqrt(p), (~TABLE["active"] - (1 - p)) / np.sqrt(1 - p)]
    )
    np.testing.assert_allclose(found["active=True"] ** 2, (both**2).sum(axis=1), atol=1e-12)
    assert {"region=1", "region=2", "region=3", "since", "since=missing"} <= set(found)
    assert encoder.description == "1 number, 3 categories (8 levels), 1 date"


def test_levels_unknown_rare_and_missing():
    table = pd.DataFrame({"x": ["a"] * 60 + ["b"] * 38 + ["c", "d"]})
    encoder = TableEncoder(min_frequency=0.05).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=b", "x=other"]
    new = pd.DataFrame({"x": ["c", "d", "zzz", None]})
    with pytest.warns(UserWarning, match=r"1 of 3 .*'x'.*'zzz'"):
        c, d, unknown, missing = encoder.transform(new)
    np.testing.assert_array_equal(c, d)
    assert c[2] > 0
    np.testing.assert_array_equal(unknown, 0)
    np.testing.assert_array_equal(missing, 0)
    # A level named other is not one of the rare ones.
    table = pd.DataFrame({"x": ["a"] * 60 + ["other"] * 38 + ["c", "d"]})
    encoder = TableEncoder(min_frequency=0.05).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=other", "x=other_"]


def test_kinds_and_names_of_columns_decide():
    encoder = TableEncoder().fit(TABLE)
    with pytest.raises(ValueError, match="'age' holds 'old' at row 2"):
        encoder.transform(TABLE.assign(age=["1", "2.5", "old", *"45678"]))
    with pytest.raises(ValueError, match=r"'age' holds Timestamp.* at row 0"):
        encoder.transform(TABLE.assign(age=TABLE["since"]))
    with pytest.raises(ValueError, match="'since' holds 3 at row 0"):
        encoder.transform(TABLE.assign(since=3))
    as_text = TABLE.assign(age=TABLE["age"].map(str, na_action="ignore"))
    as_text["region"] = TABLE["region"].astype(float)
    as_text["active"] = TABLE["active"].astype(int)
    as_text["since"] = TABLE["since"].dt.strftime("%Y-%m-%d")
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(TABLE))
    with pytest.raises(ValueError, match="The columns are"):
        encoder.transform(TABLE[["age"]])
    names = pd.DataFrame({"name": [f"n{i}" for i in range(50)]})
    with pytest.raises(ValueError, match=r"column 'name' is text with 50 different values.*Drop"):
        TableEncoder().fit_transform(names)
    assert TableEncoder().fit_transform(names.astype("category")).shape == (50, 50)
    table = polars.DataFrame({"a": [1.0, 2.0, 4.0], "b": [5.0, 3.0, 3.0]})
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table[["b", "a"]]), encoder.transform(table))
    twice = pd.DataFrame([[1.0, 2.0], [2.0, 5.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="column 'a' occurs more than once"):
        encoder.fit(twice)


@pytest.mark.parametrize(
    ("transformer", "X"),
    [
        (LogNormalizer(), COUNTS),
        (PeakTfidf(), sparse.csr_array(COUNTS)),
        (CenteredLogRatio(), COUNTS),
        (CellImputer(), np.where(COUNTS > 2, np.nan, COUNTS)),
        (TableEncoder(dtype="float64"), pd.concat([TABLE] * 5, ignore_index=True)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parts_give_the_same_as_all_at_once(transformer, X):
    expected = transformer.fit_transform(X)
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    one, two, three = rows[:7], rows[7:30], rows[30:]
    first = type(transformer)(**transformer.get_params()).partial_fit(one).partial_fit(two)
    merged = first.merge(type(transformer)(**transformer.get_params()).fit(three))
    found = merged.transform(X)
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_tables_of_polars_and_pipelines():
    expected = TableEncoder().fit_transform(TABLE.drop(columns="since"))
    table = polars.DataFrame(TABLE.drop(columns="since").to_dict("list"))
    table = table.with_columns(polars.col("region").cast(polars.String).cast(polars.Categorical))
    np.testing.assert_allclose(TableEncoder().fit_transform(table), expected)
    scaled = make_pipeline(TableEncoder(), StandardScaler()).fit_transform(TABLE)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
