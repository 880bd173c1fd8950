"""Clusters of a fitted model that were merged or named, and the JSON files that say which."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.text import in_words, listed, one_line, quoted, shorten
from anchorview._utils.typing import Array, PathLike
from anchorview.core.centers import ClusterSpread


@dataclass(frozen=True)
class Relabeling:
    """The clusters that take the place of those before."""

    clusters: npt.NDArray[np.int32]
    """New cluster of each cluster before."""
    names: tuple[str, ...]
    """Names of the new clusters; empty for those without a name, which go by their numbers."""
    output: str = "numbers"
    """What methods return: "numbers" or "names"."""

    @classmethod
    def none(cls, n_clusters: int) -> "Relabeling":
        """Relabeling by which every cluster stays what it is."""
        return cls(np.arange(n_clusters, dtype=np.int32), ("",) * n_clusters)

    def __call__(self, labels: Array) -> Array:
        """New clusters of samples; -1 stays."""
        return np.append(self.clusters, np.int32(-1))[labels]

    @property
    def n_clusters(self) -> int:
        """Number of clusters; there may be fewer than numbers, since clusters may have vanished."""
        return len(np.unique(self.clusters))

    @property
    def keeps_numbers(self) -> bool:
        """Whether every cluster has the number that it had before."""
        return np.array_equal(self.clusters, np.arange(len(self.names)))

    def after(self, first: "Relabeling") -> "Relabeling":
        """Both relabelings as one, `first` before this one."""
        return replace(self, clusters=self.clusters[first.clusters])

    def nearest(self, squares: Array) -> Array:
        """Squared distances to the new clusters: to the nearest of the clusters merged in each."""
        if self.keeps_numbers:
            return squares
        members = [np.flatnonzero(self.clusters == c) for c in range(len(self.names))]
        nearest = [squares[:, merged].min(axis=1, initial=np.inf) for merged in members]
        return np.column_stack(nearest)

    def spread(self, before: ClusterSpread) -> ClusterSpread:
        """Spread of the new clusters around the centers of those before."""
        sums = before.sizes, before.squares
        return ClusterSpread(*(np.bincount(self.clusters, own, len(self.names)) for own in sums))

    def renamed(self, mapping: Mapping[Any, Any]) -> "Relabeling":
        """Relabeling of the new clusters by a mapping from their numbers or names.

        Clusters with equal names become one, and those that are mapped to the number of another
        cluster are merged with it. The clusters are in the order of their first clusters.
        """
        known = set(self.clusters.tolist())
        before: list[str | int] = [name or cluster for cluster, name in enumerate(self.names)]
        new: dict[int, str | int] = {}
        for key, value in mapping.items():
            cluster = _cluster(key, self.names, known)
            if cluster in new:
                raise ValueError(
                    f"Cluster {quoted(key)} is in the mapping twice, by number and name."
                )
            new[cluster] = _name_or_number(key, value, known)
        groups = list(before)
        for cluster, value in new.items():
            if isinstance(value, int) and new.get(value, value) != value:
                raise ValueError(
                    f"Cluster {cluster} cannot be merged with cluster {value}, which the mapping "
                    "changes too: give both the same name."
                )
            groups[cluster] = before[value] if isinstance(value, int) else value
        distinct = list(dict.fromkeys(groups))
        if len(distinct) < 2:
            raise ValueError("All clusters would be merged. Leave at least two clusters.")
        clusters = np.array([distinct.index(group) for group in groups], dtype=np.int32)
        names = tuple(group if isinstance(group, str) else "" for group in distinct)
        return Relabeling(clusters, names, self.output)


def _cluster(key: Any, names: tuple[str, ...], known: set[int]) -> int:
    """Number of the cluster that a number or a name stands for; names are never numbers."""
    if isinstance(key, str) and key and key in names:
        return names.index(key)
    number = _number(key)
    if number is None or number not in known:
        named = [name for name in names if name]
        raise ValueError(
            f"{quoted(key)} is not a cluster: they have the numbers {_numbers(known)}"
            f"{f' and the names {listed(named)}' if named else ''}."
        )
    return number


def _number(value: Any) -> int | None:
    """Whole number, also as text; None for all else."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if whole else None


def _numbers(known: set[int]) -> str:
    last = max(known)
    return f"from 0 to {last}" if len(known) == last + 1 else in_words(sorted(known), 20)


def _name_or_number(key: Any, value: Any, known: set[int]) -> str | int:
    """New name of a cluster, or the number of the cluster that it is merged with."""
    name = value.strip() if isinstance(value, str) else value
    number = _number(name)
    if number is not None and number in known:
        return number
    if number is None and isinstance(name, str) and name:
        return name
    raise ValueError(
        f"Cluster {key} cannot have the name {quoted(value)}: give a text that is not a number, or "
        f"the number of the cluster to merge it with, {_numbers(known)}."
    )


def mapping_header(model: Any) -> dict[str, Any]:
    """Which model a mapping is for, beside `clusters` in its file; empty without `relabel`."""
    if not hasattr(model, "_relabeling"):
        return {}
    spread, relabeling = model._spread, model._relabeling
    digest = sha256(np.concatenate([spread.sizes, spread.squares]).astype("<f8").tobytes())
    if any(relabeling.names) or not relabeling.keeps_numbers:
        digest.update(json.dumps([relabeling.clusters.tolist(), relabeling.names]).encode())
    sizes = model._cluster_spread.sizes.astype(int).tolist()
    return {"model": digest.hexdigest()[:16], "sizes": sizes}


def new_names(mapping: Any, model: Any) -> Mapping[Any, Any]:
    """New names by cluster, of a mapping, or of what a report on this model has, or of a file."""
    place = "The mapping"
    if not isinstance(mapping, Mapping):
        place = f"{mapping}:"
        try:
            mapping = json.loads(Path(mapping).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{place} cannot be read as JSON ({one_line(error)}).") from error
        if not isinstance(mapping, dict):
            raise ValueError(f'{place} is not a mapping such as {{"0": "name", "1": "name"}}.')
    clusters = mapping.get("clusters")
    if not isinstance(clusters, Mapping):
        return mapping
    header = mapping_header(model)
    if mapping.get("model") != header["model"]:
        theirs, ours = (shorten(each.get("sizes"), 60) for each in (mapping, header))
        raise ValueError(
            f"{place} is for another model, with clusters of {theirs} samples; those of this model "
            f"have {ours}. Download the mapping from a report on this model, as it is now."
        )
    return clusters


class RelabelMixin:
    """Attributes of estimators with clusters that can be merged and named."""

    labels_: Any
    _spread: ClusterSpread
    _relabeling: Relabeling

    def relabel(
        self,
        mapping: Mapping[Any, str | int] | PathLike,
        *,
        output: Literal["numbers", "names"] | None = None,
    ) -> Self:
        """Name clusters, and merge those that get the same name.

        `labels_`, `predict`, all tables and the next `relabel` have the numbers of the new
        clusters, which are in the order of the first old cluster of each; `cluster_names_` has
        their names. A saved model keeps them; `fit` starts anew. Files to which a fit has written
        labels keep the old ones, and the levels of AutoDALMC are those of the fit.

        Parameters
        ----------
        mapping : dict or path-like
            New names of clusters, by their present numbers or names. A number instead of a new
            name merges a cluster with the one that has the number. Clusters that are left out keep
            their name, if they have one. Or a JSON file with such a mapping, or the one downloaded
            from a report, which is refused if it is for another model.
        output : {"numbers", "names"} or None, default=None
            What `predict`, `predict_with_confidence`, `labels_series` and `labels_without_doubt`
            return from now on, also of the saved model: numbers of clusters, or their names in
            arrays of type object, in which a negative number still stands for no cluster.
            `labels_`, files and levels have numbers; summaries, displays, reports and AnnData
            always have names. If None, as before, which is numbers at first.

            .. versionadded:: 0.2

        Returns
        -------
        self : DALMC or AutoDALMC

        Examples
        --------
        >>> from anchorview import DALMC, make_multiview
        >>> views, _ = make_multiview(90, n_clusters=4, random_state=0)
        >>> model = DALMC(n_clusters=4, random_state=0).fit(views)
        >>> model.relabel({1: "healthy", 3: "healthy", 0: "tumor"}).cluster_names_
        ('tumor', 'healthy', '2')
        >>> model.n_clusters_
        3
        >>> model.relabel({"tumor": "cancer", 2: "control"}).cluster_names_
        ('cancer', 'healthy', 'control')
        >>> bool((model.predict(views) == model.labels_).all())
        True
        >>> sorted(set(model.relabel({}, output="names").predict(views)))
        ['cancer', 'control', 'healthy']
        """
        check_is_fitted(self, "labels_")
        if output not in (None, "numbers", "names"):
            raise ValueError(f"output={output!r} should be 'numbers', 'names' or None.")
        new = self._relabeling.renamed(new_names(mapping, self))
        new = replace(new, output=output or new.output)
        self._relabeling = new.after(self._relabeling)
        self._relabel_samples(new)
        return self

    def _shown(self, labels: Any) -> Any:
        """Clusters as methods return them; files keep the numbers."""
        names = self.cluster_names_
        if names is None or isinstance(labels, np.memmap) or self._relabeling.output != "names":
            return labels
        return by_block(partial(named, names), labels, dtype=object)

    def _relabel_samples(self, new: Relabeling) -> None:
        self.labels_ = by_block(new, self.labels_)

    @property
    def cluster_names_(self) -> tuple[str, ...] | None:
        """Names of clusters, or their numbers. None if none has a name or has vanished."""
        check_is_fitted(self, "labels_")
        relabeling = self._relabeling
        names = tuple(name or str(cluster) for cluster, name in enumerate(relabeling.names))
        return names if any(relabeling.names) or relabeling.n_clusters < len(names) else None

    @property
    def titles_(self) -> tuple[str, ...]:
        """Title of each cluster: its name, what sets it apart, or its number."""
        check_is_fitted(self, "labels_")
        clusters, found = self._relabeling.clusters, getattr(self, "_titles", None)
        first = [int(np.argmax(clusters == c)) for c in range(len(self._relabeling.names))]
        return tuple(
            name or (found[first[c]] if found else f"cluster {c}")
            for c, name in enumerate(self._relabeling.names)
        )

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return self._relabeling.n_clusters

    @property
    def n_clusters_fit_(self) -> int:
        """Number of clusters before `relabel` has merged any."""
        return len(self._relabeling.clusters)

    @property
    def _cluster_spread(self) -> ClusterSpread:
        """How far the samples of `fit` lie from their centers."""
        return self._relabeling.spread(self._spread)

    @property
    def _membership_scale(self) -> float:
        """Squared distance at which a membership falls to 1/e; merging clusters keeps it."""
        return self._cluster_spread.membership_scale(self.n_clusters_fit_)


def named(names: tuple[str, ...], labels: Array) -> Array:
    """Names of clusters; negative numbers stay."""
    named = np.array(names, dtype=object)[labels]
    named[labels < 0] = labels[labels < 0]
    return named


def by_sample_id(values: Any, sample_ids: "pd.Index[Any] | None", name: str) -> Any:
    """Values as a Series indexed by sample id; as they are without ids, in Dask or in a file."""
    if sample_ids is None or type(values) is not np.ndarray:
        return values
    return pd.Series(values, sample_ids, name=name)


def by_block(
    function: Callable[..., Array], first: Any, *others: Any, dtype: Any = np.int32, **options: Any
) -> Any:
    """Labels that a function computes of rows; of dask arrays, a dask array."""
    if hasattr(first, "map_blocks"):
        return first.map_blocks(function, *others, dtype=dtype, **options)
    return function(np.asarray(first), *others)
