"""A column has one type in the model: new data are converted to it, or refused by name."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from anchorview import DALMC, load

N, K = 90, 3
IDS = [f"s{i}" for i in range(N)]


def numbers():
    y = np.arange(N) % K
    return pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)) + 4 * y[:, None], IDS).rename(
        columns="abc".__getitem__
    )


def mixed():
    y = np.arange(N) % K
    dates = pd.to_datetime("2020-01-01") + pd.to_timedelta(30 * y, unit="D")
    return numbers().assign(code=y + 1, plan=np.array(["free", "pro", "team"])[y], day=dates)


@pytest.fixture(scope="module")
def model():
    return DALMC(K, random_state=0).fit({"t": numbers()})


@pytest.fixture(scope="module")
def of_tables():
    return DALMC(K, random_state=0).fit({"t": mixed().astype({"code": "category"})})


FORMS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "pyarrow": lambda frame: pa.table(frame.to_dict("list")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_cell_without_an_imputer_is_named(model, form):
    gap = numbers()
    gap.iloc[4, 1] = None
    with pytest.raises(ValueError, match=r"'t'\).*row 4.*'b'.*impute"):
        model.predict({"t": FORMS[form](gap)})
    imputing = DALMC(K, preprocess="impute-mean", random_state=0).fit({"t": numbers()})
    assert len(imputing.predict({"t": FORMS[form](gap)})) == N


@pytest.mark.parametrize("form", FORMS)
def test_texts_of_numbers_are_numbers_and_other_texts_are_refused(model, form):
    texts = numbers().astype({"a": str})
    expected = model.predict({"t": FORMS[form](numbers())})
    np.testing.assert_array_equal(model.predict({"t": FORMS[form](texts)}), expected)
    texts.iloc[7, 0] = "1,5"
    with pytest.raises(ValueError, match=r"'t'\).*'a'.*'1,5'.*row 7"):
        model.predict({"t": FORMS[form](texts)})


@pytest.mark.parametrize("form", FORMS)
def test_levels_are_compared_as_texts(of_tables, form, tmp_path):
    of_tables.save(tmp_path / "m")
    changed = mixed()
    changed["code"] = changed["code"].astype(float)
    changed["day"] = changed["day"].dt.strftime("%Y-%m-%d")
    expected = of_tables.labels_
    for fitted in (of_tables, load(tmp_path / "m")):
        np.testing.assert_array_equal(fitted.predict({"t": FORMS[form](changed)}), expected)
    changed["code"] = changed["code"].astype(int).astype(str)
    changed.loc["s5", "code"] = "A"
    with pytest.warns(UserWarning, match=r"1 of 90 .*'code'.*'A'"):
        found = of_tables.predict({"t": FORMS[form](changed)})
    assert (np.asarray(found) == expected).mean() > 0.98


def test_numbers_that_floats_cannot_tell_apart_are_refused():
    large = mixed()[["a"]].assign(id=2**60 + np.arange(N))
    with pytest.raises(ValueError, match=r"'t'\).*'id'"):
        DALMC(K).fit({"t": large})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*like sample ids")
        DALMC(K).fit({"t": large.assign(id=2**60 + 2**20 * np.arange(N))})
