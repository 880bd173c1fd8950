"""Sums over the chunks of samples given to `partial_fit`, from which their problem is posed."""

from copy import copy, deepcopy
from dataclasses import dataclass, replace

import numpy as np

from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array
from anchorview.core.compress import GroupSummary, Problem, problem_from_summaries
from anchorview.core.scale import ViewScaling, deviation, fit_scalings
from anchorview.core.scaled_view import ScaledBlock
from anchorview.views.container import MultiViewData, RowBlock, concatenate_samples

CHUNK_SCALINGS = ("unit-center", "zscore", "unit", "none")
"""Scalings that are affine in the rows of a chunk. Rows cannot be normalized after a
standardization whose means and deviations change with every chunk."""

KEPT_SAMPLES = 20_000
"""Number of samples, drawn uniformly from all chunks, on which K-means is run."""


@dataclass
class _GroupSums:
    """Number, sum and Gram matrix of the rows with the same available views."""

    size: int
    total: Array
    gram: Array


class RunningSums:
    """Sums over all chunks so far, and a random sample of their rows.

    The means of the first chunk, which is not added yet, are subtracted from all rows before they
    are squared, so that later centering does not cancel digits.
    """

    def __init__(self, first: MultiViewData, scaling: str, seed: int) -> None:
        self.scaling = scaling
        self.shifts = tuple(
            replace(shift, deviation=None) for shift in fit_scalings(first, scaling)
        )
        self.dtype = first.dtype
        self.sums: dict[tuple[int, ...], _GroupSums] = {}
        self.random = np.random.RandomState(seed)
        self.sample = first[:0]
        self.keys = np.empty(0)

    def __len__(self) -> int:
        return sum(sums.size for sums in self.sums.values())

    def with_chunk(self, chunk: MultiViewData) -> "RunningSums":
        """Return the sums including a chunk; these sums stay unchanged, also if it fails."""
        grown = copy(self)
        grown.sums = deepcopy(self.sums)
        grown.random = deepcopy(self.random)
        # The coarsest precision of any chunk is that of the sums.
        grown.dtype = min(self.dtype, chunk.dtype)

        def work(block: RowBlock) -> tuple[Array, Array]:
            shifted = ScaledBlock(chunk, self.shifts, block).toarray()
            return shifted.sum(axis=0, dtype=np.float64), shifted.T @ shifted

        for block, (total, gram) in map_blocks(work, chunk.blocks(), "compressing"):
            nothing = _GroupSums(0, np.zeros_like(total), np.zeros(gram.shape))
            sums = grown.sums.setdefault(block.views, nothing)
            sums.size += block.size
            sums.total += total
            sums.gram += gram
        grown._draw(chunk)
        return grown

    def _draw(self, chunk: MultiViewData) -> None:
        """Keep the samples with the smallest random keys: a uniform sample of all chunks."""
        keys = np.concatenate([self.keys, self.random.random_sample(len(chunk))])
        pool = concatenate_samples(self.sample, chunk)
        if len(keys) > KEPT_SAMPLES:
            kept = np.sort(np.argpartition(keys, KEPT_SAMPLES)[:KEPT_SAMPLES])
            keys, pool = keys[kept], pool[kept]
        self.keys, self.sample = keys, pool

    def problem(self, data: MultiViewData, *, unit_norm: bool) -> Problem:
        """Problem of all chunks together; `data` has the names and widths of the views."""
        widths = data.n_features_per_view
        size = np.zeros(len(widths))
        total = [np.zeros(width) for width in widths]
        squares = [np.zeros(width) for width in widths]
        for views, sums in self.sums.items():
            ends = np.cumsum([widths[p] for p in views])[:-1]
            parts = zip(np.split(sums.total, ends), np.split(np.diag(sums.gram), ends), strict=True)
            for p, (part, square) in zip(views, parts, strict=True):
                size[p] += sums.size
                total[p] += part
                squares[p] += square
        scalings, moves = [], []
        for p, shift in enumerate(self.shifts):
            scaling, move = shift, np.zeros(widths[p])
            if shift.center is not None:
                move = total[p] / size[p]
                center = shift.center + move
                scaling = replace(shift, center=center)
                if not np.isfinite(squares[p]).all():
                    raise ValueError(data.problem("overflow", p))
                if self.scaling == "zscore":
                    spread = np.maximum(squares[p] - size[p] * move**2, 0)
                    scaling = replace(
                        scaling, deviation=deviation(size[p], center, spread, self.dtype)
                    )
            scalings.append(scaling)
            moves.append(move)
        summaries = [
            GroupSummary(views, _moved(sums, views, moves, scalings), True)
            for views, sums in self.sums.items()
        ]
        return problem_from_summaries(
            data, summaries, tuple(scalings), unit_norm=unit_norm, dtype=self.dtype
        )


def _moved(
    sums: _GroupSums, views: tuple[int, ...], moves: list[Array], scalings: list[ViewScaling]
) -> Array:
    """Gram matrix after subtracting `moves` from the rows and dividing by deviations."""
    move = np.concatenate([moves[p] for p in views])
    cross = np.outer(sums.total, move)
    gram = sums.gram - cross - cross.T + sums.size * np.outer(move, move)
    divisors = [
        np.ones(len(moves[p])) if (spread := scalings[p].deviation) is None else spread
        for p in views
    ]
    divisor = np.concatenate(divisors)
    return gram / divisor / divisor[:, None]
