"""One table with every kind of column, written in 24 dialects of CSV."""

import csv

import numpy as np
import pandas as pd

DIALECTS = [
    {
        "sep": sep,
        "decimal": decimal,
        "encoding": ("utf-8", "cp1252", "utf-8-sig", "utf-16")[(i + j) % 4],
        "quoting": (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)[(i // 2 + j) % 2],
        "dates": ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")[(i + j // 2) % 4],
        "end": ("\n", "\r\n")[(i + j) % 2],
    }
    for j, (sep, decimal) in enumerate((s, d) for s in ",;\t" for d in ".,")
    for i in range(4)
]


def planted(n_rows=200):
    """Table with sample ids, numbers, integers, codes, dates and texts with other letters."""
    rng = np.random.default_rng(0)
    cities = ["Zürich", "Genève", "Málaga", "Århus", "Köln", "São Paulo", "Besançon", "Øresund"]
    days = pd.to_timedelta(rng.integers(2000, size=n_rows), "D")
    return pd.DataFrame(
        {
            "price": rng.uniform(-100, 100, n_rows).round(3),
            "count": rng.integers(1, 500, n_rows),
            "score": rng.normal(size=n_rows).round(6),
            "day": pd.Timestamp("2018-01-01") + days,
            "city": np.array(cities)[rng.integers(len(cities), size=n_rows)],
            "zip": [f"{code:05d}" for code in rng.integers(100_000, size=n_rows)],
        },
        pd.Index([f"k{i:05d}" for i in range(n_rows)], name="id"),
    )


def write_dialect(path, table, sep, decimal, encoding, quoting, dates, end):
    """Write a table in a dialect, and return the path."""
    options = {"decimal": decimal, "date_format": dates, "lineterminator": end}
    table.to_csv(path, sep=sep, encoding=encoding, quoting=quoting, **options)
    return path
