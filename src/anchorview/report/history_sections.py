"""The sections on how the result came about: convergence, candidates, and how to repeat it."""

import platform
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview.estimators.auto.cluster_number import AS_GOOD
from anchorview.report.charts import curves, heat_map, iteration_numbers
from anchorview.report.fit_facts import Fitted
from anchorview.report.page import Chart, Code, Facts, Part, Section, Table, Text

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Those whose versions may change a result."""


def convergence_section(fit: Fitted) -> Section:
    """Return the objective by iterations."""
    objective = np.asarray(fit.model.objective_, dtype=float)
    steps = iteration_numbers(len(objective), fit.model.n_iter_)
    frame = pd.DataFrame({"Iteration": steps, "Objective": objective})
    chart = Chart(
        curves(steps, {"objective": objective.tolist()}, "Iteration", "Objective"),
        f"The objective by iteration, from {objective[0]:.4g} to {objective[-1]:.4g}.",
        frame,
    )
    whose = " of the best candidate" if fit.is_auto else ""
    text = (
        f"What the method{whose} optimizes, after every iteration: a curve that is flat at its end "
        "has converged."
    )
    return Section("Convergence", [Text(_ending(fit.model)), chart], text)


def _ending(model: Any) -> str:
    """Why the iteration stopped."""
    count = f"{model.n_iter_} iteration{'s' if model.n_iter_ != 1 else ''}"
    most = getattr(model, "max_iter", None)
    if most is None:
        return f"It stopped after {count}."
    if model.n_iter_ >= most:
        return (
            f"It stopped after {count}, the most that max_iter={most} allows; look whether the "
            "curve is flat, and raise max_iter if not."
        )
    tolerance = getattr(model, "tol", None)
    if tolerance is None:
        return f"It stopped by itself after {count} of at most {most}."
    return f"It stopped after {count} of at most {most}: the change fell below tol={tolerance:g}."


def candidate_section(fit: Fitted) -> Section:
    """Return the settings that were tried, and how well they agree."""
    model = fit.model
    table = model.candidates_.reset_index(drop=True).rename_axis(None)
    if (table["error"] == "").all():
        table = table.drop(columns="error")
    table.insert(0, "candidate", np.arange(len(table)))
    table.columns = [str(column).replace("_", " ") for column in table.columns]
    marks = pd.DataFrame("", index=table.index, columns=table.columns)
    marks.loc[model.best_candidate_] = "best"
    agreement = np.asarray(model.agreement_, dtype=float)
    names = [str(number) for number in range(len(agreement))]
    numbers = pd.DataFrame(agreement, columns=names)
    numbers.insert(0, "Candidate", names)
    parts: list[Part] = [
        Table(table, "The candidates; the best, whose partition was the start, is marked.", marks),
        Chart(
            heat_map(
                agreement,
                names,
                names,
                value="Mean adjusted Rand index",
                row="Candidates",
                column="Candidates",
            ),
            "Mean agreement between the partitions of any two candidates; on the diagonal between "
            "those of one, its stability.",
            numbers,
        ),
    ]
    if model.curve_ is not None:
        parts.append(_curve_chart(model.curve_, model.n_clusters_))
    text = (
        "The settings that were fitted without a look at any labels. The result is what they agree "
        "on; agreement is the adjusted Rand index, where 1 is the same and 0 is chance."
    )
    return Section("Candidate settings", parts, text)


def _curve_chart(curve: "pd.Series[float]", chosen: int) -> Chart:
    frame = pd.DataFrame({"Clusters": curve.index, "Agreement": curve.to_numpy()})
    return Chart(
        curves(
            list(curve.index),
            {"agreement": curve.tolist()},
            "Number of clusters",
            "Agreement",
            marked=chosen,
        ),
        f"Agreement between the families of settings by the number of clusters. {chosen} was "
        f"chosen (dashed): the largest number within {AS_GOOD} of the best agreement.",
        frame,
    )


def repeat_section(fit: Fitted, call: str | None) -> Section:
    """Return the exact call, and the versions."""
    parts: list[Part] = [Code(python_call(fit.model))]
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(fit.model.random_state, int | np.integer):
        parts.append(
            Text(
                "The seed was not a fixed number (random_state), so a repeated fit may differ a "
                "little."
            )
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    parts.append(Facts(versions))
    text = "Settings that are not named here have their default values."
    return Section("To repeat it", parts, text)


def python_call(model: Any) -> str:
    """Python that makes the same fit.

    Examples
    --------
    >>> from anchorview import DALMC
    >>> print(python_call(DALMC(n_clusters=3, beta=0.5, random_state=0)))
    from anchorview import DALMC
    <BLANKLINE>
    model = DALMC(n_clusters=3, beta=0.5, random_state=0).fit(views)
    """
    name = type(model).__name__
    home = "anchorview.compared" if ".compared" in type(model).__module__ else "anchorview"
    defaults = {key: value.default for key, value in signature(type(model)).parameters.items()}
    chosen = {key: _plain(getattr(model, key)) for key in defaults}
    settings = ", ".join(
        f"{key}={value!r}"
        for key, value in chosen.items()
        # A generator of random numbers has no short name.
        if repr(value) != repr(defaults[key]) and not isinstance(value, np.random.RandomState)
    )
    return f"from {home} import {name}\n\nmodel = {name}({settings}).fit(views)"


def _plain(value: Any) -> Any:
    """Value of Python's own types for one of NumPy's."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
