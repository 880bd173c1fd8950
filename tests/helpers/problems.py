"""Multi-view problems of every shape, as a hypothesis strategy."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

KINDS = ("plain", "low rank", "duplicate columns", "constant columns", "huge units", "sparse")


@dataclass(repr=False)
class Problem:
    views: list
    n_clusters: int
    kinds: list
    available: np.ndarray | None = None

    def __repr__(self):
        shapes = [
            f"{kind} {v.shape} {v.dtype}" for kind, v in zip(self.kinds, self.views, strict=True)
        ]
        return f"Problem(k={self.n_clusters}, {', '.join(shapes)})"


def make_view(rng, kind, latent, d):
    n = len(latent)
    view = latent @ rng.standard_normal((latent.shape[1], d)) + rng.standard_normal((n, d))
    if kind == "low rank":
        rank = max(1, d // 2)
        view = view[:, :rank] @ rng.standard_normal((rank, d))
    elif kind == "duplicate columns":
        view[:, d // 2 :] = view[:, : d - d // 2]
    elif kind == "constant columns":
        view[:, : d // 2] = rng.standard_normal(d // 2)
    elif kind == "huge units":
        view *= 10.0 ** rng.integers(-8, 9, size=d)
    elif kind == "sparse":
        view[rng.random((n, d)) < 0.6] = 0
    return view


@st.composite
def problems(draw, dtype=np.float64, max_views=4, incomplete=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(2, 5))
    n = draw(st.integers(4 * k, 120))
    n_views = draw(st.integers(2 if incomplete else 1, max_views))
    latent = 3 * rng.standard_normal((k, 6))[rng.integers(k, size=n)]
    views, kinds = [], []
    for _ in range(n_views):
        kind = draw(st.sampled_from(KINDS))
        d = draw(st.integers(4, 160))
        view = make_view(rng, kind, latent, d).astype(dtype)
        views.append(sparse.csr_array(view) if kind == "sparse" else view)
        kinds.append(kind)
    available = None
    if incomplete:
        # Up to 60 patterns of availability; the last few samples have patterns of their own.
        patterns = rng.random((draw(st.integers(1, 60)), n_views)) < draw(st.floats(0.3, 0.9))
        available = patterns[rng.integers(len(patterns), size=n)]
        available[-3:] = rng.random((3, n_views)) < 0.5
        available[np.arange(n), rng.integers(n_views, size=n)] = True
        # Enough samples in every view for its components.
        available[: 2 * k + 2] = True
    return Problem(views, k, kinds, available)
