"""The model: convergence, candidate settings, and how to reproduce the fit."""

import platform
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview.plotting.charts import HeatMap, Line, LineChart
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.page import Chart, Code, Facts, Part, Table, Text

MAX_DRAWN_CANDIDATES = 30
"""Number of candidates up to which the agreement of each pair is drawn."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose versions may affect results."""


def convergence_parts(fit: CheckedFit) -> list[Part]:
    """Return the objective per iteration; nothing for models without one."""
    if not hasattr(fit.model, "objective_"):
        return []
    objective = np.asarray(fit.model.objective_, dtype=float)
    iterations = list(range(1, len(objective) + 1))
    whose = " of the best candidate" if fit.is_auto else ""
    chart = Chart(
        LineChart([Line(iterations, objective.tolist())], "Iteration", "Objective"),
        f"Objective{whose} per iteration, from {objective[0]:.4g} to {objective[-1]:.4g}. A curve "
        "that is flat at its end has converged.",
        pd.DataFrame({"Iteration": iterations, "Objective": objective}),
    )
    return [Text(_stopping_reason(fit.model, len(objective))), chart]


def _stopping_reason(model: Any, n_values: int) -> str:
    n_iter = getattr(model, "n_iter_", n_values)
    stopped = f"Stopped after {n_iter} iteration{'s' if n_iter != 1 else ''}"
    max_iter = getattr(model, "max_iter", None)
    if max_iter is None:
        return f"{stopped}."
    if n_iter >= max_iter:
        return f"{stopped}, at max_iter={max_iter}; increase it if the curve is not flat."
    tol = getattr(model, "tol", None)
    if tol is None:
        return f"{stopped} of at most {max_iter}."
    return f"{stopped} of at most {max_iter}: the change fell below tol={tol:g}."


def candidate_parts(fit: CheckedFit) -> list[Part]:
    """Return the candidate settings of AutoDALMC and the agreement between them."""
    if not fit.is_auto:
        return []
    model = fit.model
    table = model.candidates_.reset_index(drop=True).rename_axis(None)
    if (table["error"] == "").all():
        table = table.drop(columns="error")
    table.insert(0, "candidate", np.arange(len(table)))
    table.columns = [str(column).replace("_", " ") for column in table.columns]
    highlight = pd.DataFrame("", index=table.index, columns=table.columns)
    highlight.loc[model.best_candidate_] = "best"
    parts: list[Part] = [
        Table(table, "The candidates; the best one that has an embedding is marked.", highlight),
        _agreement_chart(model),
    ]
    text = (
        "Settings that were fitted without using any classes. The result is their consensus; "
        "agreement is the adjusted Rand index: 1 for equal partitions, 0 for chance."
    )
    return [Text(text), *parts]


def _agreement_chart(model: Any) -> Chart:
    """Return the agreement between candidates or, if there are many, between their families."""
    agreement = pd.DataFrame(np.asarray(model.agreement_, dtype=float))
    what, plural = "Candidate", "candidates"
    diagonal = "the partitions of one candidate, its stability"
    names = [str(number) for number in agreement.index]
    if len(agreement) > MAX_DRAWN_CANDIDATES:
        what, plural, diagonal = "Family", "families", "the partitions of one family"
        fitted = model.candidates_.iloc[: len(agreement)]
        families = (fitted["kind"] + ", " + fitted["scaling"]).to_numpy()
        agreement = agreement.groupby(families, sort=False).mean()
        agreement = agreement.T.groupby(families, sort=False).mean().T
        names = agreement.index.tolist()
    values = agreement.to_numpy()
    numbers = pd.DataFrame(values, columns=names)
    numbers.insert(0, what, names)
    return Chart(
        HeatMap(values, names, names, "Mean adjusted Rand index", what, what),
        f"Mean agreement between the partitions of each pair of {plural}; the diagonal has "
        f"the agreement between {diagonal}.",
        numbers,
    )


def reproduction_parts(fit: CheckedFit, call: str | None) -> list[Part]:
    """Return the call and the versions of the packages."""
    parts: list[Part] = []
    if hasattr(fit.model, "get_params"):
        parts += [
            Text("Parameters that are not given have their default values."),
            Code(python_call(fit.model)),
        ]
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(getattr(fit.model, "random_state", 0), int | np.integer):
        parts.append(
            Text("random_state was not a fixed number, so another fit may differ slightly.")
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    parts.append(Facts(versions))
    return parts


def python_call(model: Any) -> str:
    """Return Python code that repeats a fit."""
    name, module = type(model).__name__, type(model).__module__
    package = module.partition(".")[0]
    if package == "anchorview":
        module = "anchorview.compared" if ".compared" in module else "anchorview"
    elif "._" in module:
        # scikit-learn and others export the classes of private modules in their packages.
        module = module[: module.index("._")]
    values, settings = model.get_params(deep=False), []
    for parameter in signature(type(model)).parameters.values():
        value = values.get(parameter.name, parameter.default)
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        # A RandomState cannot be written as code.
        if repr(value) != repr(parameter.default) and not isinstance(value, np.random.RandomState):
            settings.append(f"{parameter.name}={value!r}")
    code = f"model = {name}({', '.join(settings)}).fit(views)"
    return code if module == "__main__" else f"from {module} import {name}\n\n{code}"
