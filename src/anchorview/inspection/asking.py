"""Which samples to label next, and which known classes look wrong."""

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.utils import check_scalar

from anchorview._utils.typing import Array
from anchorview.estimators.auto.labeling import ConsensusExplanation
from anchorview.estimators.known.class_model import KnownClasses, fit_class_model
from anchorview.estimators.known.known_labels import known_labels
from anchorview.estimators.partitions.consensus import cluster_members
from anchorview.estimators.partitions.coordinates import LocatedSamples
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source
from anchorview.views.container import MultiViewData, ViewsLike

N_STOOD_FOR, N_CANDIDATES = 1_500, 600
"""Maximum number of samples that are stood for, and of those to choose from: half of these are the
most doubtful ones, the others random."""

POWER = 3
"""Power of similarities: samples stand for those that nearly all partitions have with them."""

MIN_PROBABILITY = 0.5
"""Probability from which another class is suggested."""

MAX_LABELED, N_FOLDS = 2_000, 5
"""Maximum number of samples with a class that is known already; number of parts of known classes,
those of each of which are predicted by those of the others."""


def ask(model: Any, X: ViewsLike, n: int = 10) -> pd.DataFrame:
    """Return the samples whose classes would help most, to be labeled next.

    They are doubtful, differ from each other and from those that are labeled, and stand for many:
    one after the other, each adds most to the sum, over samples, of their doubt times the cubed
    similarity to the nearest sample that is asked or labeled. The similarity is the share of
    partitions that have both in a cluster, half of it the consensus without labels. All samples are
    doubtful as long as no class is known.

    Parameters
    ----------
    model : fitted AutoDALMC
        With the classes that are known so far, if there are any.
    X : views of the samples of `fit`, in any form that it takes
        Others may be given: then it is not known which of them are labeled.
    n : int, default=10
        Number of samples.

    Returns
    -------
    samples : DataFrame
        At most `n` rows, the most useful first, with the columns `sample`, its id or position;
        `cluster`, its present one; and `stands_for`, the number of samples that it is most similar
        to.

    See Also
    --------
    doubtful : The samples with the lowest confidence.
    suspicious_labels : Known classes that look wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview import AutoDALMC
    >>> from anchorview.datasets import make_multiview
    >>> from anchorview.inspection import ask
    >>> views, y = make_multiview(200, n_clusters=4, separation=6, random_state=0)
    >>> model = AutoDALMC(n_clusters=4, budget="fast", random_state=0).fit(views)
    >>> asked = ask(model, views, n=4)["sample"]
    >>> len(set(y[asked]))
    4
    >>> known = np.full(200, -1)
    >>> known[asked] = y[asked]
    >>> bool((model.fit(views, known).labels_ == y).mean() > 0.95)
    True
    """
    check_scalar(n, "n", Integral, min_val=1)
    labeled, explanation = _of_auto(model, X)
    labeler, size = explanation.labeler, len(labeled.source)
    doubt = labeled.rows(partial(_of_prepared, explanation.prepare, labeler.doubt), None, "doubt")
    taken = model._labeled_rows if _same_samples(model, labeled) else None
    taken = np.empty(0, int) if taken is None else taken
    doubt = np.nan_to_num(doubt)
    doubt[taken] = 0
    random = np.random.default_rng(0)
    order = random.permutation(size)
    doubtful = order[np.argsort(-doubt[order], kind="stable")][: N_CANDIDATES // 2]
    candidates = np.setdiff1d(np.union1d(order[: N_CANDIDATES // 2], doubtful), taken)
    taken = taken if len(taken) <= MAX_LABELED else random.choice(taken, MAX_LABELED, False)
    stood_for, taken = np.sort(order[:N_STOOD_FOR]), np.sort(taken)
    similar = partial(_similarity, labeled, explanation, stood_for)
    positions, owners = _cover(similar(candidates), similar(taken), doubt[stood_for], int(n))
    chosen = candidates[positions]
    counts = np.bincount(owners[owners >= 0], minlength=len(chosen))
    return pd.DataFrame(
        {
            "sample": labeled.sample_index[chosen],
            "cluster": labeled.clusters[labeled.labels()[chosen]],
            "stands_for": np.round(counts * size / len(stood_for)).astype(int),
        }
    )


def _of_auto(model: Any, X: ViewsLike) -> tuple[LabeledSource, ConsensusExplanation]:
    """Samples, and what the model says about them; raises for other models."""
    labeled = labeled_source(model, X)
    if not isinstance(labeled.explanation, ConsensusExplanation):
        raise TypeError(
            f"{type(model).__name__} has no partitions by which samples are compared: fit "
            "AutoDALMC."
        )
    return labeled, labeled.explanation


def _of_prepared(prepare: Any, function: Any, part: MultiViewData) -> Array:
    return np.asarray(function(prepare(part)))


def _same_samples(model: Any, labeled: LabeledSource) -> bool:
    """Whether samples are those of the fit."""
    if model.sample_ids_ is None:
        return len(labeled.source) == model.n_samples_fit_
    return labeled.sample_index.equals(pd.Index(np.asarray(model.sample_ids_)))


def _similarity(
    labeled: LabeledSource, explanation: ConsensusExplanation, others: Array, rows: Array
) -> Array:
    """Power of the similarity of samples to others, (n, n_others)."""
    if not len(rows):
        return np.zeros((0, len(others)))
    plain = explanation.labeler.clustering.without_classes.consensus
    partitions = [_located(labeled, explanation, positions)[1] for positions in (rows, others)]
    both = (np.vstack([labels, plain.labels(labels)]) for labels in partitions)
    members = [cluster_members(labels, len(plain.offsets)) for labels in both]
    weights = np.repeat(np.append(plain.weights, 1.0) / 2, len(plain.offsets))
    shared = members[0] @ sparse.diags_array(weights) @ members[1].T
    return np.asarray(shared.toarray() ** POWER)


def _cover(similar: Array, known: Array, doubt: Array, n: int) -> tuple[Array, Array]:
    """Rows that cover most, one after the other, and which covers each column; -1: known."""
    reached = known.max(axis=0, initial=0.0)
    owners = np.full(len(doubt), -1)
    chosen: list[int] = []
    for position in range(min(n, len(similar))):
        gains = np.maximum(similar - reached, 0) @ doubt
        gains[chosen] = -1
        best = int(gains.argmax())
        owners[similar[best] > reached] = position
        reached = np.maximum(reached, similar[best])
        chosen.append(best)
    return np.array(chosen, dtype=int), owners


def suspicious_labels(model: Any, X: ViewsLike, y: Any) -> pd.DataFrame:
    """Return the samples whose known class looks wrong.

    The known classes are divided into five parts at random, and the class of each sample is
    predicted without the part that it is in. Classes that are known for one sample only cannot be
    judged.

    Parameters
    ----------
    model : fitted AutoDALMC
        With or without known classes.
    X : views of the samples of `y`, in any form that `fit` takes
    y : array-like (n,) or Series
        Known classes, as given to `fit`.

    Returns
    -------
    samples : DataFrame
        One row for each sample with another class that is more likely than all others together,
        with the columns `sample`, its id or position; `given` and `suggested` class; and
        `probability`, that of the given class. Sorted by the last, the most suspicious first.

    See Also
    --------
    ask : Samples to label next.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview import AutoDALMC
    >>> from anchorview.datasets import make_multiview
    >>> from anchorview.inspection import suspicious_labels
    >>> views, y = make_multiview(200, n_clusters=4, separation=6, random_state=0)
    >>> known = np.where(np.arange(200) < 40, y, -1)
    >>> known[7] = (known[7] + 1) % 4
    >>> model = AutoDALMC(budget="fast", random_state=0).fit(views, known)
    >>> suspicious_labels(model, views, known)["sample"].tolist()
    [7]
    """
    labeled, explanation = _of_auto(model, X)
    size, clustering = len(labeled.source), explanation.labeler.clustering.without_classes
    ids = None if model.sample_ids_ is None else labeled.sample_index
    known = known_labels(y, X, ids, np.ones(size, dtype=bool), clustering.n_clusters)
    if known is None or len(known.rows) < 2:
        raise ValueError("y has fewer than two known classes: the others are -1, None or NaN.")
    located = partial(_located, labeled, explanation)
    samples, partitions = located(np.random.default_rng(0).permutation(size)[:N_STOOD_FOR])
    probabilities = np.zeros((len(known.rows), clustering.n_clusters))
    judged = np.zeros(len(known.rows), dtype=bool)
    folds = KFold(min(N_FOLDS, len(known.rows)), shuffle=True, random_state=0)
    for train, test in folds.split(known.rows):
        others = KnownClasses(*located(known.rows[train]), known.codes[train])
        classes = fit_class_model(samples, partitions, clustering.consensus, others)
        probabilities[test] = classes.probabilities(*located(known.rows[test]))
        judged[test] = np.isin(known.codes[test], classes.named)
    suggested = probabilities.argmax(axis=1)
    given = probabilities[np.arange(len(judged)), known.codes]
    wrong = judged & (suggested != known.codes) & (probabilities.max(axis=1) > MIN_PROBABILITY)
    order = np.flatnonzero(wrong)[np.argsort(given[wrong], kind="stable")]
    names: Any = np.array(known.names + ("",) * clustering.n_clusters, dtype=object)
    names = names if known.names else np.arange(clustering.n_clusters)
    return pd.DataFrame(
        {
            "sample": labeled.sample_index[known.rows[order]],
            "given": names[known.codes[order]],
            "suggested": names[suggested[order]],
            "probability": given[order],
        }
    )


def _located(
    labeled: LabeledSource, explanation: ConsensusExplanation, rows: Array
) -> tuple[LocatedSamples, Array]:
    """Samples at ascending positions among the landmarks, and their labels in the partitions."""
    labeler = explanation.labeler
    data = explanation.prepare(labeled.samples(np.sort(rows))).with_views(labeler.used)
    samples = LocatedSamples(labeler.families, data)
    return samples, labeler.clustering.without_classes.partitions(samples)
