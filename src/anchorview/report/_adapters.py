import numpy as np
import pandas as pd


def find(fit):
    from anchorview.report.findings import Findings

    k, n = fit.n_clusters, len(fit.labels)
    frame = pd.DataFrame(index=pd.RangeIndex(k, name="cluster"))
    frame["size"] = fit.sizes
    frame["share"] = fit.sizes / n
    second = conf = reps = markers = None
    if fit.coordinates is not None:
        S = np.asarray(fit.coordinates, float)
        S = S / (np.linalg.norm(S, axis=1, keepdims=True) + 1e-12)
        C = np.array([S[fit.labels == c].mean(0) for c in range(k)])
        d = ((S[:, None] - C[None]) ** 2).sum(2) if n * k * S.shape[1] < 5e7 else np.stack([((S - c) ** 2).sum(1) for c in C], 1)
        own = d[np.arange(n), fit.labels].copy()
        d2 = d.copy()
        d2[np.arange(n), fit.labels] = np.inf
        second = d2.argmin(1)
        W = own.mean()
        m = np.exp(-(d - own[:, None]) / W)
        conf = 1 / m.sum(1) if fit.confidence is None else fit.confidence
        b = np.sqrt(d2.min(1))
        a = np.sqrt(own)
        frame["confidence"] = [conf[fit.labels == c].mean() for c in range(k)]
        D = ((C[:, None] - C[None]) ** 2).sum(2)
        np.fill_diagonal(D, np.inf)
        frame["nearest_cluster"] = D.argmin(1)
        s = (b - a) / np.maximum(a, b)
        frame["separation"] = [s[fit.labels == c].mean() for c in range(k)]
        rows = []
        for c in range(k):
            r = np.flatnonzero(fit.labels == c)
            for i, q in enumerate(r[np.argsort(own[r])[:3]]):
                rows.append((c, i + 1, q))
        reps = pd.DataFrame(rows, columns=["cluster", "rank", "row"])
    if fit.data is not None:
        out = []
        for name, view, feats in zip(fit.data.names, fit.data.views, fit.data.feature_names):
            V = np.nan_to_num(np.asarray(view, float))
            sd = V.std(0) + 1e-12
            tot = V.sum(0)
            for c in range(k):
                i = fit.labels == c
                e = (V[i].mean(0) - (tot - V[i].sum(0)) / (n - i.sum())) / sd
                for rank, f in enumerate(np.argsort(-abs(e))[:3]):
                    out.append((c, name, str(f) if feats is None else feats[f], rank, e[f], V[i][:, f].mean(), 0))
        markers = pd.DataFrame(out, columns="cluster view feature rank effect mean_in mean_out".split())
        for name in fit.data.names:
            frame[f"view:{name}"] = 1 / len(fit.data.names)
    return Findings(frame, markers, reps, conf, second, None)
