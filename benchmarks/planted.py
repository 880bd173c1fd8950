"""Planted clusters whose truth everybody can see, and data without clusters: how they are judged.

    python benchmarks/planted.py [--seeds 5] [--only KIND ...] [--out benchmarks/planted.md]

Number of clusters, adjusted Rand index with and without the number, structure and the share of
doubtful samples of AutoDALMC. Beside it K-means with the number of the largest silhouette, Gaussian
mixtures with the number of the smallest BIC, and HDBSCAN, on standardized features of all views.
"""

import warnings
import zlib
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from _measurements import header, measured_by, option_parser, row, write_lines
from anchorview import AutoDALMC

Views = list[np.ndarray]
NUMBERS = range(2, 16)


def around(rng: np.random.Generator, k: int, d: int, radius: float) -> np.ndarray:
    """Centers on a sphere."""
    centers = rng.normal(size=(k, d))
    return radius * centers / np.linalg.norm(centers, axis=1, keepdims=True)


def round_clusters(
    rng: np.random.Generator, n: int, shares: list[float], widths: tuple[int, ...], radius: float
) -> tuple[Views, np.ndarray]:
    """Normal clusters with the same labels in all views."""
    y = rng.choice(len(shares), size=n, p=np.array(shares) / sum(shares))
    views = [around(rng, len(shares), d, radius)[y] + rng.normal(size=(n, d)) for d in widths]
    return views, y


def one_view(rng: np.random.Generator, n: int) -> tuple[Views, np.ndarray]:
    """Three clusters in one view of five."""
    views, y = round_clusters(rng, n, [1.0] * 3, (10,), 7)
    return [*views, *(rng.normal(size=(n, 12)) for _ in range(4))], y


def outliers(rng: np.random.Generator, n: int) -> tuple[Views, np.ndarray]:
    """Four clusters, and 2 % of the rows times 1,000."""
    views, y = round_clusters(rng, n, [1.0] * 4, (10, 15), 7)
    rows = rng.choice(n, n // 50, replace=False)
    for view in views:
        view[rows] *= 1_000
    return views, y


def nuisance(rng: np.random.Generator, n: int) -> tuple[Views, np.ndarray]:
    """Four clusters under strong factors, which differ between the views."""
    views, y = round_clusters(rng, n, [1.0] * 4, (20, 30), 7)
    factors = [2 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, v.shape[1])) for v in views]
    return [view + factor for view, factor in zip(views, factors, strict=True)], y


def moons(rng: np.random.Generator, n: int) -> tuple[Views, np.ndarray]:
    """Two half moons, mapped linearly to two views."""
    y, t = rng.integers(2, size=n), np.pi * rng.random(n)
    plane = np.c_[np.where(y, 1 - np.cos(t), np.cos(t)), np.where(y, 0.5 - np.sin(t), np.sin(t))]
    maps = (rng.normal(size=(2, 6)) for _ in range(2))
    return [plane @ one + 0.06 * rng.normal(size=(n, 6)) for one in maps], y


def halves(k: int) -> list[float]:
    """Sizes of which each is half of the one before."""
    return [2.0**-c for c in range(k)]


PLANTED: dict[str, Callable[[np.random.Generator], tuple[Views, np.ndarray]]] = {
    "2 equal": lambda rng: round_clusters(rng, 500, [1.0] * 2, (8, 12), 6),
    "3 equal": lambda rng: round_clusters(rng, 500, [1.0] * 3, (8, 12), 6),
    "8 equal": lambda rng: round_clusters(rng, 1_000, [1.0] * 8, (8, 12), 6),
    "30 equal": lambda rng: round_clusters(rng, 2_000, [1.0] * 30, (10, 14), 8),
    "1 : 2 : 3 : 4": lambda rng: round_clusters(rng, 800, [1, 2, 3, 4], (10, 15), 8),
    "5 of sizes halving": lambda rng: round_clusters(rng, 1_500, halves(5), (10, 15), 8),
    "2 of 98 % and 2 %": lambda rng: round_clusters(rng, 1_500, [98, 2], (10, 15), 10),
    "3 in one view of five": lambda rng: one_view(rng, 600),
    "4 with outliers": lambda rng: outliers(rng, 800),
    "4 under a nuisance": lambda rng: nuisance(rng, 1_000),
    "2 half moons": lambda rng: moons(rng, 800),
}

WITHOUT: dict[str, Callable[[np.random.Generator, int], Views]] = {
    "normal": lambda rng, n: [rng.normal(size=(n, d)) for d in (10, 20, 30)],
    "log-normal": lambda rng, n: [np.exp(rng.normal(size=(n, d))) for d in (10, 15)],
    "Student, 3 degrees": lambda rng, n: [rng.standard_t(3, size=(n, d)) for d in (10, 20)],
    "uniform": lambda rng, n: [rng.random((n, d)) for d in (6, 8)],
    "4 shared factors": lambda rng, n: shared(rng, rng.normal(size=(n, 4)), 0.5),
    "shared square": lambda rng, n: shared(rng, rng.random((n, 2)), 0.05),
}


def shared(rng: np.random.Generator, base: np.ndarray, noise: float) -> Views:
    """Linear maps of the same coordinates, with noise."""
    n, width = base.shape
    return [base @ rng.normal(size=(width, d)) + noise * rng.normal(size=(n, d)) for d in (10, 12)]


def others(views: Views) -> dict[str, np.ndarray]:
    """Labels by other methods, which choose the number too."""
    Z = np.hstack([StandardScaler().fit_transform(v) / v.shape[1] ** 0.5 for v in views])
    runs = {k: KMeans(k, n_init=3, random_state=0).fit_predict(Z) for k in NUMBERS}
    mixtures = [GaussianMixture(k, random_state=0).fit(Z) for k in range(1, 16)]

    def silhouette(k: int) -> float:
        return float(silhouette_score(Z, runs[k], sample_size=800, random_state=0))

    return {
        "silhouette, K-means": runs[max(NUMBERS, key=silhouette)],
        "BIC, mixture": min(mixtures, key=lambda mixture: mixture.bic(Z)).predict(Z),
        "HDBSCAN": HDBSCAN(min_cluster_size=15, copy=True).fit_predict(Z),
    }


def main() -> None:
    """Measure and write the tables."""
    parser = option_parser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = ("silhouette, K-means", "BIC, mixture", "HDBSCAN")
    lines = [
        f"{measured_by(f'python benchmarks/planted.py --seeds {options.seeds}')}: how often the "
        "planted number was found, and the mean adjusted Rand index without and with the number.",
        "",
        *header(
            "data", "right", "ARI", "ARI, number given", "structure", *(f"{p}: ARI" for p in peers)
        ),
    ]
    for name, make in PLANTED.items():
        if options.only and name not in options.only:
            continue
        cells = []
        for seed in range(options.seeds):
            views, y = make(np.random.default_rng([seed, zlib.crc32(name.encode())]))
            k = len(np.unique(y))
            model = AutoDALMC(random_state=seed).fit(views)
            given = AutoDALMC(k, random_state=seed).fit(views)
            found = [model.labels_, given.labels_, *others(views).values()]
            scores = [adjusted_rand_score(y, labels) for labels in found]
            cells.append((model.n_clusters_ == k, *scores[:2], model.structure_, *scores[2:]))
        right, *means = np.mean(np.array(cells, dtype=float), axis=0)
        lines.append(row(name, f"{right:.0%}", *(f"{mean:.2f}" for mean in means)))
        print(lines[-1], flush=True)
    lines += [
        "",
        "Data without clusters: how often the answer is one cluster; with four clusters given, how "
        "often structure is 0, and the mean share of doubtful samples; and how often other methods "
        "find one cluster.",
        "",
        *header("data", "samples", "one cluster", "structure 0", "doubtful", *peers[1:]),
    ]
    for name, draw in WITHOUT.items():
        if options.only and name not in options.only:
            continue
        for n in (100, 300, 1_000, 3_000):
            cells = []
            for seed in range(options.seeds):
                views = draw(np.random.default_rng([seed, n, zlib.crc32(name.encode())]), n)
                model = AutoDALMC(random_state=seed).fit(views)
                given = AutoDALMC(4, random_state=seed).fit(views)
                doubtful = np.mean(given.confidence_ < given.confidence_threshold_)
                labels = others(views)
                ones = [len(set(labels[peer]) - {-1}) <= 1 for peer in peers[1:]]
                cells.append((model.n_clusters_ == 1, given.structure_ == 0, doubtful, *ones))
            shares = np.mean(np.array(cells, dtype=float), axis=0)
            lines.append(row(name, n, *(f"{share:.0%}" for share in shares)))
            print(lines[-1], flush=True)
    write_lines(options.out, lines)


if __name__ == "__main__":
    main()
