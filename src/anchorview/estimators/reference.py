"""Clusters of a fit that continue those of an earlier model, and what has changed between both."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.typing import Array
from anchorview.estimators.explanation import Explanation, explanation_of_model
from anchorview.estimators.relabeling import Relabeling, RelabelMixin
from anchorview.sources.open_source import open_source
from anchorview.sources.results_folder import result_path
from anchorview.views.container import MultiViewData
from anchorview.views.sample_design import set_design

Args = ParamSpec("Args")
Model = TypeVar("Model", bound=RelabelMixin)

SHARED_PER_CLUSTER = 10
"""Samples with known ids per old cluster that are enough to tell which cluster continues it."""

FAR = 1.4
"""Median squared distance of the samples of a cluster to the centers of the old clusters in which
the old model puts them, relative to the mean there, above which no old cluster continues in it.
Left-out classes of digits have 1.6 to 2.1, all others 0.5 to 1.2."""

PART = 0.1
"""Share of an old cluster, or in a new one, from which samples are a part that counts."""


def continuing(
    fit: Callable[Concatenate[Model, Args], Model],
) -> Callable[Concatenate[Model, Args], Model]:
    """Let a method `fit` continue the numbers and names of its parameter `reference`.

    Parameters
    ----------
    reference : DALMC or AutoDALMC, default=None
        A fitted model, such as that of last month, whose clusters are to continue: those that
        overlap with one of its clusters by more than a half get the number and the name of that
        cluster, others those of the cluster that they are most of, or that is most of them. New
        clusters get new numbers, and numbers of vanished ones are not used again. Samples are
        matched by id; if few ids are known to both, the reference labels the samples. A second fit
        with another seed shows how much clusters move by chance (`changes_`).

        .. versionadded:: 0.2
    """

    @wraps(fit)
    def wrapper(self: Model, /, *args: Args.args, **kwargs: Args.kwargs) -> Model:
        reference: Any = kwargs.pop("reference", None)
        if reference is None:
            return fit(self, *args, **kwargs)
        X = kwargs["X"] if "X" in kwargs else args[0]
        before = _labels_before(reference, X, kwargs)
        fit(self, *args, **kwargs)
        out: Any = kwargs.pop("out", None)
        seed = check_random_state(self.get_params()["random_state"]).randint(2**31 - 1)  # type: ignore[attr-defined]
        with warnings.catch_warnings():
            # They are those of the fit.
            warnings.simplefilter("ignore")
            again: Any = clone(self).set_params(random_state=seed, verbose=0)
            again.fit(*args, **kwargs)
        _continue(self, reference, before, np.asarray(again.labels_), out)
        return self

    return wrapper


def _labels_before(reference: Any, X: Any, given: Mapping[str, Any]) -> tuple[Array, Array]:
    """Old cluster of each sample, -1 for those that are unknown, and how far it is from it."""
    if not issubclass(type(reference), RelabelMixin):
        raise TypeError(
            f"reference is of type {type(reference).__name__}, but must be a fitted DALMC or "
            "AutoDALMC, such as anchorview.load returns."
        )
    check_is_fitted(reference, "labels_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = open_source(X, selection=given.get("views"), join=given.get("join"))
    ids = _ids(opened.sample_ids)
    old_ids = _ids(reference.sample_ids_)
    # A model that was saved without the results of its samples has no labels.
    if ids is not None and old_ids is not None and len(reference.labels_) == len(old_ids):
        position = old_ids.get_indexer(ids)
        known = position >= 0
        enough = SHARED_PER_CLUSTER * reference.n_clusters_, len(ids) / 2, len(old_ids) / 2
        if known.sum() >= min(enough):
            labels = np.where(known, np.asarray(reference.labels_)[position], -1)
            return labels, np.zeros(len(labels))
    return _predicted_before(reference, X, ids, given)


def _ids(ids: Any) -> "pd.Index[Any] | None":
    """Sample ids in memory; None for positions that pandas takes for ids."""
    ids = pd.Index(ids.compute()) if hasattr(ids, "compute") else ids
    return None if ids is None or ids.equals(pd.RangeIndex(len(ids))) else ids


def _predicted_before(
    reference: Any, X: Any, ids: "pd.Index[Any] | None", given: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Clusters in which the old model puts samples, and how far they are from these."""
    explanation = explanation_of_model(reference)
    if explanation is None:
        raise ValueError(
            "reference cannot label new samples, and knows too few of these by id. Give samples "
            "with ids, as in DataFrames, or a reference with variant='dalmc'."
        )
    selection = reference.view_selection_
    join: Any = None if reference._join is None else "outer"
    source = open_source(X, reference.memory_limit, selection_of_fit=selection, join=join)
    if given.get("batch") is not None or given.get("covariates") is not None:
        set_design(source, X, given.get("batch"), given.get("covariates"))
    places: Any = source.map_rows(partial(_places, explanation), 2, np.float64, "labeling", None)
    places, own_ids = np.nan_to_num(np.asarray(places), nan=-1), _ids(source.sample_ids)
    if ids is not None and own_ids is not None:
        places = places[own_ids.get_indexer(ids)]
    return places[:, 0].astype(np.int32), places[:, 1]


def _places(explanation: Explanation, part: MultiViewData) -> Array:
    """Clusters of samples, and squared distances to their centers relative to the mean there."""
    means, blocks = explanation.mean_square_per_cluster, explanation.distances(part)
    each = ((block.labels, block.squares_to_cluster / means[block.labels]) for block in blocks)
    return np.vstack([np.column_stack(places) for places in each])


def _continue(
    model: Any, reference: Any, before: tuple[Array, Array], again: Array, out: Any
) -> None:
    """Renumber and name the clusters of a model; `again` are labels of another fit."""
    sizes_before = np.asarray(reference._cluster_spread.sizes, dtype=np.int64)
    sizes = np.asarray(model._cluster_spread.sizes, dtype=np.int64)
    labels = np.array(model.labels_)
    counts = _counts(before[0], labels, len(sizes_before), len(sizes))
    changes = Changes(counts, sizes_before, sizes, _are_far(labels, before[1], len(sizes)))
    old, own = reference._relabeling, model._relabeling
    output = "names" if "names" in (old.output, own.output) else "numbers"
    names = changes.names_after(old.names, own.names)
    relabeling = Relabeling(changes.numbers, names, output)
    by_chance = 1 - _overlap(_counts(again, labels, int(again.max()) + 1, len(sizes))).max(axis=0)
    model.changes_ = changes.table(
        [new or before for new, before in zip_longest(names, old.names)], by_chance
    )
    model.labels_ = labels if out is not None else model.labels_
    model._relabeling = relabeling.after(model._relabeling)
    model._relabel_samples(relabeling)
    for name in () if out is None else ("labels", "second_labels"):
        if (rows := getattr(model, f"{name}_", None)) is not None:
            path = result_path(Path(out), name)
            with atomic_write_binary(path) as (stream,):
                np.save(stream, rows, allow_pickle=False)
            setattr(model, f"{name}_", np.load(path, mmap_mode="r"))


def _are_far(labels: Array, distances: Array, n_clusters: int) -> Array:
    """Which clusters are far from all old ones, as all clusters are if the data have drifted."""
    medians = pd.Series(distances).groupby(labels).median().reindex(range(n_clusters))
    return np.asarray(medians > FAR * max(1.0, medians.median()))


def _counts(before: Array, after: Array, n_before: int, n_after: int) -> Array:
    """Number of samples in each old (rows) and new cluster, without those that are in none."""
    known = (before >= 0) & (after >= 0)
    pairs = before[known].astype(np.int64) * n_after + after[known]
    return np.bincount(pairs, minlength=n_before * n_after).reshape(n_before, n_after)


def _overlap(counts: Array) -> Array:
    """Jaccard index of each old and new cluster."""
    union = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0) - counts
    return np.divide(counts, union, out=np.zeros(counts.shape), where=union > 0)


class Changes:
    """Which old cluster each new one continues, by the number of samples that both have."""

    def __init__(self, counts: Array, sizes_before: Array, sizes: Array, far: Array) -> None:
        # In which old clusters samples that are far from all of them are put means nothing.
        counts = np.where(far, 0, counts)
        self.sizes_before, self.sizes = sizes_before, sizes
        self.overlap = _overlap(counts)
        known_before, known = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
        self._of_old = counts / np.maximum(known_before, 1)
        self._of_new = counts / np.maximum(known, 1)
        comes = counts > 0
        # A few samples of a cluster that the old model did not know do not say where it is from.
        comes &= (2 * known >= sizes) | (self._of_old >= PART)
        most = np.maximum(self._of_old, self._of_new) > 0.5
        # Clusters that overlap by more than a half continue, whatever that costs the others.
        wanted = self.overlap + len(sizes) * (self.overlap > 0.5)
        old, new = linear_sum_assignment(wanted * (comes & most), maximize=True)
        matched = (comes & most)[old, new]
        self.numbers = np.full(len(sizes), -1, np.int32)
        self.numbers[new[matched]] = old[matched]
        added = np.flatnonzero(self.numbers < 0)
        self.numbers[added] = len(sizes_before) + np.arange(len(added))
        self._comes = comes

    def names_after(self, old: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
        """Names of all numbers: those of known classes, and of old clusters that continue."""
        names = [
            name if c in self.numbers and name not in own else "" for c, name in enumerate(old)
        ]
        names += [""] * (int(self.numbers.max()) + 1 - len(old))
        for number, name in zip(self.numbers.tolist(), own, strict=True):
            names[number] = name or names[number]
        return tuple(names)

    def _sources(self, new: int) -> Array:
        """Old clusters of which a new one has most samples, or that are a quarter of it."""
        parts = (self._of_old[:, new] > 0.5) & (self._of_new[:, new] >= PART)
        return np.flatnonzero(self._comes[:, new] & (parts | (self._of_new[:, new] >= 0.25)))

    def _change(self, new: int) -> tuple[str, Array]:
        """What became of a new cluster, and the old ones that it is from."""
        sources = self._sources(new)
        merged = sources[self._of_old[sources, new] > 0.5]
        if len(merged) > 1:
            return "merged of", merged
        if self.numbers[new] < len(self.sizes_before):
            return "continued", self.numbers[[new]]
        return ("split from", sources) if len(sources) else ("new", sources)

    def table(self, names: Sequence[str | None], by_chance: Array) -> pd.DataFrame:
        """One row per cluster, old or new; `by_chance` is how much new ones move in another fit."""

        def shown(clusters: Array) -> str:
            return ", ".join(names[c] or str(c) for c in clusters.tolist())

        rows: dict[int, tuple[Any, ...]] = {}
        sizes_before = np.append(self.sizes_before, np.zeros(len(self.numbers), np.int64))
        for new in np.flatnonzero(self.sizes).tolist():
            number = self.numbers[new]
            change, sources = self._change(new)
            old = number < len(self.sizes_before)
            moved = 1 - self.overlap[number, new] if old else np.nan
            beyond = max(moved - by_chance[new], 0.0) if old else np.nan
            sizes = int(sizes_before[number]), int(self.sizes[new])
            scores = moved, float(by_chance[new]), beyond
            rows[int(number)] = (change, shown(sources), *sizes, *scores)
        for gone in np.setdiff1d(np.flatnonzero(self.sizes_before), [*rows]).tolist():
            now = self.numbers[(self._of_old[gone] >= 0.25) & self._comes[gone]]
            rows[gone] = ("vanished", shown(now), int(sizes_before[gone]), 0, *(np.nan,) * 3)
        columns = "change", "clusters", "before", "after", "moved", "by_chance", "beyond_chance"
        table = pd.DataFrame.from_dict(rows, orient="index", columns=list(columns)).sort_index()
        table.insert(0, "name", [shown(np.array([number])) for number in table.index])
        return table.rename_axis("cluster")
