"""Omics data: scores on tumors, and time and memory on a file of many cells.

    python benchmarks/omics.py tumors DATA [--methods auto auto_choosing]
    python benchmarks/omics.py make FOLDER [--cells 100000]
    python benchmarks/omics.py auto FOLDER [--cells 100000]
    python benchmarks/omics.py scanpy FOLDER [--cells 100000]

- tumors: adjusted Rand index with known classes on the ``.npz`` files in DATA, of K-means on each
  view and on all views side by side, MOFA factors (mofapy2), weighted nearest neighbors with Leiden
  (muon), DALMC and AutoDALMC. Classes are used only for the scores and, except where a row says
  otherwise, for the number of clusters. `--methods` runs some of them again, and keeps the scores
  of the others;
- make: writes ``cells_N.h5mu`` with sparse counts of 20,000 genes and 150 proteins, and 12 types;
- auto: ``scverse.tl.auto`` on the backed file, in a process of its own: seconds and peak memory;
- scanpy: PCA, neighbors and Leiden of scanpy on the genes of the same file, likewise.

Every part adds to benchmarks/omics.json, from which benchmarks/omics.md is written.
"""

import json
import multiprocessing
import resource
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from _measurements import measured_by, option_parser, write_lines

N_GENES, N_PROTEINS, N_TYPES = 20_000, 150, 12
SEEDS = 3
MEMORY = 4.0
"""GB that ``tl.auto`` may use on 100,000 cells."""


# Tumors.


def tumor_scores(path: Path, methods: Sequence[str]) -> dict[str, list[float]]:
    """Adjusted Rand indices by method, one per seed."""
    with np.load(path, allow_pickle=True) as file:
        names = sorted(name for name in file.files if name.startswith("view_"))
        views, y = {name: file[name].astype(float) for name in names}, file["y"]
    k = len(np.unique(y))
    found: dict[str, list[float]] = {}
    if "kmeans_views" in methods:
        for name, view in views.items():
            has = ~np.isnan(view).all(axis=1)
            found[f"K-means, {name}"] = [
                adjusted_rand_score(y[has], kmeans(standardized(view[has]), k, seed))
                for seed in range(SEEDS)
            ]
    for name in methods:
        if name in METHODS:
            title, labels = METHODS[name]
            found[title] = [adjusted_rand_score(y, labels(views, k, seed)) for seed in range(SEEDS)]
            print(path.stem, title, found[title], flush=True)
    return found


def standardized(view: np.ndarray) -> np.ndarray:
    """Standardized columns; samples without the view have the mean."""
    return StandardScaler().fit_transform(SimpleImputer().fit_transform(view))


def kmeans(rows: np.ndarray, k: int, seed: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(rows)


def concatenated(views, k: int, seed: int) -> np.ndarray:
    return kmeans(np.hstack([standardized(view) for view in views.values()]), k, seed)


def mudata_of(views):
    import anndata
    import mudata

    modalities = {}
    for name, view in views.items():
        has = np.flatnonzero(~np.isnan(view).all(axis=1))
        obs = pd.DataFrame(index=[f"s{i}" for i in has])
        modalities[name] = anndata.AnnData(StandardScaler().fit_transform(view[has]), obs=obs)
    return mudata.MuData(modalities)


def mofa(views, k: int, seed: int) -> np.ndarray:
    from mofapy2.run.entry_point import entry_point

    model = entry_point()
    model.set_data_options(scale_views=True)
    scaled = [StandardScaler().fit_transform(view) for view in views.values()]
    model.set_data_matrix([[view] for view in scaled], likelihoods=["gaussian"] * len(views))
    model.set_model_options(factors=10)
    model.set_train_options(iter=100, convergence_mode="fast", seed=seed, quiet=True, verbose=False)
    model.build()
    model.run()
    return kmeans(model.model.nodes["Z"].getExpectation(), k, seed)


def wnn_leiden(views, k: int, seed: int) -> np.ndarray:
    import muon
    import scanpy

    # muon fails on samples that lack a modality: they get its mean, as for K-means on all views.
    mdata = mudata_of({name: SimpleImputer().fit_transform(view) for name, view in views.items()})
    for modality in mdata.mod.values():
        scanpy.pp.pca(modality, n_comps=20, random_state=seed)
        scanpy.pp.neighbors(modality, random_state=seed)
    muon.pp.neighbors(mdata, random_state=seed)
    found = {}
    for resolution in np.geomspace(0.05, 3, 25):
        muon.tl.leiden(mdata, resolution=resolution, random_state=seed)
        labels = mdata.obs["leiden"].astype(int).to_numpy()
        found.setdefault(abs(len(np.unique(labels)) - k), labels)
    return found[min(found)]


def dalmc(views, k: int, seed: int) -> np.ndarray:
    from anchorview import DALMC

    return DALMC(k, random_state=seed).fit_predict(views)


def auto(views, k: int, seed: int) -> np.ndarray:
    from anchorview import AutoDALMC

    return AutoDALMC(k, random_state=seed).fit_predict(views)


def auto_choosing(views, k: int, seed: int) -> np.ndarray:
    from anchorview import AutoDALMC

    return AutoDALMC(random_state=seed).fit_predict(views)


METHODS = {
    "kmeans": ("K-means, all views", concatenated),
    "mofa": ("K-means, MOFA factors", mofa),
    "wnn": ("WNN + Leiden of muon", wnn_leiden),
    "dalmc": ("DALMC", dalmc),
    "auto": ("AutoDALMC", auto),
    "auto_choosing": ("AutoDALMC, number chosen", auto_choosing),
}
"""Title and function of each method, in the order of the table."""


# Many cells.


def make_cells(n: int, path: Path, seed: int = 0) -> None:
    """Write a file of counts with planted types, block by block in memory."""
    import anndata
    import mudata

    rng = np.random.default_rng(seed)
    types = rng.choice(N_TYPES, n, p=rng.dirichlet(np.full(N_TYPES, 5.0)))
    profiles = np.tile(rng.lognormal(0, 1.5, N_GENES), (N_TYPES, 1))
    for own in profiles:
        own[rng.choice(N_GENES, 60, replace=False)] *= 6.0
    bounds = (profiles / profiles.sum(axis=1, keepdims=True)).cumsum(axis=1)
    depths = np.maximum(200, rng.lognormal(np.log(2000), 0.3, n)).astype(int)
    blocks = []
    for start in range(0, n, 2000):
        rows = []
        for cell in range(start, min(start + 2000, n)):
            genes = np.searchsorted(bounds[types[cell]], rng.random(depths[cell]))
            rows.append(np.minimum(genes, N_GENES - 1))
        index = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        ones = np.ones(len(index), np.float32)
        block = sparse.csr_matrix((ones, (index, np.concatenate(rows))), (len(rows), N_GENES))
        block.sum_duplicates()
        blocks.append(block)
    high = rng.random((N_TYPES, N_PROTEINS)) < 0.12
    means = rng.lognormal(1.5, 0.8, (1, N_PROTEINS)) * np.where(high, 5.0, 1.0)
    size = rng.lognormal(0, 0.4, n)[:, None]
    proteins = rng.poisson(rng.gamma(4.0, means[types] * size / 4)).astype(np.float32)
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(n)])
    rna = anndata.AnnData(sparse.vstack(blocks, format="csr"), obs=obs)
    rna.var_names = [f"gene{j}" for j in range(N_GENES)]
    protein = anndata.AnnData(proteins, obs=obs)
    protein.var_names = [f"protein{j}" for j in range(N_PROTEINS)]
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    mdata.obs["type"] = pd.Categorical([f"type{t}" for t in types])
    mdata.write(path)


def run_auto(path: Path) -> dict[str, float]:
    """Results of ``tl.auto`` on the backed file."""
    import mudata

    from anchorview import scverse

    mdata = mudata.read_h5mu(path, backed=True)
    start = time.perf_counter()
    preprocess = {"rna": "lognorm", "protein": "clr"}
    scverse.tl.auto(mdata, preprocess=preprocess)
    return scored(mdata.obs["auto_dalmc"], mdata.obs["type"], start)


def run_scanpy(path: Path) -> dict[str, float]:
    """Results of the usual steps of scanpy on the genes."""
    import mudata
    import scanpy

    start = time.perf_counter()
    mdata = mudata.read_h5mu(path)
    cells = mdata["rna"]
    scanpy.pp.normalize_total(cells)
    scanpy.pp.log1p(cells)
    scanpy.pp.pca(cells, n_comps=50)
    scanpy.pp.neighbors(cells)
    scanpy.tl.leiden(cells, flavor="igraph", n_iterations=2, directed=False)
    return scored(cells.obs["leiden"], mdata.obs["type"], start)


def scored(labels, types, start: float) -> dict[str, float]:
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time(),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "clusters": int(labels.nunique()),
        "ari": adjusted_rand_score(types, labels.astype(str)),
    }


RUNS = {"auto": run_auto, "scanpy": run_scanpy}


def _send(run: str, path: Path, queue) -> None:
    warnings.simplefilter("ignore")
    queue.put(RUNS[run](path))


def in_own_process(run: str, path: Path) -> dict[str, float]:
    """Results of a run, whose peak memory is that of its process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_send, args=(run, path, queue))
    process.start()
    while process.is_alive() and queue.empty():
        time.sleep(0.2)
    if queue.empty():
        raise RuntimeError(f"{run} ended with code {process.exitcode}")
    found = queue.get()
    process.join()
    return found


# The page.


def page(results: dict) -> list[str]:
    lines = ["# Omics data", "", "Written by `benchmarks/omics.py`.", ""]
    if "tumors" in results:
        sets = results["tumors"]
        found = dict.fromkeys(name for own in sets.values() for name in own)
        titles = [title for title, _ in METHODS.values() if title in found]
        titles = sorted(set(found) - set(titles)) + titles
        lines += [
            "## Tumors",
            "",
            f"Adjusted Rand index with the known classes, mean (standard deviation) of {SEEDS} "
            "seeds; all with the number of classes unless the row says otherwise, Leiden with the "
            "resolution that comes nearest to it. K-means on a single view is scored on samples "
            "that have it. All others cluster all samples; K-means and WNN, which cannot, get the "
            "mean of a view for samples that lack it.",
            "",
            f"{measured_by('python benchmarks/omics.py tumors DATA')}.",
            "",
            "| method | " + " | ".join(sets) + " |",
            "|---|" + "---|" * len(sets),
        ]
        for title in titles:
            cells = [
                f"{np.mean(own[title]):.2f} ({np.std(own[title]):.2f})" if title in own else "–"
                for own in sets.values()
            ]
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
        lines.append("")
    for n, runs in sorted(results.get("cells", {}).items(), key=lambda item: int(item[0])):
        lines += [
            f"## {int(n):,} cells",
            "",
            f"{N_GENES:,} genes (sparse) and {N_PROTEINS} proteins in an `.h5mu` file, {N_TYPES} "
            "planted types, on 2 cores. `tl.auto` reads both modalities in parts and chooses the "
            "number of clusters; scanpy has the genes in memory. Other work ran on the machine, "
            "which seconds include and CPU seconds do not. "
            f"{measured_by('python benchmarks/omics.py')} with `make`, `auto` and `scanpy`.",
            "",
            "| run | seconds | CPU seconds | peak memory (GB) | clusters | ARI |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {RUN_NAMES[run]} | {own['seconds']:.0f} | {own['cpu_seconds']:.0f} | "
            f"{own['gigabytes']:.2f} | {own['clusters']} | {own['ari']:.3f} |"
            for run, own in runs.items()
        ]
        lines.append("")
    return lines


RUN_NAMES = {"auto": "`scverse.tl.auto`", "scanpy": "scanpy: PCA, neighbors, Leiden"}


def main() -> None:
    parser = option_parser()
    parser.add_argument("part", choices=["tumors", "make", *RUNS])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", type=int, default=100_000)
    known = ["kmeans_views", *METHODS]
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    options = parser.parse_args()
    store = options.out.with_suffix(".json")
    results = json.loads(store.read_text()) if store.exists() else {}
    warnings.simplefilter("ignore")
    path = options.folder / f"cells_{options.cells}.h5mu"
    if options.part == "make":
        make_cells(options.cells, path)
        return
    if options.part == "tumors":
        for file in sorted(options.folder.glob("*.npz"), key=lambda file: file.stat().st_size):
            own = results.setdefault("tumors", {}).setdefault(file.stem, {})
            own.update(tumor_scores(file, options.methods))
            store.write_text(json.dumps(results, indent=1) + "\n")
    else:
        found = in_own_process(options.part, path)
        print(found)
        results.setdefault("cells", {}).setdefault(str(options.cells), {})[options.part] = found
    store.write_text(json.dumps(results, indent=1) + "\n")
    write_lines(options.out, page(results))


if __name__ == "__main__":
    main()
