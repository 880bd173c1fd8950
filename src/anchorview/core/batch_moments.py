"""Moments of the rows of each batch and view, which merge over parts as those of a scaling."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import Moments, row_moments
from anchorview.views.container import MultiViewData
from anchorview.views.low_rank_sum import is_sparse

EXPLAINED = 64 * float(np.finfo(np.float64).eps)
"""Share of the squares of a feature up to which nothing is left of it."""


class JointMoments(NamedTuple):
    """Moments of rows, of their covariates z, and sums of products of both after centering."""

    rows: Moments
    z_mean: Array
    zz: Array
    zx: Array

    @classmethod
    def of(cls, rows: Matrix, z: Array) -> "JointMoments":
        """Moments of some rows and their covariates."""
        moments = row_moments(rows)
        z_mean = z.mean(axis=0)
        centered = z - z_mean
        if not z.shape[1]:
            products = np.empty((0, rows.shape[1]))
        elif is_sparse(rows):
            products = centered.T @ rows.astype(np.float64)
        else:
            products = centered.T @ np.subtract(rows, moments.mean, dtype=np.float64)
        return cls(moments, z_mean, centered.T @ centered, products)

    def merged(self, other: "JointMoments") -> "JointMoments":
        """Moments of both sets of rows, without cancellation."""
        size = self.rows.size + other.rows.size
        share = self.rows.size * other.rows.size / size
        step, row_step = other.z_mean - self.z_mean, other.rows.mean - self.rows.mean
        return JointMoments(
            self.rows.merged(other.rows),
            self.z_mean + step * (other.rows.size / size),
            self.zz + other.zz + share * np.outer(step, step),
            self.zx + other.zx + share * np.outer(step, row_step),
        )

    def residual_squares(self, slopes: Array) -> Array:
        """Sums of squared deviations of columns after regression on the covariates."""
        explained = 2 * (slopes * self.zx).sum(axis=0) - (slopes * (self.zz @ slopes)).sum(axis=0)
        left = np.asarray(self.rows.squares - explained)
        # What is left of a feature that covariates explain completely is rounding.
        left[left <= EXPLAINED * self.rows.squares] = 0
        return left


Cell = tuple[int, int]
"""Positions of a view and of a batch."""

CellMoments = dict[Cell, JointMoments]
"""Moments by view and batch; those without a row are left out."""


def merged_cells(a: CellMoments, b: CellMoments) -> CellMoments:
    """Moments of both sets of samples."""
    return a | {cell: a[cell].merged(own) if cell in a else own for cell, own in b.items()}


@dataclass(frozen=True, eq=False)
class _CellRows:
    """Some rows of a batch that have a view."""

    cell: Cell
    rows: Array

    @property
    def size(self) -> int:
        return len(self.rows)


def cell_moments(part: MultiViewData, codes: Array, z: Array) -> CellMoments:
    """Moments of the samples of a part by view and batch.

    `codes` are the batches of the samples; those of -1 are left out. `z` are the covariates.
    """
    found: CellMoments = {}
    work = partial(_moments_of, part, z)
    for block, own in map_blocks(work, _cell_rows(part, codes), "batches"):
        found = merged_cells(found, {block.cell: own})
    return found


def _moments_of(part: MultiViewData, z: Array, block: _CellRows) -> JointMoments:
    return JointMoments.of(part.views[block.cell[0]][block.rows], z[block.rows])


def _cell_rows(part: MultiViewData, codes: Array) -> list[_CellRows]:
    order = np.argsort(codes, kind="stable")
    batches, starts = np.unique(codes[order], return_index=True)
    step = part.rows_per_block
    blocks = []
    for batch, members in zip(batches.tolist(), np.split(order, starts[1:]), strict=True):
        for p in range(len(part.views)) if batch >= 0 else ():
            has = members if part.available is None else members[part.available[members, p]]
            blocks += [
                _CellRows((p, batch), has[start : start + step])
                for start in range(0, len(has), step)
            ]
    return blocks
