"""Views with planted batches, and a plain correction in memory to compare with."""

import numpy as np
from sklearn.linear_model import LinearRegression


def planted_batches(n=400, *, k=5, n_batches=4, widths=(30, 20, 12), lacking=True, seed=0):
    """Views (a dict) in which each batch has its shift and scale, the types, and the batches.

    With `lacking`, two batches lack a view.
    """
    rng = np.random.default_rng(seed)
    types, batch = rng.integers(k, size=n), rng.integers(n_batches, size=n)
    views = {}
    for p, d in enumerate(widths):
        centers = 3 * rng.normal(size=(k, d))
        shift = 12 * rng.normal(size=(n_batches, d))
        scale = np.exp(rng.normal(size=(n_batches, d)) / 2)
        rows = centers[types] + rng.normal(size=(n, d))
        views[f"view_{p}"] = rows * scale[batch] + shift[batch]
    if lacking:
        views["view_1"][batch == 3] = np.nan
        views["view_2"][batch == 0] = np.nan
    return views, types, batch


def corrected(views, batch, covariates=None, *, scale=True):
    """Views without batches and covariates, by regressions of scikit-learn on all rows."""
    return {name: _corrected(view, batch, covariates, scale)[0] for name, view in views.items()}


def centered_on_itself(views, reference, batch, *, scale=True):
    """Rows of one new batch with the means and deviations of corrected reference views."""
    found = {}
    for name, view in views.items():
        _, mean, deviation = _corrected(reference[name], batch, None, scale)
        has = ~np.isnan(view).all(axis=1)
        rows = view - view[has].mean(axis=0)
        found[name] = rows / view[has].std(axis=0) * deviation + mean if scale else rows + mean
    return found


def _corrected(view, batch, covariates, scale):
    batch = np.asarray(batch)
    has = ~np.isnan(view).all(axis=1)
    dummies = (batch[has, None] == np.unique(batch[has])).astype(float)
    z = np.empty((len(view), 0)) if covariates is None else np.asarray(covariates, float)
    z = z.reshape(len(view), -1)[has]
    design = np.hstack([dummies, z - z.mean(axis=0)])
    rest = view[has] - LinearRegression(fit_intercept=False).fit(design, view[has]).predict(design)
    mean, deviation = view[has].mean(axis=0), np.sqrt((rest**2).mean(axis=0))
    if scale:
        for own in np.unique(batch[has]):
            rows = batch[has] == own
            rest[rows] *= deviation / rest[rows].std(axis=0)
    found = np.full_like(view, np.nan)
    found[has] = rest + mean
    return found, mean, deviation
