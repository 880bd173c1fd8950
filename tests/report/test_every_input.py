"""A report is written for every kind of input that estimators take, and shows its clusters."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview import DALMC, AutoDALMC, MultiViewData, load
from anchorview.inspection import leave_one_view_out
from anchorview.report import write_fit_report
from helpers.dask_problems import stored
from helpers.data import clustered_views
from helpers.pages import ParsedPage
from helpers.tables import customer_views

N, K = 90, 3
VIEWS, Y = clustered_views(N, K, (12, 9))
IDS = [f"s{row}" for row in range(N)]


def frames():
    return {name: pd.DataFrame(view, IDS).add_prefix("f ") for name, view in VIEWS.items()}


def with_gaps():
    """Samples that lack a view, and two that lack all."""
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["view_0"][::7] = np.nan
    for view in views.values():
        view[[3, 4]] = np.nan
    return views


def with_missing_cells():
    views = frames()
    views["view_0"].iloc[::5, 2] = np.nan
    return views


def texts():
    words = np.array(["red rose garden", "fast car engine", "old book paper"])
    noise = np.random.default_rng(0).choice(["and", "or", "with", "new", "big"], (N, 2))
    return {
        **frames(),
        "text": pd.DataFrame(
            {"text": [f"{words[c]} {a} {b}" for c, (a, b) in zip(Y, noise, strict=True)]}, IDS
        ),
    }


def counts():
    rates = np.repeat(np.random.default_rng(0).uniform(1, 9, (K, 20)), 1, axis=0)[Y]
    return sparse.csr_array(np.random.default_rng(1).poisson(rates).astype(float))


def polars():
    library = pytest.importorskip("polars")
    return {name: library.DataFrame(view.reset_index(drop=True)) for name, view in frames().items()}


def annotated():
    library = pytest.importorskip("anndata")
    found = library.AnnData(counts(), obs=pd.DataFrame(index=IDS))
    found.obsm["X_pca"] = VIEWS["view_0"]
    return found


def tables():
    views = customer_views(N)[0]
    return {**views, "customers": views["customers"].drop(columns="name")}


INPUTS = {
    "matrix": lambda: VIEWS["view_0"],
    "list": lambda: list(VIEWS.values()),
    "dict": lambda: VIEWS,
    "float16 and integers": lambda: [
        VIEWS["view_0"].astype("f2"),
        (9 * VIEWS["view_1"]).astype(int),
    ],
    "frames": frames,
    "frames of some samples": lambda: {**frames(), "view_1": frames()["view_1"].iloc[20:]},
    "polars": polars,
    "missing views": with_gaps,
    "available": lambda: MultiViewData(VIEWS, available=np.arange(2 * N).reshape(N, 2) % 5 > 0),
    "missing cells": with_missing_cells,
    "tables": tables,
    "table alone": lambda: tables()["customers"],
    "texts": texts,
    "sparse": lambda: {**VIEWS, "counts": counts()},
    "sparse and batches": lambda: MultiViewData({**VIEWS, "c": counts()}, batch=np.arange(N) % 2),
    "batches and covariates": lambda: MultiViewData(
        VIEWS, batch=np.arange(N) % 2, covariates=np.arange(N) / N
    ),
    "tables and batches": lambda: MultiViewData(frames(), batch=np.arange(N) % 2),
    "AnnData": annotated,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("kind", "estimator"),
    [(kind, DALMC) for kind in INPUTS]
    + [(kind, AutoDALMC) for kind in ("missing views", "tables", "sparse and batches")],
)
def test_report_is_written(kind, estimator, tmp_path):
    X = INPUTS[kind]()
    model = estimator(K, random_state=0)
    if estimator is AutoDALMC:
        model.set_params(budget="fast")
    selection = {"rna": "X", "pca": "obsm:X_pca"} if kind == "AnnData" else None
    model.fit(X, views=selection)
    write_fit_report(tmp_path / "report.html", model, X)
    page = ParsedPage(tmp_path / "report.html")
    labels = model.labels_[model.labels_ >= 0]
    assert [int(card["data-size"]) for card in page.cards[:K]] == np.bincount(labels).tolist()
    assert len({card["data-title"] for card in page.cards[:K]}) == K
    assert page.attributes("canvas")
    # Refits without a view need no batches of it.
    assert "Result without it" in page.text or len(model.views_) == 1


def test_reports_of_other_labels_and_of_one_cluster(tmp_path):
    for labels in (np.zeros(N, int), np.where(Y == 0, -1, Y), np.array(["a", "b", "c"])[Y]):
        write_fit_report(tmp_path / "report.html", SimpleNamespace(labels_=labels), frames())
        page = ParsedPage(tmp_path / "report.html")
        assert sum(int(card["data-size"]) for card in page.cards) == N
    noise = np.random.default_rng(0).normal(size=(200, 8))
    model = AutoDALMC(budget="fast", random_state=0).fit([noise])
    write_fit_report(tmp_path / "report.html", model, [noise])
    assert "No groups" in ParsedPage(tmp_path / "report.html").text or model.n_clusters_ > 1


def test_views_on_disk_are_not_drawn_but_their_fit_is(tmp_path):
    model = DALMC(K, random_state=0).fit(stored(tmp_path, VIEWS))
    write_fit_report(tmp_path / "report.html", model)
    assert ParsedPage(tmp_path / "report.html").attributes("canvas")


def test_data_without_clusters(tmp_path):
    rng = np.random.default_rng(1)
    views = {"a": rng.normal(size=(N, 6)), "b": rng.normal(size=(N, 5))}
    model = AutoDALMC(budget="fast", random_state=0).fit(views)
    assert model.n_clusters_ == 1
    # A stored model has the same report.
    model.save(tmp_path / "m.anchorview")
    model = load(tmp_path / "m.anchorview")
    write_fit_report(tmp_path / "report.html", model, views)
    page = ParsedPage(tmp_path / "report.html")
    assert "no evidence" in page.text.lower() or "no clear" in page.text.lower()
    with pytest.raises(ValueError, match="only one cluster"):
        leave_one_view_out(model, views)
