"""Missing views: DALMC compared with imputation and with other methods.

    python benchmarks/incomplete.py [--masks 5] [--peer-masks 5] [--out benchmarks/incomplete.md]

- digits with 10, 30 and 50 % of the (sample, view) entries removed at random: DALMC, mean
  imputation and K-means, and NEMO and OPIMC of the package iMML if it is installed (slow, so on
  fewer masks);
- the real data sets of `data.py` with 30 % of the entries removed;
- held-out digits: agreement with a fit on all samples, and accuracy from a single view compared
  with K-means on that view;
- time of a fit of 500,000 samples with 15 patterns of missing views, compared with a complete one.
"""

import time
import warnings
from itertools import islice

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from _measurements import header, measured_by, option_parser, row
from anchorview import DALMC, MultiViewData, load_digits
from anchorview.metrics import clustering_accuracy
from core import make_data
from data import TABLE, load


def random_mask(n: int, n_views: int, fraction: float, seed: int) -> np.ndarray:
    """Availability with a fraction of entries removed at random; every sample keeps one view."""
    rng = np.random.default_rng(seed)
    keys = rng.random((n, n_views))
    keys[np.arange(n), rng.integers(n_views, size=n)] = 2
    removed = np.zeros(n * n_views, bool)
    removed[np.argsort(keys.ravel())[: round(fraction * n * n_views)]] = True
    return ~removed.reshape(n, n_views)


def standardized(views, available, fill):
    """Views with standardized features, and a value for all features of missing rows."""
    filled = []
    for view, has in zip(views, available.T, strict=True):
        filled.append(np.full(view.shape, fill))
        filled[-1][has] = StandardScaler().fit_transform(view[has].astype(float))
    return filled


def mean_imputed_kmeans(views, available, k):
    imputed = np.hstack(standardized(views, available, 0.0))  # The mean of standardized features.
    return KMeans(k, n_init=10, random_state=0).fit_predict(imputed)


def methods(n_masks, n_peer_masks):
    """Name, number of masks, and function of views, availability and k that returns labels."""

    def dalmc(**options):
        def labels(views, available, k):
            sizes = {name: factor * k for name, factor in options.items()}
            model = DALMC(k, random_state=0, **sizes)
            return model.fit(MultiViewData(views, available=available)).labels_

        return labels

    def peer(cls):
        def labels(views, available, k):
            model = cls(n_clusters=k, random_state=0)
            return model.fit_predict(standardized(views, available, np.nan))

        return labels

    yield "DALMC, l = d' = 2k", n_masks, dalmc(n_anchors=2, n_components=2)
    yield "DALMC, defaults", n_masks, dalmc()
    yield "mean imputation, K-means", n_masks, mean_imputed_kmeans
    try:
        from imml.cluster import NEMO, OPIMC
    except ImportError:
        return
    yield "iMML NEMO", n_peer_masks, peer(NEMO)
    yield "iMML OPIMC", n_peer_masks, peer(OPIMC)


def digits_table(options):
    yield "## Digits, ACC (masks, seconds per fit)"
    yield from header("method", "10 %", "30 %", "50 %")
    views, y = load_digits(return_X_y=True)
    views = list(views.values())
    for name, n_masks, labels in methods(options.masks, options.peer_masks):
        cells = []
        for fraction in (0.1, 0.3, 0.5):
            start = time.perf_counter()
            scores = [
                clustering_accuracy(y, labels(views, random_mask(2000, 6, fraction, seed), 10))
                for seed in range(n_masks)
            ]
            seconds = (time.perf_counter() - start) / n_masks
            cells.append(f"{np.mean(scores):.3f} ({n_masks}, {seconds:.1f} s)")
        yield row(name, *cells)


def data_table(options):
    yield f"## 30 % removed, ACC over {options.masks} masks"
    names, _, columns = zip(*islice(methods(1, 1), 3), strict=True)
    yield from header("data", *names, "complete")
    means = []
    for name in TABLE:
        views, y = load(name)
        views = list(views.values())
        k = len(np.unique(y))
        masks = [random_mask(len(y), len(views), 0.3, seed) for seed in range(options.masks)]
        values = []
        for labels in columns:
            try:
                scores = [clustering_accuracy(y, labels(views, mask, k)) for mask in masks]
                values.append(np.mean(scores))
            except ValueError:  # The views allow fewer than 2k anchors.
                values.append(np.nan)
        values.append(clustering_accuracy(y, DALMC(k, random_state=0).fit(views).labels_))
        means.append(values)
        yield row(name, *("-" if np.isnan(value) else value for value in values))
    yield row("mean", *np.nanmean(means, axis=0))


def held_out_table(options):
    views, y = load_digits(return_X_y=True)
    data = MultiViewData(views)
    whole = DALMC(10, random_state=0).fit(data)
    agreement = []
    model_scores = {name: [] for name in views}
    kmeans_scores = {name: [] for name in views}
    for train, test in KFold(5, shuffle=True, random_state=0).split(data):
        model = DALMC(10, random_state=0).fit(data[train])
        agreement.append(adjusted_rand_score(model.predict(data[test]), whole.labels_[test]))
        for name, view in views.items():
            predicted = model.predict({name: view[test]})
            model_scores[name].append(clustering_accuracy(y[test], predicted))
            scaler = StandardScaler().fit(view[train])
            kmeans = KMeans(10, n_init=10, random_state=0).fit(scaler.transform(view[train]))
            alone = kmeans.predict(scaler.transform(view[test]))
            kmeans_scores[name].append(clustering_accuracy(y[test], alone))
    yield "## Held-out digits, five folds"
    yield (
        f"All views: ARI with the labels of a fit on all samples {np.mean(agreement):.3f} "
        f"({min(agreement):.3f} to {max(agreement):.3f})."
    )
    yield ""
    yield from header(
        "only this view given", "DALMC on all views, ACC", "K-means on this view, ACC"
    )
    for name in views:
        yield row(name, np.mean(model_scores[name]), np.mean(kmeans_scores[name]))


def speed_table(options):
    views, _ = make_data(500_000, (60, 100, 40, 80))
    patterns = np.array([[bits >> p & 1 for p in range(4)] for bits in range(1, 16)], bool)
    available = patterns[np.random.default_rng(0).integers(15, size=500_000)]
    seconds = {}
    for name, mask in (("complete", None), ("incomplete", available)) * 2:
        data = MultiViewData(views, available=mask)
        start = time.perf_counter()
        DALMC(10, random_state=0).fit(data)
        seconds[name] = min(time.perf_counter() - start, seconds.get(name, np.inf))
    ratio = seconds["incomplete"] / seconds["complete"]
    yield "## 500,000 samples x (60, 100, 40, 80), 15 patterns"
    yield (
        f"Complete fit {seconds['complete']:.2f} s, incomplete fit {seconds['incomplete']:.2f} s: "
        f"{ratio:.2f} times."
    )


def main() -> None:
    parser = option_parser()
    parser.add_argument("--masks", type=int, default=5)
    parser.add_argument("--peer-masks", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = [
        measured_by(
            f"python benchmarks/incomplete.py --masks {options.masks} "
            f"--peer-masks {options.peer_masks}"
        )
        + ".",
    ]
    for table in (speed_table, digits_table, held_out_table, data_table):
        lines.append("")
        for line in table(options):
            lines.append(line)
            print(line, flush=True)
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
