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
