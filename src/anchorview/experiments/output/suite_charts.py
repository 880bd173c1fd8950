"""Interactive charts of a suite's results, one a data set, in the style of the reports."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from anchorview.experiments.output.method_colors import color
from anchorview.experiments.plan.jobs import METRICS
from anchorview.experiments.results.suite_results import (
    Record,
    SuiteResults,
    iterations,
    times_and_accuracies,
)
from anchorview.report.charts import BAR_HEIGHT, add_hover, axis_names, blank, models
from anchorview.report.page import Chart

_ERROR = "#808080"
"""Lines of deviations, seen on light and dark pages and on the bars."""

_DASHES = ("solid", "dashed", "dotted", "dotdash", "dashdot")


def accuracy_chart(results: SuiteResults, data: str) -> Chart | None:
    """Bars of ACC with deviations; those of oracle columns are hatched."""
    done = [(one, record) for one in results.contenders if (record := results.done(data, one))]
    if not done:
        return None
    names = axis_names([one.header for one, _ in done])
    columns = {
        "name": names,
        "mean": [100 * record["ACC"] for _, record in done],
        "deviation": [100 * record["ACC_deviation"] for _, record in done],
        "settings": [axis_names([record["settings"]])[0] for _, record in done],
        "color": [color(one.name) for one, _ in done],
        "hatch": ["/" if one.mode == "oracle" else " " for one, _ in done],
    }
    columns["low"] = _sums(columns, -1)
    columns["high"] = _sums(columns, 1)
    figure = _titled(70 + BAR_HEIGHT * len(names), data, y_range=names[::-1], x_range=(0, 101))
    source = models().ColumnDataSource(columns)
    bars = figure.hbar(
        y="name",
        right="mean",
        height=0.7,
        fill_color="color",
        line_color=None,
        hatch_pattern="hatch",
        hatch_color="white",
        hatch_alpha=0.6,
        source=source,
    )
    figure.segment("low", "name", "high", "name", color=_ERROR, line_width=2, source=source)
    figure.xaxis.axis_label = "ACC in percent"
    figure.ygrid.visible = False
    tips = {"": "@name", "ACC": "@mean{0.00} ± @deviation{0.00}", "settings": "@settings"}
    add_hover(figure, tips, [bars])
    numbers = pd.DataFrame(
        {
            "Method": [one.header for one, _ in done],
            "ACC, %": columns["mean"],
            "Deviation": columns["deviation"],
            "Settings": [record["settings"] for _, record in done],
        }
    )
    description = f"{data}: ACC of {len(done)} columns with the deviation of their runs."
    honest = [(record["ACC"], one.header) for one, record in done if one.mode != "oracle"]
    if honest:
        best, name = max(honest)
        description += f" Best without the help of labels: {name}, {100 * best:.1f} %."
    if len(honest) < len(done):
        description += " Hatched: oracle, settings chosen with the labels."
    return Chart(figure, description, numbers)


def _sums(columns: dict[str, list[Any]], sign: int) -> list[float]:
    pairs = zip(columns["mean"], columns["deviation"], strict=True)
    return [mean + sign * deviation for mean, deviation in pairs]


def metric_chart(
    results: SuiteResults, data: str, what: str, logarithmic: bool = False
) -> Chart | None:
    """All metrics of DALMC against a setting."""
    curve = results.curve(data, results.contenders[0])
    if not curve:
        return None
    figure = _titled(320, data, x_axis_type="log" if logarithmic else "linear")
    _name_points(figure, [record["point"] for record in curve])
    drawn = [_line(figure, curve, metric, metric, dash) for metric, dash in _dashed(METRICS)]
    _finish_lines(figure, drawn, what, "percent")
    numbers = {what: [record["point"] for record in curve]} | {
        f"{metric}, %": [100 * record[metric] for record in curve] for metric in METRICS
    }
    spread = [100 * record["ACC"] for record in curve]
    description = (
        f"{data}: five scores of DALMC against {what}; ACC is between {min(spread):.1f} and "
        f"{max(spread):.1f} %. Bands are one deviation of the runs."
    )
    return Chart(figure, description, pd.DataFrame(numbers))


def missing_chart(results: SuiteResults, data: str, metric: str) -> Chart | None:
    """A metric of all columns against the share of missing entries."""
    curves = {one: results.curve(data, one) for one in results.contenders}
    curves = {one: curve for one, curve in curves.items() if curve}
    if not curves:
        return None
    figure = _titled(320, data)
    _name_points(figure, results.points(data))
    drawn = [
        _line(figure, curves[one], metric, one.header, dash) for one, dash in _dashed(list(curves))
    ]
    _finish_lines(figure, drawn, "share of missing entries", f"{metric} in percent")
    numbers = pd.DataFrame(
        {
            one.header: {record["point"]: 100 * record[metric] for record in curve}
            for one, curve in curves.items()
        }
    )
    numbers = numbers.sort_index().rename_axis("Missing").reset_index()
    ends = "; ".join(
        f"{one.header} from {100 * curve[0][metric]:.1f} to {100 * curve[-1][metric]:.1f} %"
        for one, curve in curves.items()
    )
    return Chart(figure, f"{data}: {metric} as more entries are missing. {ends}.", numbers)


def convergence_chart(results: SuiteResults, data: str) -> Chart | None:
    """Objective against iterations."""
    record = results.done(data, results.contenders[0])
    if record is None or not record["objective"]:
        return None
    objective = list(record["objective"])
    figure = _titled(280, data)
    source = models().ColumnDataSource({"x": iterations(record), "y": objective})
    shade = color("DALMC")
    figure.line("x", "y", color=shade, line_width=2, source=source)
    drawn = figure.scatter("x", "y", color=shade, size=7, source=source)
    figure.xaxis.axis_label, figure.yaxis.axis_label = "iteration", "objective"
    add_hover(figure, {"iteration": "@x", "objective": "@y{0.000000}"}, [drawn])
    description = (
        f"{data}: the objective of DALMC, from {objective[0]:.4g} to {objective[-1]:.4g} in "
        f"{record['n_iter']:.0f} iterations."
    )
    numbers = pd.DataFrame({"Iteration": iterations(record), "Objective": objective})
    return Chart(figure, description, numbers)


def time_chart(runtime: SuiteResults, data: str) -> Chart | None:
    """Time of a fit against ACC, methods by name."""
    points = times_and_accuracies(runtime, data)
    if not points:
        return None
    times = [seconds for _, seconds, _ in points]
    columns = {
        "name": axis_names([one.header for one, _, _ in points]),
        "seconds": times,
        "accuracy": [accuracy for _, _, accuracy in points],
        "color": [color(one.name) for one, _, _ in points],
    }
    source = models().ColumnDataSource(columns)
    room = (min(times) / 2, 5 * max(times))
    figure = _titled(380, data, x_axis_type="log", x_range=room)
    drawn = figure.scatter("seconds", "accuracy", color="color", size=11, source=source)
    figure.text(
        "seconds",
        "accuracy",
        "name",
        x_offset=9,
        text_baseline="middle",
        text_font_size="12px",
        text_font={"value": "system-ui, sans-serif"},
        source=source,
    )
    figure.xaxis.axis_label, figure.yaxis.axis_label = "seconds of a fit", "ACC in percent"
    add_hover(
        figure, {"": "@name", "seconds": "@seconds{0.000}", "ACC": "@accuracy{0.00}"}, [drawn]
    )
    fastest = min(points, key=lambda point: point[1])
    description = (
        f"{data}: ACC against the time of a fit; up and left is better. Fastest: "
        f"{fastest[0].header}, {fastest[1]:.3g} s; most accurate: {points[-1][0].header}, "
        f"{points[-1][2]:.1f} %."
    )
    numbers = pd.DataFrame(
        [(one.header, seconds, accuracy) for one, seconds, accuracy in points],
        columns=["Method", "Seconds", "ACC, %"],
    )
    return Chart(figure, description, numbers)


def _titled(height: int, data: str, **options: Any) -> Any:
    figure = blank(height, title=axis_names([data])[0], **options)
    figure.title.text_font = "system-ui, sans-serif"
    return figure


def _dashed(names: Sequence[Any]) -> list[tuple[Any, str]]:
    """Names with dashes, which tell lines apart where colors do not."""
    return [(name, _DASHES[number % len(_DASHES)]) for number, name in enumerate(names)]


def _line(figure: Any, curve: Sequence[Record], metric: str, name: str, dash: str) -> Any:
    """Draw a metric in percent with a band of one deviation; what the pointer can be over."""
    columns = {
        "x": [record["point"] for record in curve],
        "mean": [100 * record[metric] for record in curve],
        "deviation": [100 * record[f"{metric}_deviation"] for record in curve],
        "name": [name] * len(curve),
    }
    columns["low"] = _sums(columns, -1)
    columns["high"] = _sums(columns, 1)
    source = models().ColumnDataSource(columns)
    shade = {"color": color(name), "legend_label": name}
    figure.varea(x="x", y1="low", y2="high", source=source, fill_alpha=0.15, **shade)
    figure.line("x", "mean", line_width=2, line_dash=dash, source=source, **shade)
    return figure.scatter("x", "mean", size=7, source=source, **shade)


def _name_points(figure: Any, points: Sequence[float]) -> None:
    """Put the ticks where the points are."""
    figure.xaxis.ticker = models().FixedTicker(ticks=list(points))
    figure.xaxis.major_label_overrides = {point: f"{point:g}" for point in points}


def _finish_lines(figure: Any, drawn: Sequence[Any], x_label: str, y_label: str) -> None:
    figure.xaxis.axis_label, figure.yaxis.axis_label = x_label, y_label
    tips = {"": "@name", x_label: "@x{0.[0000]}", y_label: "@mean{0.00} ± @deviation{0.00}"}
    add_hover(figure, tips, drawn)
    figure.legend.click_policy = "hide"
    figure.legend.border_line_alpha = 0
    figure.legend.background_fill_alpha = 0.8
    figure.legend.orientation = "horizontal"
    figure.legend.location = "center"
    figure.add_layout(figure.legend[0], "below")
