"""Wide, sparse and many-cluster fits, as ratios of measurements in the same run.

    python benchmarks/wide.py [--only CASE ...] [--out benchmarks/wide.md]

Both sides of a ratio run in alternation, and seconds are medians of three. A case is a function in
`CASES` that returns its rows of the table; with --only, the rows of other cases are kept.

- many: the whole fit for 1,000 clusters, compared with MiniBatchKMeans on the same embedding, and
  its inertia with one start of full K-means;
- very_many: the whole fit for 10,000 clusters, compared with MiniBatchKMeans as in "many";
- images: the whole fit of features of images, compared with one Gram product in single precision;
  and AutoDALMC, compared with that fit;
- dense: an exact fit of 8,252 features, compared with one Gram product in single precision, one
  Cholesky factorization and K-means; its memory, compared with a matrix of products;
- cells: the fit of sparse counts of 20,000 genes and of proteins, compared with TruncatedSVD of the
  genes and K-means;
- sparse: memory of a fit of 100,000 x 30,000 entries with 5 % non-zeros, beyond the data;
- text: the fit of tf-idf of 100,000 words and 20,000 words of titles, and AutoDALMC on it;
- truncated: the change of the objective by truncation, compared with its bound, and the agreement
  of the labels, on real data; it is not required where solver="auto" chooses an exact route.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score

from _measurements import PeakMemory, header, measured_by, option_parser, row, write_lines
from anchorview import DALMC, AutoDALMC
from anchorview._utils.linalg import unit_rows
from anchorview.metrics import clustering_accuracy
from core import make_data
from data import FOLDER, load, many_images
from wide_data import made_cells, made_words, nbytes

ROUNDS = 3
"""Times are medians of this number of runs, in alternation."""

ALOI = (27, 64, 27, 13)
"""Numbers of features of the four views of ALOI, which give an embedding with 64 columns."""

AWA = (2000, 252, 2000, 2000, 2000)
"""Numbers of features of five of the six views of AWA."""


class Row(NamedTuple):
    """A row of the table: a quantity of ours compared with a reference."""

    quantity: str
    ours: float
    reference: float
    required: float
    """Maximum ratio of both; infinite where solver="auto" is exact, which is enough."""

    def cells(self, case: str) -> str:
        """Row in Markdown."""
        ratio = self.ours / self.reference
        met = "yes" if ratio <= self.required else "no"
        numbers = (f"{number:.4g}" for number in (self.ours, self.reference))
        limit = f"{self.required:g}" if np.isfinite(self.required) else "or auto is exact"
        return row(case, self.quantity, *numbers, f"{ratio:.3f}", limit, met)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def side_by_side(*works: Callable[[], Any], rounds: int = ROUNDS) -> list[tuple[float, Any]]:
    """Median seconds and last result of each call; all of them are repeated in alternation."""
    runs = [[timed(work) for work in works] for _ in range(rounds)]
    return [(median(seconds for seconds, _ in own), own[-1][1]) for own in zip(*runs, strict=True)]


def many_clusters(n: int, k: int) -> list[np.ndarray]:
    """Views as wide as those of ALOI, with clusters that overlap."""
    return make_data(n, ALOI, k, separation=1.5)[0]


def mini_batches(points: np.ndarray, k: int) -> MiniBatchKMeans:
    """Mini-batch K-means with three starts."""
    return MiniBatchKMeans(k, n_init=3, random_state=0).fit(points)


def inertia(points: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared distances to the means of the clusters."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sums = np.add.reduceat(points[order].astype(np.float64), starts)
    sizes = np.diff(np.append(starts, len(labels)))
    return float(np.square(points, dtype=np.float64).sum() - (sums**2 / sizes[:, None]).sum())


def many() -> list[Row]:
    """110,000 samples, 1,000 clusters."""
    k = 1000
    views = many_clusters(110_000, k)
    points = unit_rows(DALMC(k, n_init=1, random_state=0).fit(views).embedding_)
    (ours, model), (reference, _) = side_by_side(
        lambda: DALMC(k, random_state=0).fit(views), lambda: mini_batches(points, k)
    )
    one_start = KMeans(k, n_init=1, random_state=0).fit(points)
    return [
        Row("fit / MiniBatchKMeans(n_init=3), s", ours, reference, 1.0),
        Row("inertia / KMeans(n_init=1)", inertia(points, model.labels_), one_start.inertia_, 1.01),
    ]


def very_many() -> list[Row]:
    """200,000 samples, 10,000 clusters."""
    views = many_clusters(200_000, 10_000)
    fewer = many_clusters(110_000, 1000)
    points = unit_rows(DALMC(1000, n_init=1, random_state=0).fit(fewer).embedding_)
    (ours, _), (reference, _) = side_by_side(
        lambda: DALMC(10_000, random_state=0).fit(views), lambda: mini_batches(points, 1000)
    )
    return [Row("fit / MiniBatchKMeans of many, s", ours, reference, 5.0)]


def images() -> list[Row]:
    """60,000 samples, 1,472 features, 10 clusters."""
    views = many_images(60_000)
    concatenated = np.hstack(views)
    (ours, _), (product, _), (auto, _) = side_by_side(
        lambda: DALMC(10, random_state=0).fit(views),
        lambda: concatenated.T @ concatenated,
        lambda: AutoDALMC(10, random_state=0).fit(views),
    )
    return [
        Row("fit / float32 Gram product, s", ours, product, 2.0),
        Row("AutoDALMC / fit, s", auto, ours, 3.5),
    ]


def dense() -> list[Row]:
    """30,475 samples, 8,252 features, 50 clusters."""
    views = make_data(30_475, AWA, 50, separation=1.5)[0]
    with PeakMemory() as memory:
        model = DALMC(50, solver="compressed", random_state=0).fit(views)
    points = unit_rows(model.embedding_)
    concatenated = np.hstack(views)
    products = (concatenated.T @ concatenated).astype(np.float64)
    size = len(products)

    def limit() -> None:
        concatenated.T @ concatenated
        dpotrf(products)
        KMeans(50, n_init=10, random_state=0).fit(points)

    (exact, _), (auto, _), (reference, _) = side_by_side(
        lambda: DALMC(50, solver="compressed", random_state=0).fit(views),
        lambda: DALMC(50, random_state=0).fit(views),
        limit,
    )
    return [
        Row("exact fit / Gram product, Cholesky and K-means, s", exact, reference, 1.5),
        Row("fit with solver='auto' / the same, s", auto, reference, 1.5),
        Row("memory / matrix of products, bytes", memory.bytes, 8 * size**2, 3.0),
    ]


def cells() -> list[Row]:
    """20,000 cells, 20,000 genes, 150 proteins, 12 types."""
    genes, proteins, y = made_cells(20_000, 20_000, 12)

    def reference() -> np.ndarray:
        scores = TruncatedSVD(50, random_state=0).fit_transform(genes)
        return KMeans(12, n_init=10, random_state=0).fit_predict(scores)

    (ours, model), (seconds, labels) = side_by_side(
        lambda: DALMC(12, random_state=0).fit([genes, proteins]), reference
    )
    found, other = (clustering_accuracy(y, own) for own in (model.labels_, labels))
    return [
        Row("fit / TruncatedSVD(50) and K-means, s", ours, seconds, 1.0),
        Row("accuracy of TruncatedSVD(50) and K-means / of the fit", other, found, 1.0),
    ]


def memory_of_words(n: int) -> tuple[float, float, float]:
    """Peak memory of a fit of n x 30,000 entries, bytes of the data, and of the directions."""
    y = np.random.default_rng(0).integers(10, size=n)
    words = made_words(n, 30_000, 2600, y)
    with PeakMemory() as memory:
        model = DALMC(10, random_state=0).fit([words])
    (directions,) = model.plan_.truncation.n_directions
    return memory.bytes, nbytes(words), 4 * n * directions


def sparse_memory() -> list[Row]:
    """100,000 samples, 30,000 features with 5 % non-zeros, and half as many samples."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        half, whole = pool.map(memory_of_words, (50_000, 100_000), chunksize=1)
    peak, data, directions = whole
    return [
        Row("memory / 3 GB, bytes", peak, 3e9, 1.0),
        Row("memory / half of the data and n x r, bytes", peak, data / 2 + directions, 1.0),
        Row("memory / with half of the samples, bytes", peak, half[0], 2.1),
    ]


def text() -> list[Row]:
    """100,000 texts of 20 topics: tf-idf of 100,000 words, and of 20,000 words of titles."""
    n, k = 100_000, 20
    y = np.random.default_rng(0).integers(k, size=n)
    views = [made_words(n, 100_000, 100, y), made_words(n, 20_000, 12, y, seed=1)]
    rows = []
    for method in (DALMC, AutoDALMC):
        with PeakMemory() as memory:
            seconds, model = timed(lambda own=method: own(k, random_state=0).fit(views))
        accuracy = clustering_accuracy(y, model.labels_)
        rows.append(
            Row(f"memory of {method.__name__} / 3 GB, bytes", memory.bytes, 3e9, 1.0),
        )
        print(f"{method.__name__}: {seconds:.1f} s, accuracy {accuracy:.3f}", flush=True)
    return rows


def truncated() -> list[Row]:
    """All real data sets with views that are truncated."""
    rows = []
    for name in sorted(path.stem for path in FOLDER.glob("*.npz")):
        views, target = load(name)
        k = len(np.unique(target))
        exact, model = (
            DALMC(k, solver=solver, random_state=0).fit(views) for solver in ("auto", "truncated")
        )
        found = model.plan_.truncation
        if not any(found.left_out):
            print(f"{name}: no view is truncated; auto chose {exact.plan_.route}", flush=True)
            continue
        change = abs(model.objective_[-1] - exact.objective_[-1])
        agreement = adjusted_rand_score(exact.labels_, model.labels_)
        print(f"{name}: {found}; auto chose {exact.plan_.route}", flush=True)
        rows.append(Row(f"{name}, change of the objective / bound", change, found.bound, 1.0))
        chosen = exact.plan_.route
        required = 1.0 if chosen == "truncated" else np.inf
        rows.append(Row(f"{name} (auto: {chosen}), ARI .98 / found", 0.98, agreement, required))
    return rows


CASES: dict[str, Callable[[], list[Row]]] = {
    "many": many,
    "very_many": very_many,
    "images": images,
    "dense": dense,
    "cells": cells,
    "sparse": sparse_memory,
    "text": text,
    "truncated": truncated,
}


COMMAND = "python benchmarks/wide.py"


def kept_rows(path: Path, measured: Sequence[str]) -> dict[str, list[str]]:
    """Rows of the table in a file, by case, of cases that were not measured again."""
    kept: dict[str, list[str]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            case = line.removeprefix("| ").partition(" | ")[0]
            if case in CASES and case not in measured:
                kept.setdefault(case, []).append(line)
    return kept


def main() -> None:
    parser = option_parser()
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="cases to measure")
    options = parser.parse_args()
    chosen = options.only or list(CASES)
    rows = kept_rows(options.out, chosen)
    rows |= {case: [found.cells(case) for found in CASES[case]()] for case in chosen}
    head = header("case", "ours / reference", "ours", "reference", "ratio", "required", "met")
    # Cases that are kept are as old as the page.
    when = options.out.read_text().splitlines()[0] if options.only else f"{measured_by(COMMAND)}."
    table = [line for case in CASES for line in rows.get(case, [])]
    write_lines(options.out, [when, "", *head, *table])


if __name__ == "__main__":
    main()
