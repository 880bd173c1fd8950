"""Numbers of anchors and components: what was asked for, within what the data allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorview._utils.linalg import rank_up_to
from anchorview._utils.typing import Matrix
from anchorview.core.compress import RANK_TOLERANCE
from anchorview.views.container import ViewsSchema


@dataclass(frozen=True)
class Sizes:
    """The sizes a user asked for; None leaves the choice to us."""

    n_clusters: int
    n_anchors: int | None
    n_components: int | Sequence[int] | None

    @property
    def per_view(self) -> list[int] | None:
        """Components given view by view, to be taken exactly."""
        if self.n_components is None or np.ndim(self.n_components) == 0:
            return None
        given = np.asarray(self.n_components)
        if given.dtype.kind not in "iu":
            raise ValueError(f"n_components={self.n_components!r} must be whole numbers.")
        return given.tolist()

    @property
    def shared(self) -> int:
        """Components asked of every view alike, where its rank allows it."""
        return 2 * self.n_clusters if self.n_components is None else int(self.n_components)  # type: ignore[arg-type]

    def wanted(self, data: ViewsSchema) -> list[int]:
        """Components of each view before its rank is known."""
        return self.per_view or [min(self.shared, d) for d in data.n_features_per_view]

    def require_possible(self, data: ViewsSchema) -> None:
        """Raise if the shape of the data alone rules the sizes out."""
        n = len(data)
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        if self.per_view is not None:
            self._require_per_view(data, self.per_view)
        elif self.n_components is not None:
            most = min(n, max(data.n_features_per_view))
            if self.shared > most:
                raise ValueError(
                    f"n_components={self.shared} is larger than any view allows: at most {most}, "
                    f"the smaller of n_samples={n} and the features of the widest view."
                )
        if self.n_anchors is not None and self.n_anchors > min(data.shape):
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the data allow: at most "
                f"{min(data.shape)}, the smaller of n_samples and the features of all views."
            )

    def _require_per_view(self, data: ViewsSchema, components: list[int]) -> None:
        n = len(data)
        if len(components) != len(data.names):
            raise ValueError(
                f"n_components has {len(components)} entries for {len(data.names)} views; give "
                "one number, or one a view."
            )
        for p, (m, d) in enumerate(zip(components, data.n_features_per_view, strict=True)):
            if not 1 <= m <= min(n, d):
                raise ValueError(
                    f"n_components={m} for {data.describe_view(p)} must be between 1 and {min(n, d)}, "
                    f"the smaller of its {n} samples and {d} features."
                )

    def resolve(
        self, matrices: Sequence[Matrix], data: ViewsSchema, dtype: "np.dtype[Any]"
    ) -> tuple[int, list[int], list[bool]]:
        """Anchors, each view's components, and whether these reproduce the view completely.

        Given are the scaled (compressed) views, whose products were made in `dtype`. Shared
        components are capped (:func:`capped_components`).
        """
        tolerance = rank_tolerance(dtype)
        components, complete = [], []
        for p, (X, m) in enumerate(zip(matrices, self.wanted(data), strict=True)):
            rank = rank_up_to(X, 2 * m, tolerance)
            if self.per_view is None:
                m = capped_components(m, rank, len(matrices))
            elif m > rank:
                raise ValueError(
                    f"n_components={m} for {data.describe_view(p)} is larger than its rank {rank}."
                )
            components.append(int(m))
            complete.append(m == rank)
        most = sum(components)
        if self.n_anchors is not None and self.n_anchors > most:
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the views allow: their components add "
                f"up to {most} ({components})."
            )
        return self.n_anchors or min(self.n_clusters, most), components, complete


def capped_components(wanted: int, rank: int, n_views: int) -> int:
    """Components of a view, at most half of its rank.

    A representation that reproduces its view completely tells nothing about how well the view
    fits. One view alone has no weight to gain by that, and may keep two.
    """
    least = 2 if n_views == 1 else 1
    return min(wanted, max(rank // 2, min(rank, least)))


def rank_tolerance(dtype: "np.dtype[Any]") -> float:
    """Share of the largest singular value that rounding of products in `dtype` can fake."""
    return float(np.sqrt(RANK_TOLERANCE[dtype.name]))
