"""Lines and records on the chosen number of clusters and the other levels of AutoDALMC."""

# Imported by ``--help``: scikit-learn and pandas are imported only where they are used.
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from anchorview.cli.terminal import printable

if TYPE_CHECKING:
    import pandas as pd

MAX_LISTED_NUMBERS = 6
"""Maximum number of numbers of clusters that are listed one by one."""

MAX_SPLITS = 5
"""Maximum number of lines on clusters that split."""


def choice_line(model: Any) -> str:
    """Describe the chosen number of clusters, and those that were tried."""
    from anchorview.estimators.auto.levels import TRIVIAL_NUMBER, structure_beyond

    curve, chosen = model.curve_, model.n_clusters_fit_
    line = f"chose {chosen} clusters among {_tried(curve.index.tolist())}: "
    level = model.levels_.loc[chosen]
    line += _evidence(level)
    if chosen > TRIVIAL_NUMBER and TRIVIAL_NUMBER in curve.index:
        chance = model.chance_curve_[TRIVIAL_NUMBER]
        trivial = float(structure_beyond(curve[TRIVIAL_NUMBER], chance))
        if trivial > level["structure"]:
            line += f"; {TRIVIAL_NUMBER}: {trivial:.2f}, not clearly better"
    return line


def level_lines(model: Any) -> Iterator[str]:
    """Yield the lines on the other levels, and on clusters that split at or from the chosen one."""
    if model.levels_ is None:
        return
    from anchorview.inspection.cluster_splits import level_steps

    chosen = model.n_clusters_fit_
    for number, level in model.levels_.drop(chosen).iterrows():
        yield f"another level: {number} clusters, {_evidence(level)}"
    lines = [
        f"at {step.fine} clusters: cluster {printable(split.parent)} of {step.coarse} splits into "
        f"{len(split.children)} (agreement {split.agreement:.2f}, by chance {split.chance:.2f})"
        for step in level_steps(model)
        if chosen in (step.coarse, step.fine)
        for split in step.splits
        if split.structure > 0
    ]
    shown = len(lines) if len(lines) <= MAX_SPLITS else MAX_SPLITS - 1
    yield from lines[:shown]
    if len(lines) > shown:
        yield f"{len(lines) - shown} more clusters split"


def level_records(model: Any) -> dict[str, Any]:
    """Levels as JSON can hold them; nothing if there are none."""
    if getattr(model, "levels_", None) is None:
        return {}
    return {"levels": model.levels_.reset_index().to_dict("records")}


def _tried(numbers: Sequence[int]) -> str:
    """Numbers of clusters, in short."""
    low, high = numbers[0], numbers[-1]
    if len(numbers) > 2 and len(numbers) == high - low + 1:
        return f"{low}-{high}"
    if len(numbers) <= MAX_LISTED_NUMBERS:
        return ", ".join(map(str, numbers))
    return f"{len(numbers)} numbers from {low} to {high}"


def _evidence(level: "pd.Series[float]") -> str:
    return (
        f"structure {level['structure']:.2f} (agreement {level['agreement']:.2f}, by chance "
        f"{level['chance']:.2f})"
    )
