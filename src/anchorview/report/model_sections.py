"""Sections on the model: convergence, candidate settings, and how to reproduce the fit."""

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
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose versions may affect results."""


def convergence_section(fit: CheckedFit) -> Section:
    """Return the section with the objective per iteration."""
    objective = np.asarray(fit.model.objective_, dtype=float)
    iterations = iteration_numbers(len(objective), fit.model.n_iter_)
    chart = Chart(
        LineChart([Line(iterations, objective.tolist())], "Iteration", "Objective"),
        f"Objective per iteration, from {objective[0]:.4g} to {objective[-1]:.4g}.",
        pd.DataFrame({"Iteration": iterations, "Objective": objective}),
    )
    whose = " of the best candidate" if fit.is_auto else ""
    text = (
        f"Objective of the method{whose} after every iteration; a curve that is flat at its end "
        "has converged."
    )
    return Section("Convergence", [Text(_stopping_reason(fit.model)), chart], text)


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


def candidate_section(fit: CheckedFit) -> Section:
    """Return the section with the candidate settings and their agreement."""
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
    if model.curve_ is not None:
        parts.append(_cluster_number_chart(model.curve_, model.n_clusters_))
    text = (
        "Settings that were fitted without using any classes. The result is their consensus; "
        "agreement is the adjusted Rand index: 1 for equal partitions, 0 for chance."
    )
    return Section("Candidate settings", parts, text)


def _cluster_number_chart(curve: "pd.Series[float]", n_clusters: int) -> Chart:
    line = Line(curve.index.tolist(), curve.tolist())
    return Chart(
        LineChart([line], "Number of clusters", "Agreement", marked_x=n_clusters),
        "Agreement between the families of settings per number of clusters. The largest number "
        f"within {AGREEMENT_TOLERANCE} of the best agreement was selected: {n_clusters} (dashed).",
        pd.DataFrame({"Clusters": line.x, "Agreement": line.y}),
    )


def reproduction_section(fit: CheckedFit, call: str | None) -> Section:
    """Return the section with the call and the versions of the packages."""
    parts: list[Part] = [Code(python_call(fit.model))]
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(fit.model.random_state, int | np.integer):
        parts.append(
            Text("random_state was not a fixed number, so another fit may differ slightly.")
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    parts.append(Facts(versions))
    text = "Parameters that are not given have their default values."
    return Section("How to reproduce", parts, text)


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
