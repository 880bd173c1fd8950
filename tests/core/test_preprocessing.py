"""Preprocessing of counts: equal to scanpy and muon, and the same in parts."""

import anndata
import numpy as np
import pytest
from anchorview.core.preprocessing import (
    FittedStep,
    Preparation,
    fit_preprocessing,
)
from scipy import sparse

from anchorview import MultiViewData

COUNTS = np.random.default_rng(0).poisson(1.0, (40, 7)).astype(np.float32)
COUNTS[3] = 0
COUNTS[:, 5] = 0
FORMS = [np.asarray, sparse.csr_array]


def preprocessed(X, step):
    data = MultiViewData({"a": X})
    steps = fit_preprocessing(data, {"a": step})
    view = Preparation(None, steps)(data).views[0]
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
    steps = fit_preprocessing(data, {"a": "tfidf"})
    assert steps[1] is None
    kept = np.arange(40) % 4 != 0
    alone = fit_preprocessing(MultiViewData({"a": COUNTS[kept]}), {"a": "tfidf"})
    np.testing.assert_allclose(steps[0].idf, alone[0].idf)
    found = Preparation(None, steps)(data)
    assert np.isnan(found.views[0][0]).all()
    np.testing.assert_array_equal(found.available, data.available)
    np.testing.assert_array_equal(found.views[1], other)


@pytest.mark.parametrize("form", FORMS)
def test_negative_values_are_no_counts(form):
    wrong = COUNTS.copy()
    wrong[12, 2] = -0.5
    data = MultiViewData({"a": COUNTS, "b": form(wrong)})
    message = r"view 1 \('b'\) has -0.5 at row 12, column 2: preprocess needs counts"
    with pytest.raises(ValueError, match=message):
        fit_preprocessing(data, {"b": "lognorm"})
    with pytest.raises(ValueError, match=message):
        Preparation(None, (None, FittedStep("clr")))(data)


def test_unknown_names_are_refused():
    data = MultiViewData({"a": COUNTS})
    with pytest.raises(ValueError, match=r"preprocess names the view 'rna', but the views are \["):
        fit_preprocessing(data, {"rna": "lognorm"})
    with pytest.raises(ValueError, match=r"preprocess\['a'\] is 'log', but must be 'lognorm'"):
        fit_preprocessing(data, {"a": "log"})
    with pytest.raises(ValueError, match=r"view 0 \('a'\) has no counts"):
        fit_preprocessing(MultiViewData({"a": 0 * COUNTS}), "lognorm")
