"""Forms of tables x kinds of columns x changes between fit and predict: equal, said or refused."""

import warnings
from decimal import Decimal

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from anchorview import DALMC, open_views, read_views

N, K = 60, 3
Y = np.arange(N) % K
IDS = [f"s{i:02d}" for i in range(N)]
NOISE = np.random.default_rng(0).normal(size=(N, 5))
OTHER = pd.DataFrame(NOISE[:, 1:] + 4 * Y[:, None], IDS, list("pqrs"))
NULLABLE = pd.Series(np.where(Y == 0, None, Y), IDS).astype("Int64")

KINDS = {
    "integers": 2 * Y + 1,
    "floats": 1.5 * Y + NOISE[:, 0],
    "codes": [f"00{c}" for c in Y],
    "decimals": [Decimal(f"{c}.25") for c in Y],
    "dates": pd.Timestamp("2020-01-01") + pd.to_timedelta(40 * Y, unit="D"),
    "booleans": Y == 1,
    "categories": pd.Categorical(np.array(["x", "yy", "z"])[Y]),
    "strings": np.array(["free", "pro", "team"])[Y].astype(object),
    "many texts": [f"text number {i}" for i in range(N)],
    "mixed": [[1, "a", "b"][c] for c in Y],
    "all missing": [None] * N,
    "nullable": NULLABLE.to_numpy(object),
}


def table(kind):
    return pd.DataFrame({"n": NOISE[:, 0] + 3 * Y, "c": KINDS[kind]}, IDS)


def with_cell(frame, value, column="c"):
    frame[column] = frame[column].astype(object)
    frame.loc["s07", column] = value
    return frame


CHANGES = {
    "none": lambda frame: frame,
    "missing cell": lambda frame: with_cell(frame, None),
    "missing number": lambda frame: with_cell(frame, None, "n").astype({"n": float}),
    "new level": lambda frame: with_cell(frame, "NEW"),
    "as text": lambda frame: frame.assign(c=[None if pd.isna(x) else str(x) for x in frame["c"]]),
    "as date": lambda frame: frame.assign(c=pd.Timestamp("2021-05-05")),
    "order": lambda frame: frame[["c", "n"]],
    "name": lambda frame: frame.rename(columns={"c": "d"}),
}


WRITERS = {
    "csv": lambda view, path: view.to_csv(path, index_label="id"),
    "parquet": pd.DataFrame.to_parquet,
    "xlsx": lambda view, path: view.to_excel(path, index_label="id"),
}


def in_files(read, suffix):
    def make(frame, folder):
        for name, view in {"t": frame, "o": OTHER}.items():
            WRITERS[suffix](view, folder / f"{name}.{suffix}")
        return read(folder)

    return make


FORMS = {
    "pandas": lambda frame, _: {"t": frame, "o": OTHER},
    "polars": lambda frame, _: {"t": pl.from_pandas(frame), "o": OTHER.to_numpy()},
    "pyarrow": lambda frame, _: {
        "t": pa.Table.from_pandas(frame, preserve_index=False),
        "o": OTHER.to_numpy(),
    },
    "csv": in_files(read_views, "csv"),
    "excel": in_files(read_views, "xlsx"),
    "parquet": in_files(read_views, "parquet"),
    "opened": in_files(open_views, "parquet"),
    "dask": lambda frame, _: {
        "t": dd.from_pandas(frame, npartitions=2),
        "o": dd.from_pandas(OTHER, npartitions=2),
    },
}


def require_clear(error):
    """The message names the view or the column, and is no accident of Python."""
    assert isinstance(error, ValueError | TypeError)
    assert any(name in str(error) for name in ("'c'", "'d'", "'n'", "'t'")), error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_new_tables_give_equal_results_or_a_clear_error(form, kind, tmp_path):
    def made(change, name):
        folder = tmp_path / name
        folder.mkdir()
        try:
            return FORMS[form](CHANGES[change](table(kind)), folder)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            return None  # the library has no such table

    try:
        if (X := made("none", "fit")) is None:
            return
        model = DALMC(K, random_state=0).fit(X)
    except (ValueError, TypeError) as error:
        require_clear(error)
        assert kind in ("mixed", "all missing", "many texts", "nullable")
        return
    for change in CHANGES:
        if (kind, change) == ("dates", "as date"):
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                new = made(change, change)
                if new is None:
                    continue
                labels = np.asarray(model.predict(new))
            except (ValueError, TypeError) as error:
                assert change not in ("none", "order")
                require_clear(error)
                continue
        agree = (labels == np.asarray(model.labels_)).mean()
        assert agree == 1 if change in ("none", "order") else agree > 0.9 or said
