"""Tables with categories in which clusters are planted."""

import numpy as np
import pandas as pd


def customer_views(n=240, k=3):
    """Customers whose plan, sex, age and date say the cluster, and other columns; the clusters."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    noisy = np.where(rng.random(n) < 0.05, rng.integers(k, size=n), y)
    table = pd.DataFrame(
        {
            "region": pd.Categorical(np.array(list("NESW"))[rng.integers(4, size=n)]),
            "plan": np.array(["free", "pro", "team"], dtype=object)[noisy],
            "member": (y == 0) ^ (rng.random(n) < 0.1),
            "age": 30.0 + 2 * y + 4 * rng.normal(size=n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(400 * y, "D"),
            "name": [f"n{i}" for i in range(n)],
        },
        [f"c{i}" for i in range(n)],
    )
    table["since"] += pd.to_timedelta(rng.integers(300, size=n), "D")
    # The levels and kinds of parts differ.
    table.loc[rng.random(n) < 0.1, "plan"] = None
    table.iloc[:40, 1] = None
    table.loc[rng.random(n) < 0.1, ["age", "since"]] = np.nan
    text = pd.DataFrame(rng.normal(size=(n, 4)) + np.eye(k, 4)[y], table.index)
    text.columns = [f"t{j}" for j in range(4)]
    text.iloc[3, 2] = np.nan
    return {"customers": table, "text": text}, y


def planted_tables(n, k=3):
    """Tables with every kind of column and a few missing cells, and the clusters."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k

    def noisy():
        return np.where(rng.random(n) < 0.1, rng.integers(k, size=n), y)

    ids = pd.Index([f"c{i}" for i in range(n)], name="id")
    customers = pd.DataFrame(
        {
            "age": 20.0 + 15 * y + rng.normal(size=n) * 4,
            "plan": np.array(["free", "pro", "team"])[noisy()],
            "active": y == 0,
            "zip": np.array(["02139", "10001", "90210"])[noisy()],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * y + noisy(), "D"),
            "region": pd.Categorical(np.array(list("NESW"))[rng.integers(4, size=n)]),
            "code": 10 * noisy() + 1,
        },
        ids,
    )
    customers.loc["c4", "age"] = np.nan
    customers.loc[["c9", "c10"], "plan"] = None
    customers.loc["c20", "since"] = pd.NaT
    text = pd.DataFrame(rng.normal(size=(k, 6))[y] * 3 + rng.normal(size=(n, 6)), ids)
    return {"customers": customers, "text": text.rename(columns="t{}".format)}, y
