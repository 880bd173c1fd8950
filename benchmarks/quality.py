"""Quality of DALMC with default settings, the same for all data sets.

    python benchmarks/quality.py [--seeds 5] [--out benchmarks/quality.md]

Prints and writes a table of mean scores over seeds on the 13 real data sets of `data.py`.
"""

import time

import numpy as np

from _measurements import header, measured_by, option_parser, row
from anchorview import DALMC
from anchorview.experiments.jobs import METRICS
from anchorview.metrics import clustering_scores
from data import TABLE, load


def main() -> None:
    parser = option_parser()
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lines = [
        f"{measured_by(f'python benchmarks/quality.py --seeds {options.seeds}')}: "
        "`DALMC(n_clusters=k)`, means "
        f"over {options.seeds} seeds, deviation of ACC.",
        "",
        *header("data", "n", "k", "views", "ACC", "+-", *METRICS[1:], "iterations", "solver", "s"),
    ]
    print("\n".join(lines))
    means = []
    for name in TABLE:
        views, y = load(name)
        k = len(np.unique(y))
        start = time.perf_counter()
        models = [DALMC(k, random_state=seed).fit(views) for seed in range(options.seeds)]
        seconds = (time.perf_counter() - start) / options.seeds
        scores = np.array([list(clustering_scores(y, m.labels_).values()) for m in models])
        means.append(scores.mean(axis=0))
        acc, *others = means[-1].tolist()
        fit = models[0].n_iter_, models[0].plan_.route, f"{seconds:.2f}"
        deviation = float(scores[:, 0].std())
        lines.append(row(name, len(y), k, len(views), acc, deviation, *others, *fit))
        print(lines[-1], flush=True)
    acc, *others = np.mean(means, axis=0).tolist()
    lines.append(row("**mean**", "", "", "", f"**{acc:.4f}**", "", *others, "", "", ""))
    print(lines[-1])
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
