"""What clusters are in tables with categories: against crosstabs, in memory, files and Dask."""

from types import SimpleNamespace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin

from anchorview import DALMC, AutoDALMC, inspection
from anchorview.compared import ConcatKMeans
from anchorview.inspection import cluster_markers, cluster_summary
from anchorview.sources import disk_source
from anchorview.sources.open_source import open_source
from helpers.tables import customer_views

N, K = 240, 3  # of customer_views


def in_form(views, form):
    if form == "dask":
        return {name: dd.from_pandas(view, npartitions=6) for name, view in views.items()}
    return open_source(views, write_results=True) if form == "parts" else views


@pytest.mark.parametrize("form", ["memory", "parts", "dask"])
def test_levels_equal_a_crosstab(form, set_constants):
    set_constants(disk_source, PART=1000)
    views, y = customer_views()
    given = pd.Series(y, views["text"].index)
    table = cluster_markers(given, in_form(views, form))
    found = table[table["view"] == "customers"].set_index(["cluster", "feature"])
    customers = views["customers"]
    for column in ("region", "plan", "member"):
        counts = pd.crosstab(y, customers[column].to_numpy())
        for cluster in range(K):
            inside, total = counts.loc[cluster], counts.sum()
            shares = inside / inside.sum(), (total - inside) / (total - inside).sum()
            odds = [share / (1 - share) for share in shares]
            rows = found.loc[[(cluster, f"{column}={level}") for level in counts.columns]]
            assert set(rows["column"]) == {column}
            assert set(rows["kind"]) == {"level"}
            np.testing.assert_allclose(rows["mean_in"], shares[0], rtol=1e-12)
            np.testing.assert_allclose(rows["mean_out"], shares[1], rtol=1e-12)
            np.testing.assert_allclose(rows["lift"], shares[0] / shares[1], rtol=1e-12)
            np.testing.assert_allclose(rows["odds_ratio"], odds[0] / odds[1], rtol=1e-12)
            assert (rows["n_in"] == inside.sum()).all()
    # A level is a feature that is 1 or 0, with the statistics of any other.
    numbers = pd.get_dummies(customers[["plan"]], dtype=float, prefix_sep="=")
    numbers[customers["plan"].isna()] = np.nan
    numbers["age"], numbers["row"] = customers["age"], np.arange(N)
    numbers["since"] = (customers["since"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    expected = cluster_markers(y, numbers).set_index(["cluster", "feature"])
    names = ["effect", "mean_in", "mean_out", "n_in", "n_out", "statistic", "p_value"]
    for key in [(c, feature) for c in range(K) for feature in numbers.columns.drop("row")]:
        values = found.loc[key, names].astype(float)
        np.testing.assert_allclose(values, expected.loc[key, names].astype(float), rtol=1e-9)
    assert set(found.loc[(0, ["age", "since"]), "kind"]) == {"number", "date"}
    assert found.loc[(0, ["age", "since"]), "lift"].isna().all()
    assert "name" not in set(found["column"])


def test_summaries_name_levels_with_their_shares():
    views, y = customer_views()
    views["customers"] = views["customers"][["plan", "member", "region"]]
    summary = cluster_summary(y, views, n_features=2)
    table = cluster_markers(y, views).set_index(["cluster", "feature"])
    row = table.loc[(0, "plan=free")]
    shares = f"{100 * row['mean_in']:.0f} % ({100 * row['mean_out']:.1f} % elsewhere)"
    assert summary.loc[0, "features"][0] == f"customers: plan=free {shares}"
    # One level of each column, though both of member have the same effect.
    assert summary.loc[0, "features"][1].startswith("customers: member=True")


class Grouped(ClusterMixin, BaseEstimator):
    """A clusterer of a user, which takes the tables as they were given."""

    def __init__(self, n_clusters=K):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        first = pd.DataFrame(next(iter(X.values())))
        values = pd.util.hash_pandas_object(first.astype(str), index=False)
        self.labels_ = (values % self.n_clusters).to_numpy(int)
        return self


MODELS = {
    "dalmc": DALMC(K, random_state=0),
    "auto": AutoDALMC(K, budget="fast", random_state=0),
    "baseline": ConcatKMeans(K, random_state=0),
    "other": Grouped(),
    "labels": None,
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_function_takes_tables(kind):
    views, y = customer_views()
    views["customers"] = views["customers"].drop(columns="name")
    views["text"] = views["text"].fillna(0)
    model = SimpleNamespace(labels_=y) if kind == "labels" else MODELS[kind].fit(views)
    for name in ("cluster_summary", "memberships", "outlier_scores", "representatives",
                 "doubtful", "view_contributions"):  # fmt: skip
        found = getattr(inspection, name)(model, views)
        assert len(found)
        assert not found.isna().to_numpy().any(), name
    if kind != "labels":
        assert inspection.leave_one_view_out(model, views)["agreement"].between(-1, 1).all()
