"""Numbers of anchors and components: as requested, within what the data allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorview._utils.linalg import rank_up_to
from anchorview._utils.typing import Matrix
from anchorview.core.group_summaries import RANK_TOLERANCE
from anchorview.views.schema import ViewsSchema


@dataclass(frozen=True)
class Sizes:
    """The requested sizes; None leaves the choice to the defaults."""

    n_clusters: int
    n_anchors: int | None = None
    n_components: int | Sequence[int] | None = None
    default_anchors: int | None = None
    """Number of anchors if `n_anchors` is None, as far as the views allow; default `n_clusters`."""

    @property
    def per_view(self) -> list[int] | None:
        """Number of components given for each view, which is used exactly."""
        if self.n_components is None or np.ndim(self.n_components) == 0:
            return None
        given = np.asarray(self.n_components)
        if given.dtype.kind not in "iu":
            raise ValueError(f"n_components={self.n_components!r} must be whole numbers.")
        return given.tolist()

    @property
    def shared(self) -> int:
        """Number of components requested for every view, as far as its rank allows."""
        return 2 * self.n_clusters if self.n_components is None else int(self.n_components)  # type: ignore[arg-type]

    def wanted(self, schema: ViewsSchema) -> list[int]:
        """Number of components of each view before its rank is known."""
        return self.per_view or [min(self.shared, d) for d in schema.n_features_per_view]

    def require_possible(self, schema: ViewsSchema) -> None:
        """Raise if data of this shape cannot have these sizes."""
        n = len(schema)
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        if self.per_view is not None:
            self._require_per_view(schema, self.per_view)
        elif self.n_components is not None:
            maximum = min(n, max(schema.n_features_per_view))
            if self.shared > maximum:
                raise ValueError(
                    f"n_components={self.shared} is larger than any view allows: at most "
                    f"{maximum}, the smaller of the samples and the features of the widest view."
                )
        if self.n_anchors is not None and self.n_anchors > min(schema.shape):
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the data allow: at most "
                f"{min(schema.shape)}, the smaller of the samples and the features of all views."
            )

    def _require_per_view(self, schema: ViewsSchema, components: list[int]) -> None:
        n = len(schema)
        if len(components) != len(schema.names):
            raise ValueError(
                f"n_components has {len(components)} entries for {len(schema.names)} views; give "
                "one number, or one per view."
            )
        for p, (m, d) in enumerate(zip(components, schema.n_features_per_view, strict=True)):
            if not 1 <= m <= min(n, d):
                raise ValueError(
                    f"n_components={m} for {schema.describe_view(p)} must be between 1 and "
                    f"{min(n, d)}, the smaller of its {n} samples and {d} features."
                )

    def resolve(
        self,
        matrices: Sequence[Matrix],
        schema: ViewsSchema,
        dtype: "np.dtype[Any]",
        ranks: Sequence[int] | None = None,
    ) -> tuple[int, list[int], list[bool]]:
        """Number of anchors, components of each view, and whether these reproduce the view.

        `matrices` are the scaled (compressed) views, of which products were computed in `dtype`;
        `ranks` their ranks up to twice the components, if known already.
        """
        wanted = self.wanted(schema)
        if ranks is None:
            tolerance = rank_tolerance(dtype)
            ranks = [rank_up_to(X, 2 * m, tolerance) for X, m in zip(matrices, wanted, strict=True)]
        components = []
        for p, (m, rank) in enumerate(zip(wanted, ranks, strict=True)):
            if self.per_view is None:
                m = capped_components(m, rank, len(matrices))
            elif m > rank:
                raise ValueError(
                    f"n_components={m} for {schema.describe_view(p)} is larger than its rank "
                    f"{rank}."
                )
            components.append(int(m))
        complete = [m == rank for m, rank in zip(components, ranks, strict=True)]
        maximum = sum(components)
        if self.n_anchors is not None and self.n_anchors > maximum:
            raise ValueError(
                f"n_anchors={self.n_anchors} is larger than the views allow: their components add "
                f"up to {maximum} ({components})."
            )
        default = min(self.default_anchors or self.n_clusters, maximum)
        return self.n_anchors or default, components, complete


def capped_components(wanted: int, rank: int, n_views: int) -> int:
    """Number of components of a view, at most half of its rank.

    A representation that reproduces its view completely says nothing about how well the view fits.
    A single view cannot gain weight by that, and may keep two components.
    """
    minimum = 2 if n_views == 1 else 1
    return min(wanted, max(rank // 2, min(rank, minimum)))


def rank_tolerance(dtype: "np.dtype[Any]") -> float:
    """Share of the largest singular value that may be rounding of products in `dtype`."""
    return float(np.sqrt(RANK_TOLERANCE[dtype.name]))
