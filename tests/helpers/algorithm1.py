"""Algorithm 1 of the paper, literally: samples in columns, every polar factor a thin SVD.

The letters are those of the paper. Samples that lack view p are the columns that its indicator
``B_p``, a vector of n Booleans, leaves out: the residual counts the others, and these columns are
completed by ``Z_p H_p`` after every iteration. There is no scaling, and no floor of residuals.
"""

import numpy as np
from scipy.linalg import svd


def polar(M):
    U, _, Vt = svd(M, full_matrices=False)
    return U @ Vt


class Algorithm1:
    """State of the algorithm; `views` are (d_p, n) matrices, `B` is (n_views, n)."""

    def __init__(self, views, B, n_components, n_anchors, beta):
        self.beta = beta
        self.B = B
        self.X = [np.where(b, X, 0.0) for X, b in zip(views, B, strict=True)]
        self.observed = [X.copy() for X in self.X]
        self.identity_start(n_components, n_anchors)
        self.update_Z()
        self.update_A()
        self.update_a()

    def identity_start(self, n_components, n_anchors):
        """``H_p = polar(Z_p'X_p)`` and ``S = polar(mean over available views of A_p'H_p)``.

        ``Z_p`` and ``A_p`` are leading blocks of the identity. Columns that a view lacks are then
        predicted by regression on ``S``, and ``H_p`` is computed again.
        """
        blocks = [np.eye(len(X), m) for X, m in zip(self.X, n_components, strict=True)]
        H = [polar(Z.T @ X) for Z, X in zip(blocks, self.X, strict=True)]
        mixed = sum(np.eye(m, n_anchors).T @ h for m, h in zip(n_components, H, strict=True))
        self.S = polar(mixed / self.B.sum(axis=0))
        for X, b in zip(self.X, self.B, strict=True):
            coefficients, *_ = np.linalg.lstsq(self.S[:, b].T, X[:, b].T, rcond=None)
            X[:, ~b] = coefficients.T @ self.S[:, ~b]
        self.H = [polar(Z.T @ X) for Z, X in zip(blocks, self.X, strict=True)]

    def update_H(self):
        for p, X in enumerate(self.X):
            fit, pull = self.Z[p].T @ X, self.A[p] @ self.S
            self.H[p] = polar(self.a[p] ** 2 * fit + self.beta * pull)

    def update_Z(self):
        self.Z = [X @ H.T for X, H in zip(self.X, self.H, strict=True)]
        for X, Z, H, b in zip(self.X, self.Z, self.H, self.B, strict=True):
            X[:, ~b] = Z @ H[:, ~b]

    def update_S(self):
        self.S = polar(sum(A.T @ H for A, H in zip(self.A, self.H, strict=True)))

    def update_A(self):
        self.A = [polar(H @ self.S.T) for H in self.H]

    def update_a(self):
        self.r = np.array(
            [
                np.linalg.norm((X - Z @ H)[:, b]) ** 2
                for X, Z, H, b in zip(self.observed, self.Z, self.H, self.B, strict=True)
            ]
        )
        self.a = (1 / self.r) / np.sum(1 / self.r)

    def iterate(self):
        self.update_H()
        self.update_Z()
        self.update_S()
        self.update_A()
        self.update_a()

    @property
    def objective(self):
        alignment = sum(np.sum(H * (A @ self.S)) for H, A in zip(self.H, self.A, strict=True))
        return 0.5 * self.a**2 @ self.r - self.beta * alignment
