"""The experimental protocol, explained for readers of the outputs."""

from collections.abc import Iterator

import pandas as pd

from anchorview.experiments.plan import LABEL_MODES
from anchorview.experiments.suite_results import SuiteResults
from anchorview.experiments.tables import OWN_TABLE

_JOBS = (
    "Each data set, method and setting is one job in a separate process, with limits of time and "
    "memory. A job that exceeds a limit, or fails, is also a result, shown as -."
)
_RUNS = (
    "Scores are means over runs, with their standard deviation (divisor n, the number of runs). "
    "A method that ends with K-means on an embedding is fitted once, and a run is one K-means "
    "with one random initialization. Other random methods are fitted for each run, with one "
    "initialization. (auto) is fitted once for every four runs, since each fit is a consensus of "
    "dozens of partitions; in the suite incomplete it is one fit per fraction of missing entries. "
    "Deterministic methods have the same score in every run."
)
_SETTINGS = (
    "Default columns use the default settings of each method; auto columns select settings from "
    "the views alone. A run has a single initialization, except for (auto), while the estimators "
    "themselves keep the best of several, without labels: scores of what they return are in the "
    f'table "{OWN_TABLE}" of the suite compare.'
)
_ORACLE = (
    "Oracle columns use the setting with the highest mean ACC against the labels, as is common in "
    "papers. This is impossible in practice, so they are never compared with other columns."
)
_METRICS = (
    "ACC: fraction of samples that are correct under the best matching of clusters to classes. "
    "NMI: normalized mutual information (arithmetic mean). F1: of pairs of samples. Purity: "
    "fraction of samples in the largest class of their cluster. ARI: adjusted Rand index."
)


def protocol(frame: pd.DataFrame) -> list[str]:
    """Return the paragraphs of the protocol of evaluated results."""
    labels = "Labels are used for scores only."
    if frame["mode"].isin(LABEL_MODES).any():
        others = "In all other columns labels are used for scores only."
        labels = " ".join([_ORACLE, *_grid_sizes(frame), others])
    return [_JOBS, _RUNS, _SETTINGS, labels, _METRICS]


def _grid_sizes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the numbers of settings of the oracle per suite, the largest first."""
    for suite in ("compare", "ablation"):
        tried: dict[str, list[int]] = {}
        for contender, record in SuiteResults(frame, suite).records():
            if contender.mode in LABEL_MODES:
                tried.setdefault(contender.header.removesuffix(" (oracle)"), []).append(
                    record["tried"]
                )
        if not tried:
            continue
        largest = {method: max(counts) for method, counts in tried.items()}
        methods = sorted(largest, key=lambda method: -largest[method])
        shown = ", ".join(f"{method} {_range(tried[method])}" for method in methods)
        yield f"Numbers of settings in the suite {suite}: {shown}."
        favored = [method for method in tried if largest[method] == largest[methods[0]]]
        if len(favored) < len(tried):
            yield (
                "The maximum over more settings is higher by chance alone, which favors "
                f"{' and '.join(favored)}."
            )


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
