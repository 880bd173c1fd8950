"""Speed and memory of a fit, as ratios of measurements in the same run.

    python benchmarks/core.py [--quick] [--out benchmarks/core.json]

- embedding: everything before K-means (scaling, compression, optimization, embedding), compared
  with only the iterations of the paper (thin LAPACK SVDs on n columns, from the same start);
- full fit: with 10 K-means restarts, compared with K-means (n_init=1) on the concatenated views;
- linear: time per sample with 800,000 samples compared with 50,000;
- memory: maximum resident memory during the fit above that before it, as a fraction of the input.
"""

import json
import time

import numpy as np
from scipy.linalg import svd
from sklearn.cluster import KMeans

from _measurements import PeakMemory, option_parser
from anchorview import DALMC, MultiViewData
from anchorview._utils.progress import listen_to_progress
from anchorview.core.alternating import AlternatingSolver
from anchorview.core.scale import fit_scalings
from anchorview.core.scaled_view import scaled_views
from anchorview.metrics import clustering_accuracy

ITERATIONS = 20
"""The paper converges in "fewer than 20"; both sides do all of them."""


def make_data(n: int, widths: tuple[int, ...], k: int = 10, seed: int = 0, separation: float = 0.6):
    """Float32 views with overlapping clusters and a decaying spectrum, as of image features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    latent = separation * rng.standard_normal((k, 30))[y] + rng.standard_normal((n, 30))
    views = []
    for d in widths:
        decay = (1 + np.arange(30)) ** -0.5
        loadings = (decay[:, None] * rng.standard_normal((30, d))).astype(np.float32)
        view = latent.astype(np.float32) @ loadings
        view += 2 * rng.standard_normal((n, d), dtype=np.float32)
        views.append(view)
    return views, y


def paper_iterations(views, start: AlternatingSolver) -> float:
    """Seconds of the paper's iterations on scaled data, with polar factors from thin SVDs."""
    views = [X.T for X in views]
    H = [h.T.astype(np.float32) for h in start.H]
    S = start.S.T.astype(np.float32)
    A = [a.astype(np.float32) for a in start.A]
    Z = [z.astype(np.float32) for z in start.Z]
    a = start.a.astype(np.float32)
    norms = [float(np.sum(X**2)) for X in views]
    beta = np.float32(start.beta)

    def polar(M):
        U, _, Vt = svd(M, full_matrices=False, check_finite=False)
        return U @ Vt

    start_time = time.perf_counter()
    for _ in range(ITERATIONS):
        for p, X in enumerate(views):
            H[p] = polar(a[p] ** 2 * (Z[p].T @ X) + beta * (A[p] @ S))
            Z[p] = X @ H[p].T
        S = polar(sum(A[p].T @ H[p] for p in range(len(views))))
        A = [polar(h @ S.T) for h in H]
        residuals = np.array([norm - np.sum(z**2) for norm, z in zip(norms, Z, strict=True)])
        a = ((1 / residuals) / np.sum(1 / residuals)).astype(np.float32)
    return time.perf_counter() - start_time


def timed_embedding(views, k: int) -> tuple[float, DALMC]:
    """Seconds of everything before K-means, with a fixed number of iterations."""
    model = DALMC(k, max_iter=ITERATIONS, tol=0, n_init=1, random_state=0)
    embedded_at = []

    def note(stage: str, done: int, total: int) -> None:
        if stage == "assigning" and done == 0:
            embedded_at.append(time.perf_counter())

    start_time = time.perf_counter()
    with listen_to_progress(note):
        model.fit(views)
    return embedded_at[0] - start_time, model


def best(measure, repeats: int = 3):
    return min((measure() for _ in range(repeats)), key=lambda pair: pair[0])


def against_paper(n: int, widths: tuple[int, ...], k: int = 10) -> dict[str, float]:
    views, _ = make_data(n, widths, k)
    seconds, model = best(lambda: timed_embedding(views, k))
    data = MultiViewData(views)
    scaled, _ = scaled_views(data, fit_scalings(data, model.scaling), unit_norm=True)
    start = AlternatingSolver(scaled, model.embedding_.shape[1], model.n_components_)
    paper = paper_iterations(scaled, start)
    return {"embedding_s": seconds, "paper_s": paper, "ratio": paper / seconds}


def against_kmeans(n: int, widths: tuple[int, ...], k: int = 10) -> dict[str, float]:
    views, y = make_data(n, widths, k)
    with PeakMemory() as memory:
        fit, model = timed_fit(views, k)
    concatenated = np.hstack(views)
    start_time = time.perf_counter()
    kmeans = KMeans(k, n_init=1, random_state=0).fit(concatenated)
    one_kmeans = time.perf_counter() - start_time
    return {
        "fit_s": fit,
        "kmeans_s": one_kmeans,
        "kmeans_iterations": kmeans.n_iter_,
        "ratio": fit / one_kmeans,
        "memory_share": memory.bytes / concatenated.nbytes,
        "accuracy": clustering_accuracy(y, model.labels_),
        "kmeans_accuracy": clustering_accuracy(y, kmeans.labels_),
    }


def timed_fit(views, k: int) -> tuple[float, DALMC]:
    """Seconds of a full fit with 10 K-means restarts."""
    start_time = time.perf_counter()
    model = DALMC(k, random_state=0).fit(views)
    return time.perf_counter() - start_time, model


def linear_in_samples(sizes: tuple[int, int], widths: tuple[int, ...], k: int = 10):
    small, large = sizes
    seconds = {}
    for n in sizes:
        views, _ = make_data(n, widths, k)
        seconds[f"embedding_s_{n}"], _ = best(lambda views=views: timed_embedding(views, k))
        seconds[f"fit_s_{n}"], _ = best(lambda views=views: timed_fit(views, k), 2)
    growth = {
        f"{stage}_ratio": seconds[f"{stage}_s_{large}"]
        / seconds[f"{stage}_s_{small}"]
        / (large / small)
        for stage in ("embedding", "fit")
    }
    return seconds | growth


def main() -> None:
    parser = option_parser(".json")
    parser.add_argument("--quick", action="store_true", help="use a tenth of the samples")
    options = parser.parse_args()
    part = 10 if options.quick else 1
    wide = (784, 324, 236, 128)
    results = {
        "embedding, 200,000 x (60, 100, 40)": against_paper(200_000 // part, (60, 100, 40)),
        "embedding, 60,000 x (784, 324, 236, 128)": against_paper(60_000 // part, wide),
        "full fit, 60,000 x (784, 324, 236, 128)": against_kmeans(60_000 // part, wide),
        "time per sample, 800,000 / 50,000": linear_in_samples(
            (50_000 // part, 800_000 // part), (60, 100, 40)
        ),
    }
    for name, values in results.items():
        print(name)
        for key, value in values.items():
            print(f"    {key:20s} {value:.4g}")
    options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
