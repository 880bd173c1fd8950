"""
DALMC in 60 lines
=================

The whole algorithm in plain NumPy, for complete dense views in memory, with the letters of the
paper: samples are rows, a view is X (n, d). The package gives the same result, for sparse and
incomplete views, on disk and in Dask, and at a cost per iteration that does not grow with n.
"""

# sphinx_gallery_thumbnail_path = "images/plot_convergence.png"
import numpy as np


def polar(M):
    """Nearest matrix with orthonormal columns (rows, if there are fewer of them)."""
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def scaled(X):
    """Standardize columns, normalize rows, and divide by the Frobenius norm."""
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.linalg.norm(X)


def start(views, sizes, n_anchors):
    """Singular vectors H of each view, and what they have in common, S (generalized CCA)."""
    H, weighted = [], []
    for X, m in zip(views, sizes, strict=True):
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        H.append(polar(X @ Vt[:m].T))
        weighted.append(U[:, :m] * np.sqrt(s[:m] ** 2 / (s[:m] ** 2 + 0.01 * s[0] ** 2)))
    return H, np.linalg.svd(np.hstack(weighted), full_matrices=False)[0][:, :n_anchors]


def fitted(views, H, S, beta):
    """Bases Z, anchors A and weights a that are best for H and S, and the objective."""
    Z = [X.T @ h for X, h in zip(views, H, strict=True)]
    A = [polar(h.T @ S) for h in H]
    # The views have norm 1; a hundredth always counts as unexplained.
    r = np.array([1 - np.sum(z**2) for z in Z]) + 0.01
    a = (1 / r) / np.sum(1 / r)
    alignment = sum(np.sum(h * (S @ anchors.T)) for h, anchors in zip(H, A, strict=True))
    return Z, A, a, 0.5 * a**2 @ r - beta * alignment


def dalmc(views, n_clusters, beta=0.1, max_iter=50, tol=1e-4):
    """Minimize sum 1/2 a^2 ||X - H Z'||^2 - beta sum <H, S A'>; returns S and the objectives."""
    views = [scaled(np.asarray(X, dtype=float)) for X in views]
    sizes = [min(2 * n_clusters, np.linalg.matrix_rank(X) // 2) for X in views]
    H, S = start(views, sizes, n_clusters)
    Z, A, a, value = fitted(views, H, S, beta)
    objective = [value]
    for _ in range(max_iter):
        targets = zip(a, views, Z, A, strict=True)
        H = [polar(w**2 * X @ z + beta * S @ anchors.T) for w, X, z, anchors in targets]
        S = polar(sum(h @ anchors for h, anchors in zip(H, A, strict=True)))
        Z, A, a, value = fitted(views, H, S, beta)
        objective.append(value)
        if abs(objective[-2] - value) < tol * abs(value):
            break
    return S, objective


def clusters(S, n_clusters):
    """K-means on the normalized rows, started from rows far from the span of those before."""
    points, rest, chosen = S / np.linalg.norm(S, axis=1, keepdims=True), S.copy(), []
    for _ in range(n_clusters):
        chosen.append(np.argmax(np.sum(rest**2, axis=1)))
        direction = rest[chosen[-1]] / np.linalg.norm(rest[chosen[-1]])
        rest = rest - np.outer(rest @ direction, direction)
    centers, labels, before = points[chosen], None, None
    while before is None or np.any(labels != before):
        distances = np.sum(centers**2, axis=1) - 2 * points @ centers.T
        before, labels = labels, distances.argmin(axis=1)
        centers = np.array([points[labels == j].mean(axis=0) for j in range(n_clusters)])
    return labels


if __name__ == "__main__":
    from anchorview import load_digits
    from anchorview.metrics import clustering_accuracy

    views, y = load_digits(return_X_y=True)
    S, objective = dalmc(list(views.values()), n_clusters=10)
    accuracy = clustering_accuracy(y, clusters(S, n_clusters=10))
    print(f"{len(objective) - 1} iterations to {objective[-1]:.6f}, accuracy {accuracy:.3f}")
