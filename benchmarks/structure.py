"""How AutoDALMC calls the structure of noise, of continua and of real data sets.

    python benchmarks/structure.py [--seeds 20] [--out benchmarks/structure.md]

Noise and continua have 300 samples, with 3, 5 or 10 clusters and with the number that AutoDALMC
chooses; real data sets have their true number.
"""

import warnings
from collections import Counter

import numpy as np

from _measurements import header, measured_by, option_parser, row
from anchorview import AutoDALMC
from anchorview.estimators.representation import evidence_word
from data import TABLE, load

N_SAMPLES = 300
NUMBERS = (3, 5, 10)
WORDS = ("none", "weak", "moderate", "strong")


def mixed(base: np.ndarray, rng: np.random.Generator, noise: float = 0.05) -> list[np.ndarray]:
    """Two views that are random linear maps of the same coordinates, with noise."""
    n, width = base.shape
    return [
        base @ rng.standard_normal((width, d)) + noise * rng.standard_normal((n, d))
        for d in (10, 12)
    ]


def autoregressive(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.95 * X[:, j - 1] + np.sqrt(1 - 0.95**2) * X[:, j]
    return X


def without_clusters(n: int, rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """Kinds of data without clusters."""
    rates = rng.gamma(1, 1, 50)
    factors = rng.standard_normal((n, 4))
    return {
        "normal, 5 + 5 + 5": [rng.standard_normal((n, 5)) for _ in range(3)],
        "normal, 10 + 20": [rng.standard_normal((n, d)) for d in (10, 20)],
        "normal, 500 + 300": [rng.standard_normal((n, d)) for d in (500, 300)],
        "normal, 4 factors": mixed(factors, rng, 0.5),
        "uniform": [rng.random((n, d)) for d in (8, 6)],
        "log-normal": [np.exp(rng.standard_normal((n, d))) for d in (10, 20)],
        "Student, 3 degrees": [rng.standard_t(3, (n, d)) for d in (10, 20)],
        "Poisson": [rng.poisson(rates[:d], (n, d)).astype(float) for d in (50, 30)],
        "binary": [(rng.random((n, d)) < 0.2).astype(float) for d in (60, 40)],
        "AR(1) rows": [autoregressive(n, 50, rng) for _ in range(2)],
    }


def continua(n: int, rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """Kinds of data that vary continuously."""
    t = rng.random((n, 1))
    angle = 1.5 * np.pi * (1 + 2 * t)
    roll = np.hstack([angle * np.cos(angle), 21 * rng.random((n, 1)), angle * np.sin(angle)])
    circle = np.hstack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])
    return {
        "line": mixed(t, rng),
        "smooth curve": mixed(
            np.hstack([np.cos(np.pi * j * t) / (1 + j) for j in range(1, 6)]), rng, 0.02
        ),
        "circle": mixed(circle, rng),
        "Swiss roll": mixed(roll, rng, 0.1),
        "Dirichlet(1) mixtures": mixed(rng.dirichlet(np.ones(5), n), rng),
    }


def structure(views: object, n_clusters: int | None, seed: int) -> tuple[int, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoDALMC(n_clusters, random_state=seed).fit(views)
    return model.n_clusters_, float(model.structure_)


def main() -> None:
    parser = option_parser()
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    lines = [
        f"{measured_by(f'python benchmarks/structure.py --seeds {options.seeds}')}: how often "
        "structure is called "
        f"none, weak, moderate or strong on {N_SAMPLES} samples without clusters.",
        "",
        *header("data", "number of clusters", *WORDS),
    ]
    counts: dict[tuple[str, str], Counter[str]] = {}
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        for name, views in (without_clusters(N_SAMPLES, rng) | continua(N_SAMPLES, rng)).items():
            for given, number in (("given", NUMBERS[seed % 3]), ("chosen", None)):
                word = evidence_word(structure(views, number, seed)[1])
                counts.setdefault((name, given), Counter())[word] += 1
        print(f"seed {seed}", flush=True)
    for key, words in counts.items():
        lines.append(row(*key, *(str(words[word]) for word in WORDS)))
    lines += [
        "",
        "With the true number of clusters:",
        "",
        *header("data", "clusters", "structure", "word"),
    ]
    for name in (*TABLE, "hdigit", "aloi100"):
        views, y = load(name)
        number, value = structure(views, len(np.unique(y)), 0)
        lines.append(row(name, number, value, evidence_word(value)))
        print(lines[-1], flush=True)
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
