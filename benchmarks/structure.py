"""How often AutoDALMC reports structure: in noise, and in real data sets.

    python benchmarks/structure.py [--seeds 20] [--out benchmarks/structure.md]

Noise has the default number of clusters, chosen from 2 to 30; the 15 complete real data sets have
their true number.
"""

import warnings

import numpy as np

from _measurements import header, option_parser, row
from anchorview import AutoDALMC
from data import TABLE, load

NOISE = {
    "500 x (10, 20)": (500, (10, 20)),
    "500 x 20": (500, (20,)),
    "400 x (5, 5, 5)": (400, (5, 5, 5)),
    "300 x (50, 100, 200)": (300, (50, 100, 200)),
    "200 x (500, 300)": (200, (500, 300)),
}
"""Number of samples, and of features per view."""

COLUMNS = ("structure", "by chance", "threshold", "doubtful")


def main() -> None:
    parser = option_parser()
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    lines = [
        f"`python benchmarks/structure.py --seeds {options.seeds}`: `AutoDALMC()` on standard "
        "normal values, means over the seeds.",
        "",
        *header("noise", "clusters", *COLUMNS, "no clear structure"),
    ]
    for name, (n, widths) in NOISE.items():
        found = [_fit(_noise(n, widths, seed), None, seed) for seed in range(options.seeds)]
        unclear = sum(result[1] == 0 for result in found)
        lines.append(row(name, *np.mean(found, axis=0).tolist(), f"{unclear} of {len(found)}"))
        print(lines[-1], flush=True)
    lines += ["", "With the true number of clusters:", "", *header("data", "clusters", *COLUMNS)]
    for name in (*TABLE, "hdigit", "aloi100"):
        views, y = load(name)
        lines.append(row(name, *_fit(views, len(np.unique(y)), 0)))
        print(lines[-1], flush=True)
    options.out.write_text("\n".join(lines) + "\n")


def _noise(n: int, widths: tuple[int, ...], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, d)) for d in widths]


def _fit(views: object, n_clusters: int | None, seed: int) -> tuple[float, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoDALMC(n_clusters, random_state=seed).fit(views)
    doubtful = (model.confidence_ < model.confidence_threshold_).mean()
    numbers = model.structure_, model.chance_agreement_, model.confidence_threshold_, doubtful
    return model.n_clusters_, *map(float, numbers)


if __name__ == "__main__":
    main()
