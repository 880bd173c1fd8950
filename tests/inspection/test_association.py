"""Association of clusters with other variables."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lifelines.statistics import multivariate_logrank_test
from scipy import stats

from anchorview.inspection import associate

RNG = np.random.default_rng(0)
IDS = pd.Index([f"p{i}" for i in range(90)])
LABELS = pd.Series(np.arange(90) % 3, IDS)


@pytest.fixture
def table():
    """Variables of which some depend on the cluster."""
    cluster = LABELS.to_numpy()
    found = pd.DataFrame(
        {
            "age": 50 + 5 * cluster + RNG.normal(size=90),
            "noise": RNG.normal(size=90),
            "stage": np.where(RNG.random(90) < 0.9, cluster, 0).astype(str),
            "smoker": RNG.random(90) < 0.5,
            "months": np.round(RNG.exponential(10 * (1 + cluster))),
            "died": RNG.random(90) < 0.7,
        },
        index=IDS,
    )
    found.loc["p7", ["age", "stage"]] = np.nan
    return found


def row(found, variable):
    return found[found["variable"] == variable].iloc[0]


def test_tests_are_those_of_scipy_and_lifelines(table):
    found = associate(LABELS, table, time="months", event="died")
    assert set(found["variable"]) == {"age", "noise", "stage", "smoker", "months"}
    known = table["age"].notna()
    groups = [table["age"][known & (c == LABELS)] for c in range(3)]
    expected = stats.kruskal(*groups)
    age = row(found, "age")
    assert (age["kind"], age["n"], age["effect_name"]) == ("numeric", 89, "epsilon squared")
    assert age["p_value"] == pytest.approx(expected.pvalue)
    assert age["effect"] == pytest.approx(expected.statistic / 88)
    counts = pd.crosstab(LABELS[known], table["stage"][known])
    stage = row(found, "stage")
    chi = stats.chi2_contingency(counts, correction=False)
    assert stage["p_value"] == pytest.approx(chi.pvalue)
    association = stats.contingency.association(counts.to_numpy(), method="cramer")
    assert stage["effect"] == pytest.approx(association)
    assert row(found, "smoker")["kind"] == "categorical"
    exact = table.assign(months=[Decimal(int(month)) for month in table["months"]])
    pd.testing.assert_frame_equal(associate(LABELS, exact, time="months", event="died"), found)
    oracle = multivariate_logrank_test(table["months"], LABELS, table["died"])
    survival = row(found, "months")
    assert survival["kind"] == "survival"
    assert survival["statistic"] == pytest.approx(oracle.test_statistic)
    assert survival["p_value"] == pytest.approx(oracle.p_value)
    assert found["p_value"].is_monotonic_increasing
    np.testing.assert_allclose(found["q_value"], stats.false_discovery_control(found["p_value"]))
    assert row(found, "noise")["q_value"] > 0.05 > row(found, "age")["q_value"]


def test_samples_are_matched_by_id(table):
    expected = associate(LABELS, table)
    shuffled = table.sample(frac=1, random_state=1)
    extra = pd.concat([shuffled, table[:2].set_axis(["x", "y"])])
    pd.testing.assert_frame_equal(associate(LABELS, extra), expected)
    by_position = associate(LABELS.to_numpy(), table.reset_index(drop=True))
    pd.testing.assert_frame_equal(by_position, expected)
    with pytest.raises(ValueError, match=r"2 of 90 samples .* are not in the table: 'p0'"):
        associate(LABELS, table[2:])
    with pytest.raises(ValueError, match="The table has the sample id 'p0' more than once"):
        associate(LABELS, pd.concat([table, table[:1]]))
    with pytest.raises(ValueError, match="90 samples in the vector of labels, but 88 in the table"):
        associate(LABELS.to_numpy(), table[2:])


def test_variables_without_anything_to_compare():
    table = pd.DataFrame({"same": 1.0, "site": "here", "id": IDS}, index=IDS)
    found = associate(LABELS, table)
    assert found[["p_value", "q_value", "effect"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"time": "months"}, "event=None is not a column of the table"),
        ({}, {"time": "weeks", "event": "died"}, "time='weeks' is not a column"),
        ({"months": -1.0}, {"time": "months", "event": "died"}, "'months' has -1.0 for sample"),
        ({"died": 2}, {"time": "months", "event": "died"}, "'died' must be True or False"),
    ],
)
def test_refused_tables(table, change, options, message):
    with pytest.raises(ValueError, match=message):
        associate(LABELS, table.assign(**change), **options)


def test_dates_and_objects_are_tested_like_numbers(table):
    days = np.arange(len(table), dtype=float)[::-1].copy()
    days[:3] = np.nan
    changed = pd.DataFrame({"days": days}, table.index)
    changed["objects"] = changed["days"].astype(object).where(changed["days"].notna(), None)
    changed["date"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")
    changed["zoned"] = changed["date"].dt.tz_localize("Europe/Berlin")
    changed["day"] = changed["date"].dt.date.astype(object).where(changed["date"].notna(), None)
    changed["exact"] = [None if np.isnan(day) else Decimal(int(day)) for day in days]
    changed["flag"] = pd.array(days > 5, "boolean")
    found = associate(LABELS, changed).set_index("variable")
    for name in ("objects", "date", "zoned", "day", "exact"):
        pd.testing.assert_series_equal(found.loc[name], found.loc["days"], check_names=False)
    assert found.loc["flag", "kind"] == "categorical"
    plain = changed.drop(columns=["zoned", "day", "exact"])
    others = pl.from_pandas(plain).with_columns(pl.col("date").cast(pl.Date))
    expected = associate(LABELS.to_numpy(), plain)
    for tables in (others, others.to_arrow()):
        pd.testing.assert_frame_equal(associate(LABELS.to_numpy(), tables), expected)
