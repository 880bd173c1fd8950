"""Wide, sparse and many-cluster fits, as ratios of measurements in the same run.

    python benchmarks/wide.py [--only CASE ...] [--out benchmarks/wide.md]

Both sides of a ratio run in alternation, and seconds are medians of three. A case is a function in
`CASES` that returns its rows of the table; with --only, the rows of other cases are kept.

- many: the whole fit for 1,000 clusters, compared with MiniBatchKMeans on the same embedding, and
  its inertia with one start of full K-means;
- very_many: the whole fit for 10,000 clusters, compared with MiniBatchKMeans as in "many";
- images: the whole fit of features of images, compared with one Gram product in single precision;
  and AutoDALMC, compared with that fit.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from _measurements import header, option_parser, row, write_lines
from anchorview import DALMC, AutoDALMC
from anchorview._utils.linalg import unit_rows
from core import make_data

ROUNDS = 3
"""Times are medians of this number of runs, in alternation."""

ALOI = (27, 64, 27, 13)
"""Numbers of features of the four views of ALOI, which give an embedding with 64 columns."""

IMAGES = (784, 324, 236, 128)
"""Numbers of features of pixels and of three descriptors of them."""


class Row(NamedTuple):
    """A row of the table: a quantity of ours compared with a reference."""

    quantity: str
    ours: float
    reference: float
    required: float
    """Maximum ratio of both."""

    def cells(self, case: str) -> str:
        """Row in Markdown."""
        ratio = self.ours / self.reference
        met = "yes" if ratio <= self.required else "no"
        numbers = (f"{number:.4g}" for number in (self.ours, self.reference))
        return row(case, self.quantity, *numbers, f"{ratio:.3f}", f"{self.required:g}", met)


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
    """Views as wide as those of ALOI, with clusters that overlap: K-means finds half of them."""
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
    views = make_data(60_000, IMAGES)[0]
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


CASES: dict[str, Callable[[], list[Row]]] = {
    "many": many,
    "very_many": very_many,
    "images": images,
}


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
    write_lines(options.out, head + [line for case in CASES for line in rows.get(case, [])])


if __name__ == "__main__":
    main()
