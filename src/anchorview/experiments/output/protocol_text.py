"""What was done to get the numbers, in words for readers of the outputs."""

from collections.abc import Iterator, Mapping

import pandas as pd

from anchorview.experiments.output.tables import OWN_TABLE
from anchorview.experiments.results.suite_results import SuiteResults

_JOBS = (
    "Each data set, method and setting is one job in a process of its own, with a limit of time "
    "and of memory. A job that exceeds one, or fails, is a result too: it is shown as -."
)
_RUNS = (
    "Scores are means over runs, with their standard deviation (divisor n, the number of runs). "
    "Where a method ends in K-means on an embedding, it is fitted once and a run is one K-means "
    "from one random start. Methods that are random elsewhere are fitted anew for each run, from "
    "one start. (auto) is fitted once for every four runs, as each fit is itself the consensus of "
    "dozens; in the suite incomplete it is one fit at each share of missing entries. What has no "
    "randomness has the same score in every run."
)
_SETTINGS = (
    "Default columns have the default settings of each method; auto columns choose settings from "
    "the views alone. A run is one start but for (auto), while the estimators themselves keep the "
    "best of several, without labels: scores of what they return are in the table "
    f'"{OWN_TABLE}" of the suite compare.'
)
_ORACLE = (
    "Oracle columns take the setting with the highest mean ACC against the labels, as is the "
    "custom of papers; nobody who needs a clustering can do that, so they are never compared with "
    "the others."
)
_METRICS = (
    "ACC: share of samples that are right under the best match of clusters to classes. NMI: "
    "normalized mutual information (arithmetic mean). F1: of the pairs of samples. Purity: share "
    "of samples in the largest class of their cluster. ARI: adjusted Rand index."
)


def protocol(frame: pd.DataFrame) -> list[str]:
    """Paragraphs on how the numbers came about.

    Parameters
    ----------
    frame : pandas.DataFrame
        What :func:`anchorview.experiments.results.evaluation.evaluated` returns.
    """
    if (frame["mode"] == "oracle").any():
        words = [_ORACLE, *_searches(frame), "In all else labels are used for scores only."]
        labels = " ".join(words)
    else:
        labels = "Labels are used for scores only."
    return [_JOBS, _RUNS, _SETTINGS, labels, _METRICS]


def _searches(frame: pd.DataFrame) -> Iterator[str]:
    """Yield how many settings the oracle had to take from, a sentence or two for each suite."""
    for suite in ("compare", "ablation"):
        tried: dict[str, list[int]] = {}
        for contender, record in SuiteResults(frame, suite).records():
            if contender.mode == "oracle":
                tried.setdefault(contender.method, []).append(record["tried"])
        if tried:
            yield _search(suite, tried)


def _search(suite: str, tried: Mapping[str, list[int]]) -> str:
    """Say how many settings methods had, those with the most first.

    Examples
    --------
    >>> _search("compare", {"AMGL": [3, 3], "BMVC": [2, 6], "DALMC": [18, 18]})
    'In the suite compare, settings to take from: DALMC 18, BMVC 2 to 6, AMGL 3. The best of more
    is higher by chance alone, which favors DALMC.'
    >>> _search("ablation", {"DALMC": [6], "ablation-1": [6]})
    'In the suite ablation, settings to take from: DALMC 6, ablation-1 6.'
    """
    most = {method: max(counts) for method, counts in tried.items()}
    shown = [f"{method} {_range(tried[method])}" for method in sorted(most, key=lambda m: -most[m])]
    words = f"In the suite {suite}, settings to take from: {', '.join(shown)}."
    if len(set(most.values())) == 1:
        return words
    favored = [method for method, count in most.items() if count == max(most.values())]
    return (
        f"{words} The best of more is higher by chance alone, which favors {' and '.join(favored)}."
    )


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
