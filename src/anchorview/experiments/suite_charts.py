"""Charts of the results of suites, one per data set, for figures and for the report page."""

from collections.abc import Sequence
from functools import partial

from anchorview.experiments.jobs import METRICS
from anchorview.experiments.suite_results import (
    Record,
    SuiteResults,
    iterations,
    times_and_accuracies,
)
from anchorview.plotting.charts import BarChart, Line, LineChart, PointChart
from anchorview.plotting.colors import series_color


def accuracy_chart(results: SuiteResults, data: str, contest: str = "") -> BarChart:
    """ACC of all columns of a contest, or of all that are done; oracle columns are hatched."""
    contenders = [
        one
        for one in results.contenders
        if (one.contest == contest if contest else results.done(data, one))
    ]
    records = [results.done(data, one) or {} for one in contenders]
    return BarChart(
        [one.header for one in contenders],
        [100 * record.get("ACC", float("nan")) for record in records],
        "ACC in percent",
        data,
        colors=[series_color(one.name) for one in contenders],
        deviations=[100 * record.get("ACC_deviation", float("nan")) for record in records],
        hatched=[one.contest == "oracle" for one in contenders],
        settings=[record.get("settings", "") for record in records],
        x_max=100,
        number_format="0.00",
    )


def time_chart(runtime: SuiteResults, data: str) -> PointChart:
    """ACC of all columns against the time of a fit."""
    points = times_and_accuracies(runtime, data)
    return PointChart(
        [one.header for one, _, _ in points],
        [seconds for _, seconds, _ in points],
        [accuracy for _, _, accuracy in points],
        [series_color(one.name) for one, _, _ in points],
        "seconds of a fit",
        "ACC in percent",
        data,
    )


def _parameter_chart(results: SuiteResults, data: str, parameter: str, log_x: bool) -> LineChart:
    """All metrics of DALMC against a parameter."""
    lines = [
        _score_line(results.curve(data, one), metric, metric)
        for one in results.contenders
        for metric in METRICS
    ]
    return LineChart(lines, parameter, "percent", data, results.points(data), log_x)


beta_chart = partial(_parameter_chart, parameter="beta", log_x=True)
anchor_chart = partial(_parameter_chart, parameter="number of anchors", log_x=False)


def missing_chart(results: SuiteResults, data: str, metric: str) -> LineChart:
    """A metric of all columns against the percentage of missing entries."""
    lines = [
        _score_line(results.curve(data, one), metric, one.header, x_unit=100)
        for one in results.contenders
    ]
    x_ticks = [100 * point for point in results.points(data)]
    return LineChart(lines, "missing entries in percent", f"{metric} in percent", data, x_ticks)


def convergence_chart(results: SuiteResults, data: str) -> LineChart:
    """Objective per iteration."""
    done = [(one, results.done(data, one)) for one in results.contenders]
    lines = [
        Line(iterations(record), record["objective"], color=series_color(one.name))
        for one, record in done
        if record
    ]
    return LineChart(lines, "iteration", "objective", data)


def _score_line(curve: Sequence[Record], metric: str, name: str, x_unit: float = 1) -> Line:
    return Line(
        [x_unit * record["point"] for record in curve],
        [100 * record[metric] for record in curve],
        name,
        [100 * record[f"{metric}_deviation"] for record in curve],
        series_color(name),
    )
