"""Sums over the chunks of samples given to `partial_fit`, from which their problem is posed."""

from copy import copy, deepcopy

import numpy as np

from anchorview._utils.moments import CrossMoments, Moments
from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array
from anchorview.core.compress import GroupSummary, Problem, problem_from_summaries
from anchorview.core.scale import ViewMoments, ViewScaling, merged_by_key, scalings_of
from anchorview.core.scaled_view import ScaledBlock
from anchorview.views.container import MultiViewData, RowBlock, concatenate_samples

CHUNK_SCALINGS = ("unit-center", "zscore", "unit", "none")
"""Scalings that are affine in the rows of a chunk. Rows cannot be normalized after a
standardization by means and deviations that change with every chunk."""

KEPT_SAMPLES = 20_000
"""Number of samples, drawn uniformly from all chunks, on which K-means is run."""


class RunningSums:
    """Moments of all chunks so far by the views that samples have, and a random sample of rows."""

    def __init__(self, first: MultiViewData, scaling: str, seed: int) -> None:
        self.scaling = scaling
        self.dtype = first.dtype
        self.moments: dict[tuple[int, ...], CrossMoments] = {}
        self.random = np.random.RandomState(seed)
        self.sample = first[:0]
        self.keys = np.empty(0)

    def __len__(self) -> int:
        return sum(int(moments.weight) for moments in self.moments.values())

    def with_chunk(self, chunk: MultiViewData) -> "RunningSums":
        """Return the sums including a chunk; these sums stay unchanged, also if it fails."""
        grown = copy(self)
        grown.random = deepcopy(self.random)
        # The coarsest precision of any chunk is that of the sums.
        grown.dtype = min(self.dtype, chunk.dtype)
        plain = ViewScaling(unit_first=self.scaling in ("unit", "unit-center"))
        scalings = (plain,) * len(chunk.views)

        def work(block: RowBlock) -> CrossMoments:
            rows = ScaledBlock(chunk, scalings, block).toarray()
            mean = rows.mean(axis=0, dtype=np.float64)
            rows -= mean.astype(rows.dtype)
            with np.errstate(over="ignore", invalid="ignore"):
                return CrossMoments(len(rows), mean, mean, (rows.T @ rows).astype(np.float64))

        for block, moments in map_blocks(work, chunk.blocks(), "compressing"):
            grown.moments = merged_by_key(grown.moments, {block.views: moments})
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
        by_view: ViewMoments = {}
        for views, joint in self.moments.items():
            ends = np.cumsum([widths[p] for p in views])[:-1]
            pairs = np.split(joint.left, ends), np.split(np.diag(joint.products), ends)
            parts = zip(views, *pairs, strict=True)
            known = {p: Moments(joint.weight, mean, squares) for p, mean, squares in parts}
            by_view = merged_by_key(by_view, known)
        scalings = scalings_of(data, self.scaling, by_view, self.dtype)
        summaries = [
            GroupSummary(
                views, _scaled_gram(joint, [(widths[p], scalings[p]) for p in views]), True
            )
            for views, joint in self.moments.items()
        ]
        return problem_from_summaries(
            data, summaries, scalings, unit_norm=unit_norm, dtype=self.dtype
        )


def _scaled_gram(joint: CrossMoments, views: list[tuple[int, ViewScaling]]) -> Array:
    """Gram matrix of rows that are centered and divided by deviations, by width and scaling."""
    centers = [np.zeros(d) if of.center is None else of.center for d, of in views]
    divisors = [np.ones(d) if of.deviation is None else of.deviation for d, of in views]
    move, divisor = joint.left - np.concatenate(centers), np.concatenate(divisors)
    gram = joint.products + np.outer(joint.weight * move, move)
    return np.asarray(gram / divisor / divisor[:, None])
