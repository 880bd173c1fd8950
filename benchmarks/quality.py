"""Quality of the defaults: no labels used, the same settings for all data sets.

    python benchmarks/quality.py [--seeds 5] [--out benchmarks/quality.md]

Prints and saves a table of mean scores over seeds on the 13 real data sets of `data.py`.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from anchorview import DALMC
from anchorview.metrics import clustering_scores
from data import TABLE, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    options = parser.parse_args()
    lines = [
        f"`python benchmarks/quality.py --seeds {options.seeds}`: `DALMC(n_clusters=k)`, means "
        f"over {options.seeds} seeds, deviation of ACC.",
        "",
        "| data | n | k | views | ACC | +- | NMI | F1 | Purity | ARI | iterations | solver | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    means = []
    for name in TABLE:
        views, y = load(name)
        k = len(np.unique(y))
        clock = time.perf_counter()
        models = [DALMC(k, random_state=seed).fit(views) for seed in range(options.seeds)]
        seconds = (time.perf_counter() - clock) / options.seeds
        scores = np.array([list(clustering_scores(y, m.labels_).values()) for m in models])
        means.append(scores.mean(axis=0))
        acc, *others = means[-1]
        rest = " | ".join(f"{value:.3f}" for value in others)
        lines.append(
            f"| {name} | {len(y)} | {k} | {len(views)} | {acc:.3f} | {scores[:, 0].std():.3f} | "
            f"{rest} | {models[0].n_iter_} | {models[0].plan_.route} | {seconds:.2f} |"
        )
        print(lines[-1], flush=True)
    acc, *others = np.mean(means, axis=0)
    rest = " | ".join(f"{value:.3f}" for value in others)
    lines.append(f"| **mean** | | | | **{acc:.4f}** | | {rest} | | | |")
    print(lines[-1])
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
