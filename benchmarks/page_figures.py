"""Figures of the benchmark page as SVG text, equal for equal numbers on every machine."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

ROW, INK, GRID = 20, "#222222", "#DDDDDD"
"""Height of a line of text, and colors of text and grid."""


def curve_figure(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    colors: Mapping[str, str],
    x_label: str,
    y_label: str,
    title: str,
) -> str:
    """Curves on logarithmic axes, labeled at their ends."""
    points = [point for curve in curves.values() for point in curve]
    x_low, x_high = (log10(f(x for x, _ in points)) for f in (min, max))
    y_low, y_high = (log10(f(y for _, y in points)) for f in (min, max))
    y_low, y_high = floor(y_low), ceil(y_high)
    left, right, top, bottom = 60, 600, 20, 400

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = map(log10, point)
        return (
            left + (right - left) * (x - x_low) / (x_high - x_low),
            bottom - (bottom - top) * (y - y_low) / (y_high - y_low),
        )

    shapes = []
    for exponent in range(y_low, y_high + 1):
        _, y = place((10**x_low, 10.0**exponent))
        shapes.append(svg_path([(left, y), (right, y)], GRID, 0.8))
        shapes.append(svg_text(left - 8, y + 4, f"{10.0**exponent:g}", "end"))
    for tick in sorted({x for x, _ in points}):
        x, _ = place((tick, 10.0**y_low))
        shapes.append(svg_path([(x, bottom), (x, bottom + 5)]))
        shapes.append(svg_text(x, bottom + 20, f"{tick:,.0f}", "middle"))
    shapes.append(svg_path([(left, top), (left, bottom), (right, bottom)]))
    shapes.append(svg_text((left + right) / 2, bottom + 42, x_label, "middle"))
    shapes.append(svg_text(left + 6, top - 4, y_label))
    ends = sorted((place(curve[-1]), name) for name, curve in curves.items())
    ends.sort(key=lambda end: end[0][1])
    last = top - ROW
    for (x, y), name in ends:
        color = colors[name]
        shapes.append(svg_path(map(place, curves[name]), color, 1.8))
        shapes += [
            f"<circle cx='{cx:.1f}' cy='{cy:.1f}' r='2.5' fill='{color}'/>"
            for cx, cy in map(place, curves[name])
        ]
        last = max(y + 4, last + 15)
        shapes.append(svg_path([(x + 3, y), (right + 12, last - 4)], color, 0.6))
        shapes.append(svg_text(right + 16, last, name, color=color))
    return svg(760, bottom + 60, title, shapes)


def svg(width: int, height: int, title: str, shapes: Iterable[str]) -> str:
    """Picture of shapes on white."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img' "
        "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13'>"
    )
    background = f"<rect width='{width}' height='{height}' fill='white'/>"
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *shapes, "</svg>", ""])


def svg_path(points: Iterable[tuple[float, float]], color: str = INK, width: float = 1.2) -> str:
    """Line through points."""
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{text}' fill='none' stroke='{color}' stroke-width='{width}'/>"


def svg_text(x: float, y: float, text: str, anchor: str = "start", color: str = INK) -> str:
    """Text at a point."""
    where = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {where} fill='{color}'>{escape(text)}</text>"
