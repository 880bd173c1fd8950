"""The section of the benchmark page on where DALMC and AutoDALMC lose, and why."""

from collections.abc import Iterator, Sequence

import pandas as pd

from _measurements import header, row
from compared_results import IMML
from page_results import AUTO, DALMC, Results, listed, marked_up

CLOSE = 1.0
"""Points of ACC below the best within which a method is as good as the best."""

NEIGHBORS = "neighbor graphs"
FAMILIES = {
    NEIGHBORS: (
        ("amgl", "concat-hdbscan", "concat-spectral", "graph-leiden", "uomvsc"),
        "They cluster a graph of nearest neighbors, whose clusters need to be connected but not "
        "compact. The embedding of DALMC is linear in the features of each view, so it cannot "
        "unfold a curved cluster. The price is a search for the neighbors of every sample among "
        "all others; see [Scaling](#scaling).",
    ),
    "anchor graphs": (
        ("mvsc", "lmvsc", "sfmc", "eomsc-ca", "fpmvs-cag", "smvsc", "omsc"),
        "They connect every sample with a few anchors. Where the anchors are points of the data "
        "(`LMVSC`, `MVSC`, `SFMC`), the graph follows curved clusters as a neighbor graph does; "
        "the others differ from DALMC in the constraints of the graph and in the weights of views.",
    ),
    "clustering of features": (
        ("awmvc", "bmvc", "concat-kmeans", "opmc"),
        "They cluster the features, their factors or binary codes of them. DALMC looks for "
        "directions that the views share. Probably it loses where the views share little, and one "
        "of them has most of the information on the classes.",
    ),
    "iMML": (tuple(IMML), "These are not methods of this package."),
}
"""Kinds of methods, and why DALMC and AutoDALMC may lose to them."""


def losses(results: Results) -> Iterator[str]:
    accuracy = (100 * results.pivot("ACC")).dropna(subset=[AUTO, DALMC])
    sets = list(accuracy.index)
    best = accuracy.idxmax(axis="columns")
    gaps = {column: accuracy.max(axis="columns") - accuracy[column] for column in (AUTO, DALMC)}
    lost = {column: gap[gap > CLOSE].index.tolist() for column, gap in gaps.items()}
    first = {column: int((best == column).sum()) for column in (AUTO, DALMC)}
    yield from ("## Where DALMC and AutoDALMC lose", "")
    yield (
        f"`AutoDALMC` has the highest accuracy on {first[AUTO]} of {len(sets)} data sets "
        f"and is more than {CLOSE:g} point below the best on {len(lost[AUTO])}. `DALMC` has the "
        f"highest accuracy on {first[DALMC]} and is more than {CLOSE:g} point below the best on "
        f"{len(lost[DALMC])}."
    )
    yield ""
    yield from header("data", "best method", "its ACC", "`AutoDALMC`", "`DALMC`")
    for name in sorted(sets, key=lambda name: -gaps[AUTO][name]):
        yield row(
            name,
            marked_up(best[name]),
            *(f"{value:.1f}" for value in accuracy.loc[name, [best[name], AUTO, DALMC]]),
        )
    for family, (members, reason) in FAMILIES.items():
        lost_there = [name for name in lost[AUTO] if best[name] in members]
        if lost_there:
            yield ""
            evidence = curved_text(accuracy, lost_there) if family == NEIGHBORS else ""
            yield f"**To {family}, on {listed(lost_there)}.** {reason}{evidence}"
    worse = accuracy.index[accuracy[AUTO] < accuracy[DALMC] - CLOSE].tolist()
    if worse:
        yield ""
        yield (
            f"**AutoDALMC to DALMC, on {listed(worse)}.** The consensus of "
            "many settings can be worse than one of them; without labels it is not known which."
        )
    seconds = results.pivot("seconds")
    ratio = (seconds[AUTO] / seconds[DALMC]).median()
    yield ""
    yield (
        f"**In time.** `AutoDALMC` fits 16 candidates and takes {ratio:.0f} times as long as "
        "`DALMC` (median over the data sets)."
    )


def curved_text(accuracy: pd.DataFrame, sets: Sequence[str]) -> str:
    """Compare connected with compact clusters of the same features, on some sets and others."""
    gain = (accuracy["concat-spectral"] - accuracy["concat-kmeans"]).dropna()
    inside, outside = gain[gain.index.isin(sets)], gain[~gain.index.isin(sets)]
    if inside.empty or outside.empty:
        return ""
    return (
        " The same is seen without several views: on the concatenated features, spectral "
        f"clustering of neighbors is {inside.mean():+.1f} points from K-means on these data sets, "
        f"and {outside.mean():+.1f} points on the others."
    )
