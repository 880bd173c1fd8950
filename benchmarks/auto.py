"""AutoDALMC: quality at the known and at the chosen number of clusters, levels, pool, and cost.

    python benchmarks/auto.py [--seeds 5] [--only NAME ...] [--results FILE] [--out FILE]

Runs on the complete data sets of the data folder and on its omics data sets (see `data.py`), beside
communities of the mean neighbor graph at resolution 1 (or with the known number), ConcatSpectral
and DALMC. Finished jobs are kept in the results file: when started again, the script continues
where it stopped. The classes are used for scores, and to choose among pools and rules on all data
sets but the one that is scored; AutoDALMC never sees them.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from _measurements import (
    Measurement,
    Pair,
    header,
    measured,
    measured_by,
    parse_resumable,
    row,
    write_lines,
)
from anchorview import DALMC, AutoDALMC, MultiViewData, make_multiview
from anchorview.compared import ConcatSpectral
from anchorview.estimators.partitions.candidates import families_of
from anchorview.estimators.partitions.consensus import (
    Partitions,
    agreement_matrix,
    best_by_family,
)
from anchorview.estimators.partitions.coordinates import STANDARDIZED, fit_basis
from anchorview.estimators.partitions.neighbor_graphs import NeighborGraph
from anchorview.experiments.jobs import Job, Result
from anchorview.metrics import clustering_accuracy
from data import FOLDER, load, many_images

INCOMPLETE = ("bdgp",)
OMICS = ("omics/tcga_kipan", "omics/tcga_brca", "omics/tcga_breast_mixomics")

N_CLUSTERS = (*range(2, 31), 40, 60, 100)
REPEATS = range(2)
"""Synthetic data sets per number of clusters."""

MAX_ROWS = 10_000
"""Maximum number of rows of graphs and of concatenated features."""

IMAGES = "60,000 images"
COSTS = {"handwritten": (25, 60), "3sources": (25, 60), IMAGES: (4, 10)}
"""How many times as long as one DALMC fit AutoDALMC may take, with and without the number."""
N_FITS = 5

POOL_WEIGHTS = {
    "half directions, a third communities": (3, 1, 2),
    "half directions, a quarter communities": (2, 1, 1),
    "all kinds equal": (1, 1, 1),
    "directions and communities": (1, 0, 1),
    "directions and eigenvectors": (1, 1, 0),
    "eigenvectors and communities": (0, 1, 1),
}
"""Weights of directions, eigenvectors and communities."""
SHIPPED = "half directions, a third communities"
POSITIONS = {"directions": 0, "graph": 1, "communities": 2}

Scores = dict[str, tuple[float, ...]]


def some_of(name: str) -> tuple[MultiViewData, np.ndarray]:
    views, y = load(name)
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return MultiViewData(views)[np.sort(rows)], y[np.sort(rows)]


def scores_of(y: np.ndarray, labels: np.ndarray) -> Scores:
    return {
        "ACC": (clustering_accuracy(y, labels),),
        "ARI": (adjusted_rand_score(y, labels),),
        "number": (float(len(np.unique(labels))),),
    }


def graph_of(data: MultiViewData) -> NeighborGraph:
    return NeighborGraph(fit_basis(data, STANDARDIZED)(data)[STANDARDIZED])


def quality(job: Job) -> Scores:
    """Scores at the known number of clusters."""
    if job.method in ("communities", "concat-spectral"):
        data, y = some_of(job.data)
        k = len(np.unique(y))
        if job.method == "communities":
            return scores_of(y, graph_of(data).n_communities(k))
        if data.available is not None:
            # It takes complete views only.
            return dict.fromkeys(("ACC", "ARI", "number"), (np.nan,))
        return scores_of(y, ConcatSpectral(k, random_state=job.seed).fit(data).labels_)
    views, y = load(job.data)
    k = len(np.unique(y))
    model = (DALMC if job.method == "dalmc" else AutoDALMC)(k, random_state=job.seed).fit(views)
    scores = scores_of(y, model.labels_)
    if job.method == "auto":
        candidates = model.candidate_labels(views)
        confident = model.confidence_ >= np.median(model.confidence_)
        scores["candidates"] = tuple(clustering_accuracy(y, labels) for labels in candidates)
        scores["confident"] = (clustering_accuracy(y[confident], model.labels_[confident]),)
    return scores


def number(job: Job) -> Scores:
    """Scores without the number of clusters, and what it is chosen by."""
    if job.method == "communities":
        data, y = some_of(job.data)
        return scores_of(y, graph_of(data).communities(1.0))
    views, y = load(job.data)
    model = AutoDALMC(random_state=job.seed).fit(views)
    levels = [adjusted_rand_score(y, model.labels_at(k)) for k in model.levels_.index]
    return scores_of(y, model.labels_) | {
        "numbers": tuple(map(float, model.curve_.index)),
        "agreement": tuple(model.curve_),
        "chance": tuple(model.chance_curve_),
        "levels": tuple(map(float, model.levels_.index)),
        "levels ARI": tuple(levels),
    }


def synthetic(job: Job) -> Scores:
    """Clusters of 30 to 60 samples in three views of 20 to 60 features.

    More than 30 clusters are as far apart in the views as 30: with one `separation` for all, a
    linear discriminant analysis that knows the classes finds .67 to .78 of 100 clusters.
    """
    k, repeat = int(job.data), job.seed
    rng = np.random.default_rng([k, repeat])
    widths = tuple(int(d) for d in rng.integers(20, 61, size=3))
    n = int(k * rng.integers(30, 61))
    views, _ = make_multiview(
        n,
        n_clusters=k,
        n_features=widths,
        separation=6.0 * np.sqrt(max(k, 30) / 30),
        random_state=1000 * repeat + k,
    )
    model = AutoDALMC(budget="fast", random_state=repeat).fit(views)
    return {"selected": (float(model.n_clusters_),)}


def pool(job: Job) -> Scores:
    """Accuracy of the consensus with other weights of the kinds of candidates."""
    data, y = some_of(job.data)
    k = len(np.unique(y))
    model = AutoDALMC(k, random_state=job.seed).fit(data)
    partitions, families = (
        model._labeler.partitions(data),
        families_of(model._clustering.candidates),
    )
    agreement = agreement_matrix(partitions, k)
    scores: Scores = {}
    for name, of_kinds in POOL_WEIGHTS.items():
        counts = [sum(POSITIONS[f[0]] == POSITIONS[g[0]] for g in families) for f in families]
        pairs = zip(families, counts, strict=True)
        weights = np.array([of_kinds[POSITIONS[family[0]]] / count for family, count in pairs])
        others = [
            [0.0 if f == g else w for g, w in zip(families, weights, strict=True)] for f in families
        ]
        cross = np.array(others)
        mean = np.where(weights > 0, (agreement * cross).sum(axis=1) / cross.sum(axis=1), -1)
        starts = partitions[[i for i in best_by_family(mean, families) if weights[i] > 0]]
        _, labels = Partitions(partitions, k).find_consensus(weights / weights.sum(), starts)
        scores[name] = (clustering_accuracy(y, labels),)
    return scores


def cost(job: Job) -> Scores:
    """CPU seconds of fits, medians of several in turn; matrix products have one thread."""
    views, k = (many_images(60_000), 10) if job.data == IMAGES else of_data_set(job.data)
    fits = {
        "DALMC": lambda: DALMC(k, random_state=job.seed).fit(views),
        "fast": lambda: AutoDALMC(k, budget="fast", random_state=job.seed).fit(views),
        "given": lambda: AutoDALMC(k, random_state=job.seed).fit(views),
        "not given": lambda: AutoDALMC(random_state=job.seed).fit(views),
    }
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    with threadpool_limits(1):
        for _ in range(1 + N_FITS):
            for name, fit in fits.items():
                start = time.process_time()
                fit()
                seconds[name].append(time.process_time() - start)
    # The first fits also import modules.
    return {name: (float(np.median(each[1:])),) for name, each in seconds.items()}


def of_data_set(name: str) -> tuple[dict, int]:
    views, y = load(name)
    return views, len(np.unique(y))


FUNCTIONS: dict[str, Callable[[Job], Scores]] = {
    function.__name__: function for function in (quality, number, synthetic, pool, cost)
}


def measure(job: Job, kind: Measurement) -> Result:
    return Result("done", scores=FUNCTIONS[kind.name](job))


def pair(kind: str, data: str, method: str = "auto", seed: int = 0) -> Pair:
    return Job(data, method, runs=1, seed=seed, alone=True), Measurement(kind)


def all_pairs(names: list[str], seeds: int) -> Iterator[Pair]:
    everything = (*names, *OMICS)
    for kind, seed in product(("quality", "number"), range(seeds)):
        yield from (pair(kind, name, seed=seed) for name in everything)
    for method in ("dalmc", "concat-spectral", "communities"):
        yield from (pair("quality", name, method) for name in everything)
    yield from (pair("number", name, "communities") for name in everything)
    yield from (pair("pool", name) for name in names)
    yield from (pair("cost", name) for name in COSTS)
    yield from (pair("synthetic", str(k), seed=repeat) for repeat in REPEATS for k in N_CLUSTERS)


Results = Mapping[Pair, Result]


def quality_lines(results: Results, names: list[str], seeds: int) -> list[str]:
    def auto(name: str, quantity: str) -> list[tuple[float, ...]]:
        return [results[pair("quality", name, seed=s)].scores[quantity] for s in range(seeds)]

    def numbers(name: str) -> dict[str, float]:
        candidates = auto(name, "candidates")
        return {
            "AutoDALMC": np.mean(auto(name, "ACC")),
            "deviation": np.std(auto(name, "ACC")),
            "ARI": np.mean(auto(name, "ARI")),
            "oracle": np.mean([max(each) for each in candidates]),
            "mean of the candidates": np.mean([np.mean(each) for each in candidates]),
            "more confident half": np.mean(auto(name, "confident")),
            **{
                title: results[pair("quality", name, method)].scores["ACC"][0]
                for title, method in (
                    ("DALMC", "dalmc"),
                    ("communities", "communities"),
                    ("ConcatSpectral", "concat-spectral"),
                )
            },
        }

    table = {name: numbers(name) for name in (*names, *OMICS)}
    means = {column: np.mean([table[name][column] for name in names]) for column in table[names[0]]}
    return [
        *header("data", *means),
        *(row(name, *map(float, table[name].values())) for name in names),
        row("**mean**", *map(float, means.values())),
        *(row(name, *map(float, table[name].values())) for name in OMICS),
        "",
        f"- mean ACC {means['AutoDALMC']:.3f} (required: 0.835), "
        f"{means['AutoDALMC'] / means['oracle']:.1%} of the mean oracle",
    ]


def pool_lines(results: Results, names: list[str]) -> list[str]:
    scores = {
        weights: {name: results[pair("pool", name)].scores[weights][0] for name in names}
        for weights in POOL_WEIGHTS
    }

    def mean(weights: str, left_out: str | None = None) -> float:
        return float(
            np.mean([score for name, score in scores[weights].items() if name != left_out])
        )

    chosen = {name: max(POOL_WEIGHTS, key=lambda w, name=name: mean(w, name)) for name in names}
    left_out = np.mean([scores[weights][name] for name, weights in chosen.items()])
    best = max(POOL_WEIGHTS, key=mean)
    return [
        f"**Weights of the kinds**, out of {len(POOL_WEIGHTS)}, chosen on all data sets but the "
        f"one that is scored, one seed: mean ACC **{left_out:.3f}** (required: 0.825). Chosen on "
        f"all, it would be {mean(best):.3f} ({best}); the weights that are used have "
        f"{mean(SHIPPED):.3f}."
    ]


def number_lines(results: Results, names: list[str], seeds: int) -> list[str]:
    rows, means = [], []
    for name in (*names, *OMICS):
        runs = [results[pair("number", name, seed=s)].scores for s in range(seeds)]
        plain = results[pair("number", name, "communities")].scores
        chosen = ", ".join(str(int(each["number"][0])) for each in runs)
        levels = ", ".join(str(int(k)) for k in runs[0]["levels"])
        best = float(np.mean([max(each["levels ARI"]) for each in runs]))
        ari = float(np.mean([each["ARI"][0] for each in runs]))
        rows.append(row(name, chosen, ari, levels, best, int(plain["number"][0]), plain["ARI"][0]))
        means.append((ari, best, plain["ARI"][0]))
    ari, best, plain_ari = np.mean(means, axis=0)
    return [
        *header("data", "chosen", "ARI", "levels", "best level", "at resolution 1", "ARI"),
        *rows,
        "",
        f"Mean ARI of `labels_` **{ari:.3f}** (required: 0.64), of the best level {best:.3f}, of "
        f"the communities at resolution 1 {plain_ari:.3f}.",
    ]


def report(results: Results, names: list[str], seeds: int) -> list[str]:
    selected = {
        (k, repeat): int(results[pair("synthetic", str(k), seed=repeat)].scores["selected"][0])
        for k in N_CLUSTERS
        for repeat in REPEATS
    }
    wrong = [f"{found} for {k}" for (k, _), found in selected.items() if found != k]
    return [
        *pool_lines(results, names),
        "",
        f"{measured_by(f'python benchmarks/auto.py --seeds {seeds}')}: ACC, means over {seeds} "
        "seeds. Oracle: the "
        "best of AutoDALMC's candidates, selected by the classes. More confident half: ACC of the "
        "half of the samples with the higher confidence. DALMC, communities of the mean neighbor "
        "graph with the known number, and ConcatSpectral: default settings, one seed, at most "
        f"{MAX_ROWS:,} samples.",
        "",
        *quality_lines(results, names, seeds),
        "",
        "**Number of clusters not given**: ARI with the classes, beside communities of the mean "
        "neighbor graph at resolution 1",
        "",
        *number_lines(results, names, seeds),
        "",
        f"Synthetic data with 2 to 30, 40, 60 and 100 clusters: correct "
        f"{len(selected) - len(wrong)} of {len(selected)} times"
        + (f" (wrong: {', '.join(wrong)})." if wrong else "."),
        "",
        *cost_lines(results),
    ]


def cost_lines(results: Results) -> list[str]:
    lines = [
        f"**Cost**: CPU seconds of one DALMC fit, medians of {N_FITS}, and how many times as long "
        "AutoDALMC takes (allowed); images have 784 + 324 + 236 + 128 features",
        "",
        *header("data", "DALMC, s", "budget='fast'", "number given", "not given"),
    ]
    for name, allowed in COSTS.items():
        seconds = {key: s for key, (s,) in results[pair("cost", name)].scores.items()}
        fast, *ratios = (seconds[key] / seconds["DALMC"] for key in ("fast", "given", "not given"))
        beside = [f"{own:.1f} ({most})" for own, most in zip(ratios, allowed, strict=True)]
        lines.append(row(name, seconds["DALMC"], f"{fast:.1f}", *beside))
    return lines


def main() -> None:
    options = parse_resumable(seeds=5)
    complete = sorted(path.stem for path in FOLDER.glob("*.npz") if path.stem not in INCOMPLETE)
    pairs = list(all_pairs(options.only or complete, options.seeds))
    if options.only:
        measured([each for each in pairs if each[0].data in options.only], options.results, measure)
        return
    results = measured(pairs, options.results, measure)
    write_lines(options.out, report(results, complete, options.seeds))


if __name__ == "__main__":
    main()
