"""The verdict: what a reader must know who reads nothing else."""

from collections.abc import Sequence

import numpy as np

from anchorview._utils.text import capitalized
from anchorview._utils.typing import Array
from anchorview.estimators.auto.structure import structure_sentence
from anchorview.estimators.representation import batch_sentences, view_sentences
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.findings import Findings, doubtful_by_cluster

MAX_LISTED = 5
"""Maximum number of clusters or views that are listed by name."""

UNCLEAR_DOUBTFUL = 0.25
"""Clusters with a larger share of doubtful samples are unclear."""


def verdict(fit: CheckedFit, findings: Findings) -> str:
    """Sentences on the clusters, the samples and the views."""
    parts = [_clusters(fit, findings)]
    if findings.certainty is not None:
        parts.append(_samples(int(findings.certainty.doubtful.sum()), len(fit.labels)))
    if findings.without_view is not None:
        disagreeing = findings.without_view.index[findings.without_view["disagrees"]].tolist()
        if disagreeing:
            verb = "disagrees" if len(disagreeing) == 1 else "disagree"
            parts.append(f"{listed(disagreeing)} {verb} with the other views")
    sentences = ["; ".join(parts) + "."]
    structure = getattr(fit.model, "structure_", None)
    if structure is not None:
        sentences.append(f"{capitalized(structure_sentence(structure))}.")
    sentences += set_aside_sentences(fit)
    sentences += [f"{capitalized(sentence)}." for sentence in batch_sentences(fit.model)]
    return " ".join(sentences)


def set_aside_sentences(fit: CheckedFit) -> list[str]:
    """Sentences on views that AutoDALMC has set aside, or would have."""
    return [f"{capitalized(sentence)}." for sentence in view_sentences(fit.model)]


def _clusters(fit: CheckedFit, findings: Findings) -> str:
    number = f"{fit.n_clusters} clusters"
    unclear = unclear_clusters(fit, findings)
    if unclear is None:
        return number
    if not unclear.any():
        return f"{number}, all of them clear"
    names = [fit.cluster_names[cluster] for cluster in np.flatnonzero(unclear).tolist()]
    if len(names) == fit.n_clusters:
        return f"{number}, none of them clear"
    if 2 * len(names) > fit.n_clusters:
        return f"{number}, only {fit.n_clusters - len(names)} of them clear"
    if len(names) > MAX_LISTED:
        return f"{number}, clear but for {len(names)} of them"
    noun = "cluster" if len(names) == 1 else "clusters"
    return f"{number}, clear but for {noun} {listed(names)}"


def unclear_clusters(fit: CheckedFit, findings: Findings) -> Array | None:
    """Whether each cluster is unclear; None if nothing is known of it."""
    counts = doubtful_by_cluster(fit, findings)
    return None if counts is None else counts > UNCLEAR_DOUBTFUL * fit.sizes


def _samples(n_doubtful: int, n: int) -> str:
    if not n_doubtful:
        return "no sample is doubtful"
    verb = "is" if n_doubtful == 1 else "are"
    return f"{n_doubtful:,} of {n:,} samples {verb} doubtful"


def listed(names: Sequence[object]) -> str:
    """Names in a sentence."""
    texts = [str(name) for name in names]
    if len(texts) > MAX_LISTED:
        texts = [*texts[: MAX_LISTED - 1], f"{len(texts) - MAX_LISTED + 1} more"]
    if len(texts) == 1:
        return texts[0]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
