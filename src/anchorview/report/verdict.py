"""The verdict: at most three sentences for readers who do not know clustering."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import full_sentences, in_words, shorten
from anchorview.estimators.representation import apart_sentences, edge_sentences, evidence_word
from anchorview.report.findings import CheckedFit, Findings

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

DIFFERENCE = {
    "strong": "clearly different from each other",
    "moderate": "different from each other, but without sharp borders",
    "weak": "hardly different from each other",
}
"""What is said of groups by the evidence for them."""

MAIN_SHARE, MINOR_SHARE = 0.5, 0.12
"""Shares from which on a view decides mostly, and counts at all."""

EVEN = 1.16
"""Ratio of the largest share to the mean below which views count alike."""

UNCLEAR_SHARE = 0.25
"""Clusters with a larger share of doubtful samples are unclear."""

MAX_CAUTIONS = 3


def verdict(fit: CheckedFit, findings: Findings) -> list[str]:
    """What there is; what decides; and what to be careful about, if there is anything."""
    sentences = [_what_there_is(fit, findings)]
    if fit.n_clusters > 1 and structure_of(fit) != 0:
        sentences += [_what_decides(findings)] if len(findings.shares.dropna()) else []
    cautions = list(_cautions(fit, findings))[:MAX_CAUTIONS]
    sentences += [f"Be careful: {'; '.join(cautions)}"] if cautions else []
    return full_sentences(sentences)


def structure_of(fit: CheckedFit) -> float | None:
    """Evidence of clusters, if it was judged."""
    return getattr(fit.model, "structure_", None)


def number_in_words(number: int) -> str:
    """Small numbers as words."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def _what_there_is(fit: CheckedFit, findings: Findings) -> str:
    n, structure = len(fit.labels), structure_of(fit)
    if fit.n_clusters == 1:
        return f"no groups: nothing sets some of the {n:,} samples apart from the others"
    number = number_in_words(int(np.count_nonzero(fit.sizes)))
    if structure == 0:
        return (
            f"no real groups: the {number} that are shown divide {n:,} samples arbitrarily, and "
            "nothing sets them apart"
        )
    text = f"{number} groups (clusters) among {n:,} samples"
    others = [
        f"{number_in_words(k)} {'finer' if k > fit.n_clusters else 'coarser'} ones"
        for k in fit.other_levels
    ]
    text += f" (or {' or '.join(others)})" if others else ""
    if structure is not None:
        text += f", {DIFFERENCE[evidence_word(structure)]}"
    if findings.certainty is None:
        return text
    doubtful = round(100 * float(findings.certainty.doubtful.mean()))
    many = f"{doubtful} of 100 samples" if doubtful else "hardly any sample"
    return f"{text}; {many} {'stand' if doubtful > 1 else 'stands'} between groups"


def _what_decides(findings: Findings) -> str:
    shares = findings.shares
    counted = shares[shares >= MINOR_SHARE]
    named = []
    for view in counted.index if len(counted) else shares.index[:1]:
        about, name = _features(findings, view), f"“{shorten(view)}”"
        named.append(f"{name} ({about})" if about else name)
    if len(shares) == 1:
        text = _features(findings, shares.index[0]) or named[0]
    elif len(counted) < 2:
        text = f"almost only {named[0]}"
    elif counted.iloc[0] < EVEN * counted.mean():
        text = f"{in_words(named)} about equally"
    else:
        mostly = "mostly " if counted.iloc[0] >= MAIN_SHARE else ""
        text = f"{mostly}{named[0]}, then {in_words(named[1:])}"
    return f"what sets the groups apart: {text}"


def _features(findings: Findings, view: str) -> str:
    """The readable columns of a view that set most clusters apart."""
    if findings.differences is None:
        return ""
    rows = findings.differences[findings.differences["view"] == view]
    strength = rows["effect"].abs().clip(upper=3).groupby(rows["column"]).sum()
    names = strength.nlargest(3).index
    # Where every cluster has words of its own, none speaks for all.
    if len(strength) > 12:
        return ""
    return in_words([shorten(name.replace("_", " ")) for name in names])


def _cautions(fit: CheckedFit, findings: Findings) -> Iterator[str]:
    """What to be careful about, the most important first."""
    model, structure = fit.model, structure_of(fit)
    if apart_sentences(model):
        yield "the views have nothing in common; check that their rows are in the same order"
    if structure == 0 and fit.n_clusters > 1:
        yield "do not treat these groups as if they existed"
        return
    if fit.n_clusters == 1:
        return
    if structure is None and fit.is_auto:
        yield "there are too few samples to tell whether the groups are real"
    elif structure is None:
        yield "whether the groups are real was not tested, only how to divide the samples"
    unclear = _unclear(fit, findings)
    if 0 < len(unclear) < fit.n_clusters:
        verb = "is" if len(unclear) == 1 else "are"
        many = f"{number_in_words(len(unclear))} of the groups"
        names = _in_quotes(unclear) if len(unclear) < 3 else many
        yield f"{names} {verb} less clearly apart than the rest"
    elif unclear:
        yield "none of the groups is clearly apart from the others"
    yield from _about_views(fit, findings)
    if edge_sentences(model):
        number = model.n_clusters_fit_
        yield f"{number} is at the end of the numbers of groups that were tried"
    n_single = int((fit.sizes == 1).sum())
    if n_single:
        verb = "has" if n_single == 1 else "have"
        yield f"{number_in_words(n_single)} of the groups {verb} a single sample"


def _in_quotes(names: Sequence[str]) -> str:
    return in_words([f"“{name}”" for name in names])


def _unclear(fit: CheckedFit, findings: Findings) -> list[str]:
    """Titles of the clusters with hardly any evidence, or many doubtful samples."""
    table = findings.clusters
    unclear = np.zeros(fit.n_clusters, bool)
    if "border" in table:
        unclear |= table["border"].isin(["weak", "none"]).to_numpy()
    if "doubtful" in table:
        unclear |= table["doubtful"].to_numpy() > UNCLEAR_SHARE * fit.sizes
    return np.asarray(findings.titles, dtype=object)[unclear].tolist()


def _about_views(fit: CheckedFit, findings: Findings) -> Iterator[str]:
    used: Any = getattr(fit.model, "views_", {}).get("used", pd.Series(dtype=bool))
    if len(aside := used.index[~used].tolist()):
        why = "was left out: it does" if len(aside) == 1 else "were left out: they do"
        yield f"{_in_quotes(aside)} {why} not fit the other views"
    disagreeing = disagreeing_views(findings)
    if disagreeing:
        verb = "does" if len(disagreeing) == 1 else "do"
        yield f"{_in_quotes(disagreeing)} {verb} not show the groups that the other views show"


def disagreeing_views(findings: Findings) -> list[str]:
    """Views that disagree with the others."""
    refits = findings.without_view
    return [] if refits is None else refits.index[refits["disagrees"]].tolist()
