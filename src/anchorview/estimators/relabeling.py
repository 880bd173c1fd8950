"""Clusters of a fitted model that were merged or named, and the JSON files that say which."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anchorview._utils.text import one_line, quoted
from anchorview._utils.typing import Array
from anchorview.core.assign import ClusterSpread

FORMAT = "anchorview-relabel"
VERSION = 1


@dataclass(frozen=True)
class Relabeling:
    """The clusters that take the place of those before."""

    clusters: npt.NDArray[np.int32]
    """New cluster of each cluster before."""
    names: tuple[str, ...]
    """Names of the new clusters."""

    def after(self, first: "Relabeling | None") -> "Relabeling":
        """Both relabelings as one, `first` before this one."""
        if first is None:
            return self
        return Relabeling(self.clusters[first.clusters], self.names)

    def nearest(self, squares: Array) -> Array:
        """Squared distances to the new clusters: to the nearest of the clusters merged in each."""
        members = [np.flatnonzero(self.clusters == c) for c in range(len(self.names))]
        return np.column_stack([squares[:, merged].min(axis=1) for merged in members])

    def spread(self, before: ClusterSpread) -> ClusterSpread:
        """Spread of the new clusters around the centers of those before."""
        count = len(self.names)
        return ClusterSpread(
            np.bincount(self.clusters, before.sizes, count),
            np.bincount(self.clusters, before.squares, count),
        )


def relabeling_from(mapping: Mapping[Any, Any], names: tuple[str, ...]) -> Relabeling:
    """Relabeling of clusters, which have names now, by a mapping from their numbers to new names.

    Clusters with equal names become one; the new ones are in the order of their first clusters.
    """
    renamed = list(names)
    for key, name in mapping.items():
        renamed[_cluster_number(key, len(names))] = _new_name(key, name)
    distinct = list(dict.fromkeys(renamed))
    if len(distinct) < 2:
        raise ValueError(
            f"All clusters would be merged into {distinct[0]!r}. Leave at least two clusters."
        )
    clusters = np.array([distinct.index(name) for name in renamed], dtype=np.int32)
    return Relabeling(clusters, tuple(distinct))


def _cluster_number(key: Any, count: int) -> int:
    number = -1
    if isinstance(key, str):
        number = int(key) if key.isdecimal() else -1
    elif isinstance(key, int | np.integer) and not isinstance(key, bool):
        number = int(key)
    if not 0 <= number < count:
        raise ValueError(
            f"{quoted(key)} is not a cluster: they have the numbers from 0 to {count - 1}."
        )
    return number


def _new_name(key: Any, name: Any) -> str:
    valid = isinstance(name, str | int | np.integer) and not isinstance(name, bool)
    if not valid or not str(name).strip():
        raise ValueError(
            f"Cluster {key} cannot have the name {quoted(name)}: give a text or a whole number."
        )
    return str(name)


def read_mapping(path: Path) -> dict[str, str]:
    """Mapping of a JSON file, as the report writes it, from clusters to new names."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read as JSON ({one_line(error)}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"{path}: is not a relabeling. It needs the form "
            f'{{"format": "{FORMAT}", "version": {VERSION}, "clusters": {{"0": "name"}}}}.'
        )
    if document.get("version") != VERSION:
        raise ValueError(
            f"{path}: has version {document.get('version')!r} of the format, but {VERSION} is "
            "expected. Upgrade anchorview."
        )
    clusters = document.get("clusters")
    if not isinstance(clusters, dict):
        raise ValueError(f"{path}: 'clusters' is not an object of cluster numbers and names.")
    return clusters
