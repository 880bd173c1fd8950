"""Tables of numbers and categories: AutoDALMC compared with K-prototypes and FAMD with K-means.

    python benchmarks/tables.py [--seeds 5] [--only TABLE ...] [--out benchmarks/tables.md]

- twelve real tables in the folder `tables` of the data (see `data.py`), whose columns `views.json`
  groups into views: mean ARI, with the number of classes given. A warning of AutoDALMC or DALMC is
  an error. The others see all columns at once. Missing numbers are their mean for them, and missing
  categories a level of their own;
- made tables of 50,000 rows, 20 numbers and 20 categories in two views: CPU time of a fit, and its
  memory beyond the data, compared with the one-hot matrix in single precision.

kmodes 0.12 and prince 0.23 are needed, which this package does not install: pip install kmodes
prince, in an environment of their own. Finished measurements are kept in a results file.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from _measurements import (
    Measurement,
    Pair,
    PeakMemory,
    header,
    measured,
    measured_by,
    parse_resumable,
    row,
    write_lines,
)
from anchorview import DALMC, AutoDALMC
from anchorview.experiments.jobs import Job, Result
from data import FOLDER

TABLES = ("penguins", "mushroom", "soybean", "annealing", "flags", "leaf_flavia")
"""Tables whose classes are kinds of things."""

OUTCOMES = (
    *("heart_cleveland", "credit_approval", "horse_colic", "automobile", "titanic"),
    "student_portuguese",
)
"""Tables whose classes are outcomes, which need not be clusters: they are not part of the mean."""

MADE = "50,000 rows"
N_ROWS, N_NUMBERS, N_CATEGORIES, N_LEVELS, N_CLUSTERS = 50_000, 20, 20, 10, 5

STARTS = 10
"""Starts of K-prototypes by default, of which one is timed on the made tables."""

FAILED = 0.0
"""ARI of a method that ends with an error."""

Views = dict[str, pd.DataFrame]


def real_tables(name: str) -> tuple[Views, np.ndarray]:
    """Views and classes of a real table."""
    columns = json.loads((FOLDER / "tables" / "views.json").read_text())[name]
    table = pd.read_parquet(FOLDER / "tables" / f"{name}.parquet")
    y = table.pop("y").cat.codes.to_numpy()
    return {view: table[names] for view, names in columns.items()}, y


def made_tables() -> tuple[Views, np.ndarray]:
    """Two views, each with half of the numbers and half of the categories."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLUSTERS, size=N_ROWS)
    columns: dict[str, Any] = {}
    for j in range(N_NUMBERS):
        columns[f"number_{j}"] = rng.normal(size=N_CLUSTERS)[y] + rng.normal(size=N_ROWS)
    for j in range(N_CATEGORIES):
        shares = rng.dirichlet(np.ones(N_LEVELS), size=N_CLUSTERS).cumsum(axis=1)
        codes = (rng.random(N_ROWS)[:, None] > shares[y]).sum(axis=1).clip(max=N_LEVELS - 1)
        levels = pd.CategoricalDtype([f"level {level}" for level in range(N_LEVELS)])
        columns[f"category_{j}"] = pd.Categorical.from_codes(codes, dtype=levels)
    table = pd.DataFrame(columns)
    return {"first": table.iloc[:, ::2], "second": table.iloc[:, 1::2]}, y


def side_by_side(views: Views) -> tuple[pd.DataFrame, list[str], list[str]]:
    """All columns without missing cells, and the names of numbers and categories."""
    table = pd.concat(views.values(), axis=1)
    numbers = table.select_dtypes("number").columns.tolist()
    categories = [name for name in table if name not in numbers]
    for name in numbers:
        table[name] = table[name].astype(float).fillna(table[name].mean())
    for name in categories:
        texts = table[name].astype(object)
        table[name] = texts.where(texts.notna(), "missing").astype(str)
    return table, numbers, categories


def other_package(name: str) -> Any:
    """Import a module that this package does not depend on."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise SystemExit(f"{error}. This benchmark needs it: pip install {package}") from error


def k_prototypes(views: Views, k: int, seed: int, *, scaled: bool, n_init: int = STARTS) -> Any:
    """K-prototypes, or K-modes if there are no numbers; `scaled` standardizes numbers."""
    table, numbers, categories = side_by_side(views)
    if not numbers:
        model = other_package("kmodes.kmodes").KModes(k, n_init=n_init, random_state=seed)
        return model.fit_predict(table)
    if scaled:
        table[numbers] = (table[numbers] - table[numbers].mean()) / table[numbers].std(ddof=0)
    model = other_package("kmodes.kprototypes").KPrototypes(k, n_init=n_init, random_state=seed)
    positions = list(range(len(numbers), len(numbers) + len(categories)))
    return model.fit_predict(table[numbers + categories], categorical=positions)


def own(estimator: Callable[..., Any], views: Views, k: int, seed: int) -> Any:
    """Labels by default settings, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return estimator(k, random_state=seed).fit(views).labels_


def famd_kmeans(views: Views, k: int, seed: int) -> Any:
    """K-means on the coordinates of FAMD, or of MCA if there are no numbers."""
    prince = other_package("prince")
    table, numbers, _ = side_by_side(views)
    reduced = (prince.FAMD if numbers else prince.MCA)(random_state=seed).fit(table)
    return KMeans(k, random_state=seed).fit_predict(reduced.row_coordinates(table).to_numpy())


METHODS: dict[str, Callable[[Views, int, int], Any]] = {
    "AutoDALMC": partial(own, AutoDALMC),
    "DALMC": partial(own, DALMC),
    "K-prototypes": lambda views, k, seed: k_prototypes(views, k, seed, scaled=False),
    "K-prototypes, standardized": lambda views, k, seed: k_prototypes(views, k, seed, scaled=True),
    "FAMD + K-means": famd_kmeans,
}


def pair(data: str, method: str, seed: int = 0) -> Pair:
    """Job of a method on a table, and the kind of measurement."""
    kind = "made" if data == MADE else "real"
    return Job(data, method, runs=1, seed=seed, alone=True), Measurement(kind)


def measure(job: Job, kind: Measurement) -> Result:
    """ARI and CPU seconds of a fit, and its memory beyond the data."""
    views, y = made_tables() if kind.name == "made" else real_tables(job.data)
    k, method = len(np.unique(y)), METHODS[job.method]
    if kind.name == "made":
        # Imports and the memory of libraries are not those of a fit.
        warm_up = {name: view.iloc[:500] for name, view in views.items()}
        METHODS["AutoDALMC"](warm_up, k, 0)
        if job.method.startswith("K-prototypes"):

            def method(views: Views, k: int, seed: int) -> Any:
                return k_prototypes(views, k, seed, scaled=False, n_init=1)

    start = time.process_time()
    with PeakMemory() as memory:
        try:
            labels = method(views, k, job.seed)
        except ValueError as error:
            if "could not initialize" not in str(error):
                raise
            labels = None  # K-prototypes found too few different starts
    seconds = time.process_time() - start
    ari = FAILED if labels is None else float(adjusted_rand_score(y, labels))
    scores = {"ARI": (ari,), "bytes": (float(memory.bytes),)}
    return Result("done", scores=scores, cpu_seconds=seconds, fit_seconds=seconds)


def quality_lines(results: dict[Pair, Result], seeds: int) -> list[str]:
    """Table of the mean ARI on the real tables."""

    def cells(name: str) -> list[float]:
        runs = [[results[pair(name, method, seed)] for seed in range(seeds)] for method in METHODS]
        return [float(np.mean([result.scores["ARI"][0] for result in own])) for own in runs]

    def with_best(found: list[float]) -> list[str]:
        texts = ["fails" if each == FAILED else f"{each:.3f}" for each in found]
        return [f"**{t}**" if f == max(found) else t for t, f in zip(texts, found, strict=True)]

    def rows(names: tuple[str, ...]) -> list[str]:
        return [row(name, *with_best(cells(name))) for name in names]

    means = np.mean([cells(name) for name in TABLES], axis=0)
    return [
        f"Mean ARI with the classes over {seeds} seeds, number of clusters given, default "
        "settings. Below the mean, classes are outcomes such as survival, which need not be "
        "clusters. A method that fails counts as 0.",
        "",
        *header("table", *METHODS),
        *rows(TABLES),
        row("**mean**", *with_best(means.tolist())),
        *rows(OUTCOMES),
    ]


def cost_lines(results: dict[Pair, Result]) -> list[str]:
    """Table of the cost on the made tables."""
    one_hot = 4.0 * N_ROWS * (N_NUMBERS + N_CATEGORIES * N_LEVELS)
    slowest = STARTS * results[pair(MADE, "K-prototypes")].cpu_seconds
    lines = [
        f"**Cost** on {N_ROWS:,} rows, {N_NUMBERS} numbers and {N_CATEGORIES} categories of "
        f"{N_LEVELS} levels, {N_CLUSTERS} clusters. Memory is what a fit takes beyond the data, "
        f"relative to the one-hot matrix in single precision ({one_hot / 1e6:.0f} MB). Of the "
        f"{STARTS} starts of K-prototypes one is measured, and all are counted.",
        "",
        *header("method", "CPU, s", "K-prototypes takes", "memory / one-hot matrix", "ARI"),
    ]
    for method in ("AutoDALMC", "DALMC", "K-prototypes", "FAMD + K-means"):
        result = results[pair(MADE, method)]
        seconds = result.cpu_seconds * (STARTS if method == "K-prototypes" else 1)
        times = f"{slowest / seconds:,.0f} times as long"
        memory = result.scores["bytes"][0] / one_hot
        lines.append(row(method, f"{seconds:.1f}", times, f"{memory:.2f}", *result.scores["ARI"]))
    return lines


def main() -> None:
    """Measure what is not in the results file, and write the tables."""
    options = parse_resumable(seeds=5)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pairs = [
        pair(name, method, seed)
        for name in (*TABLES, *OUTCOMES)
        for method in METHODS
        for seed in range(options.seeds)
    ]
    made = ("AutoDALMC", "DALMC", "K-prototypes", "FAMD + K-means")
    pairs += [pair(MADE, method) for method in made]
    if options.only:
        measured([each for each in pairs if each[0].data in options.only], options.results, measure)
        return
    results = measured(pairs, options.results, measure)
    lines = [
        f"{measured_by(f'python benchmarks/tables.py --seeds {options.seeds}')}, with kmodes 0.12 "
        "and prince 0.23.",
        "",
        *quality_lines(results, options.seeds),
        "",
        *cost_lines(results),
    ]
    write_lines(options.out, lines)


if __name__ == "__main__":
    main()
