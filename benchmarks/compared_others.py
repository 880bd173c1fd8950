"""Methods that are not in this package, on the data of `compared.py` and into its results.

    python benchmarks/compared_others.py [--only DATA ...] [--again] [--results FILE]

- two of the fastest methods of the package iMML, if it is installed, on standardized features;
- a demonstration: each row is replaced by the mean of the rows around it in the file, followed by
  K-means. It is run on sorted rows too.
"""

import argparse
import multiprocessing
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.ndimage import uniform_filter1d
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from anchorview import MultiViewData
from anchorview.experiments.jobs import Result
from compared import CHEAP_SECONDS, SEEDS, SORTED_SETS, labeled_data, measured_fit, seconds_at
from compared_results import (
    CPU_MINUTES,
    IMML,
    LOW_PASS,
    MADE,
    MISSING,
    PATH,
    Position,
    ResultFile,
    job_at,
)

CPU_LIMIT = 60 * CPU_MINUTES
WINDOW = 11
"""Rows that the filter averages, about as many as the smallest classes have."""


def standardized(data: MultiViewData, fill: float) -> list[np.ndarray]:
    """Views with standardized features, and a value for all features of missing rows."""
    filled = []
    for p, view in enumerate(data.views):
        dense = (view.toarray() if sparse.issparse(view) else view).astype(float)
        has = slice(None) if data.available is None else data.available[:, p]
        filled.append(np.full(dense.shape, fill))
        filled[-1][has] = StandardScaler().fit_transform(dense[has])
    return filled


class FilteredKMeans:
    """K-means on the means of neighboring rows: what sorted rows pretend to reach."""

    def __init__(self, n_clusters: int, random_state: int) -> None:
        self.kmeans = KMeans(n_clusters, n_init=10, random_state=random_state)

    def fit(self, data: MultiViewData) -> None:  # noqa: D102
        rows = uniform_filter1d(np.hstack(standardized(data, 0.0)), WINDOW, axis=0)
        self.labels_ = self.kmeans.fit_predict(rows)


class OfImml:
    """A method of iMML by its name."""

    def __init__(self, name: str, n_clusters: int, random_state: int) -> None:
        import imml.cluster

        cls = getattr(imml.cluster, name)
        self.model = cls(n_clusters=n_clusters, random_state=random_state)

    def fit(self, data: MultiViewData) -> None:  # noqa: D102
        self.labels_ = self.model.fit_predict(standardized(data, np.nan))


def model_of(column: str, n_clusters: int, seed: int) -> Any:
    if column == LOW_PASS:
        return FilteredKMeans(n_clusters, seed)
    return OfImml(IMML[column], n_clusters, seed)


def measure(position: Position) -> Result:
    name, column, missing, order, seed = position
    # Of the same data as for DALMC, which accepts missing views.
    data, y = labeled_data(job_at((name, "dalmc", missing, order, seed)))
    try:
        return measured_fit(model_of(column, len(np.unique(y)), seed), data, y, CPU_LIMIT)
    except Exception as error:
        return Result("failed", f"{type(error).__name__}: {error}".splitlines()[0])


def positions(names: list[str]) -> Iterator[Position]:
    for seed in SEEDS:
        if find_spec("imml"):
            for column, missing, name in product(IMML, (0.0, MISSING), names):
                yield name, column, missing, "shuffled", seed
        for order, name in product(("sorted", "shuffled"), SORTED_SETS):
            yield name, LOW_PASS, 0.0, order, seed


def in_new_process(function: Callable[[Position], Result], position: Position) -> Result:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, (position,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=PATH)
    parser.add_argument("--only", nargs="*", help="data sets to run on")
    parser.add_argument("--again", action="store_true", help="repeat what is in the results")
    options = parser.parse_args()
    file = ResultFile(options.results)
    if options.again:
        file.forget([LOW_PASS, *(IMML if find_spec("imml") else ())])
    names = [name for name in file.data if not name.startswith(MADE)]
    names.sort(key=lambda name: file.data[name][0])
    for position in positions(options.only or names):
        *place, seed = position
        first = seconds_at(file, (*place, 0))
        if position in file.rows or (seed and (first is None or first > CHEAP_SECONDS)):
            continue
        print(*position, flush=True)
        file.add_result(position, in_new_process(measure, position))


if __name__ == "__main__":
    main()
