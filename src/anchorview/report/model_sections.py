"""The model: number of clusters, convergence, candidate settings, and how to reproduce the fit."""

import platform
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview.estimators.auto.cluster_number import AGREEMENT_TOLERANCE
from anchorview.plotting.charts import HeatMap, Line, LineChart, iteration_numbers
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.findings import Findings
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text
from anchorview.report.verdict import listed

NEARLY_ONE = 0.1
"""Clusters with a smaller separation from the nearest are reported as nearly one with it."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose versions may affect results."""


def number_section(fit: CheckedFit, findings: Findings) -> Section:
    """Return the section on the number of clusters."""
    curve = getattr(fit.model, "curve_", None)
    if curve is None:
        parts: list[Part] = [Text(f"The number of clusters, {fit.n_fitted_clusters}, was given.")]
    else:
        parts = [_cluster_number_chart(curve, fit.n_fitted_clusters)]
    touching = _touching_clusters(fit, findings)
    if touching:
        parts.append(Text(touching))
    return Section("Number of clusters", parts)


def _touching_clusters(fit: CheckedFit, findings: Findings) -> str:
    """Sentence on clusters that are nearly one with their nearest."""
    frame = findings.clusters
    if "separation" not in frame:
        return ""
    close = frame[frame["separation"] < NEARLY_ONE].sort_values("separation")
    if close.empty:
        return f"No cluster has a separation below {NEARLY_ONE}: none is nearly one with another."
    names = fit.cluster_names
    pairs: list[str] = []
    seen: set[frozenset[int]] = set()
    both = zip(close.index.tolist(), close["nearest_cluster"].astype(int).tolist(), strict=True)
    for cluster, nearest in both:
        pair = frozenset((cluster, nearest))
        if pair not in seen:
            seen.add(pair)
            pairs.append(" with ".join(names[c] for c in sorted(pair)))
    return (
        f"Clusters with a separation below {NEARLY_ONE} are nearly one with their nearest: "
        f"{listed(pairs)}. Merge them above if they mean the same to you."
    )


def convergence_parts(fit: CheckedFit) -> list[Part]:
    """Return the objective per iteration."""
    objective = np.asarray(fit.model.objective_, dtype=float)
    iterations = iteration_numbers(len(objective), fit.model.n_iter_)
    whose = " of the best candidate" if fit.is_auto else ""
    chart = Chart(
        LineChart([Line(iterations, objective.tolist())], "Iteration", "Objective"),
        f"Objective{whose} per iteration, from {objective[0]:.4g} to {objective[-1]:.4g}. A curve "
        "that is flat at its end has converged.",
        pd.DataFrame({"Iteration": iterations, "Objective": objective}),
    )
    return [Text(_stopping_reason(fit.model)), chart]


def _stopping_reason(model: Any) -> str:
    stopped = f"Stopped after {model.n_iter_} iteration{'s' if model.n_iter_ != 1 else ''}"
    max_iter = getattr(model, "max_iter", None)
    if max_iter is None:
        return f"{stopped}."
    if model.n_iter_ >= max_iter:
        return f"{stopped}, at max_iter={max_iter}; increase it if the curve is not flat."
    tol = getattr(model, "tol", None)
    if tol is None:
        return f"{stopped} of at most {max_iter}."
    return f"{stopped} of at most {max_iter}: the change fell below tol={tol:g}."


def candidate_parts(fit: CheckedFit) -> list[Part]:
    """Return the candidate settings and the agreement between them."""
    model = fit.model
    table = model.candidates_.reset_index(drop=True).rename_axis(None)
    if (table["error"] == "").all():
        table = table.drop(columns="error")
    table.insert(0, "candidate", np.arange(len(table)))
    table.columns = [str(column).replace("_", " ") for column in table.columns]
    highlight = pd.DataFrame("", index=table.index, columns=table.columns)
    highlight.loc[model.best_candidate_] = "best"
    agreement = np.asarray(model.agreement_, dtype=float)
    names = [str(number) for number in range(len(agreement))]
    numbers = pd.DataFrame(agreement, columns=names)
    numbers.insert(0, "Candidate", names)
    chart = HeatMap(agreement, names, names, "Mean adjusted Rand index", "Candidates", "Candidates")
    parts: list[Part] = [
        Table(table, "The candidates; the best one, the initial partition, is marked.", highlight),
        Chart(
            chart,
            "Mean agreement between the partitions of each pair of candidates; the diagonal has "
            "the agreement between the partitions of one candidate, its stability.",
            numbers,
        ),
    ]
    text = (
        "Settings that were fitted without using any classes. The result is their consensus; "
        "agreement is the adjusted Rand index: 1 for equal partitions, 0 for chance."
    )
    return [Text(text), *parts]


def _cluster_number_chart(curve: "pd.Series[float]", n_clusters: int) -> Chart:
    line = Line(curve.index.tolist(), curve.tolist())
    return Chart(
        LineChart([line], "Number of clusters", "Agreement between families", marked_x=n_clusters),
        "Agreement between the families of settings per number of clusters. The largest number "
        f"within {AGREEMENT_TOLERANCE} of the best agreement was selected: {n_clusters} (dashed).",
        pd.DataFrame({"Clusters": line.x, "Agreement between families": line.y}),
    )


def reproduction_parts(fit: CheckedFit, call: str | None) -> list[Part]:
    """Return the call and the versions of the packages."""
    parts: list[Part] = [
        Text("Parameters that are not given have their default values."),
        Code(python_call(fit.model)),
    ]
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(fit.model.random_state, int | np.integer):
        parts.append(
            Text("random_state was not a fixed number, so another fit may differ slightly.")
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    parts.append(Facts(versions))
    return parts


def python_call(model: Any) -> str:
    """Return Python code that repeats a fit."""
    name = type(model).__name__
    module = "anchorview.compared" if ".compared" in type(model).__module__ else "anchorview"
    settings = []
    for parameter in signature(type(model)).parameters.values():
        value = getattr(model, parameter.name)
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        # A RandomState cannot be written as code.
        if repr(value) != repr(parameter.default) and not isinstance(value, np.random.RandomState):
            settings.append(f"{parameter.name}={value!r}")
    return f"from {module} import {name}\n\nmodel = {name}({', '.join(settings)}).fit(views)"
