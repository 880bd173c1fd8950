"""Figures of the benchmark page as SVG text, equal for equal numbers on every machine."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

INK, GRID = "#222222", "#DDDDDD"
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13'"
ROW = 20
"""Height of a line of text."""


def _svg(width: int, height: int, title: str, shapes: Iterable[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img' {FONT}>"
    )
    background = f"<rect width='{width}' height='{height}' fill='white'/>"
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *shapes, "</svg>", ""])


def _path(points: Iterable[tuple[float, float]], color: str = INK, width: float = 1.2) -> str:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{text}' fill='none' stroke='{color}' stroke-width='{width}'/>"


def _text(x: float, y: float, text: str, anchor: str = "start", color: str = INK) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{color}'>{escape(text)}</text>"
    )


def rank_figure(
    ranks: Mapping[str, float], difference: float, groups: Sequence[Sequence[str]], title: str
) -> str:
    """Critical-difference picture: mean ranks on an axis, bars join columns that do not differ."""
    names = sorted(ranks, key=lambda name: ranks[name])
    left, right, top = 190, 610, 70
    n = len(names)

    def x(rank: float) -> float:
        return left + (right - left) * (rank - 1) / (n - 1)

    shapes = [_path([(x(1), top), (x(n), top)])]
    for tick in range(1, n + 1, 2):
        shapes += [_path([(x(tick), top - 5), (x(tick), top)])]
        shapes += [_text(x(tick), top - 9, str(tick), "middle")]
    bar = 26
    shapes += [_path([(x(1), bar), (x(1 + difference), bar)], width=2)]
    shapes += [_text(x(1 + difference) + 8, bar + 4, f"critical difference {difference:.2f}")]
    for i, group in enumerate(groups):
        y = top + 12 + 7 * i
        ends = [(x(ranks[group[0]]) - 3, y), (x(ranks[group[-1]]) + 3, y)]
        shapes.append(_path(ends, width=4))
    below = top + 20 + 7 * len(groups)
    half = (n + 1) // 2
    for i, name in enumerate(names):
        is_left = i < half
        y = below + ROW * (i if is_left else n - 1 - i)
        edge = left - 10 if is_left else right + 10
        shapes.append(_path([(x(ranks[name]), top), (x(ranks[name]), y), (edge, y)]))
        label = f"{name} {ranks[name]:.1f}" if is_left else f"{ranks[name]:.1f} {name}"
        offset = -4 if is_left else 4
        shapes.append(_text(edge + offset, y + 4, label, "end" if is_left else "start"))
    return _svg(800, below + ROW * half, title, shapes)


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
        shapes.append(_path([(left, y), (right, y)], GRID, 0.8))
        shapes.append(_text(left - 8, y + 4, f"{10.0**exponent:g}", "end"))
    for tick in sorted({x for x, _ in points}):
        x, _ = place((tick, 10.0**y_low))
        shapes.append(_path([(x, bottom), (x, bottom + 5)]))
        shapes.append(_text(x, bottom + 20, f"{tick:,.0f}", "middle"))
    shapes.append(_path([(left, top), (left, bottom), (right, bottom)]))
    shapes.append(_text((left + right) / 2, bottom + 42, x_label, "middle"))
    shapes.append(_text(left + 6, top - 4, y_label))
    ends = sorted((place(curve[-1]), name) for name, curve in curves.items())
    ends.sort(key=lambda end: end[0][1])
    last = top - ROW
    for (x, y), name in ends:
        color = colors[name]
        shapes.append(_path(map(place, curves[name]), color, 1.8))
        shapes += [
            f"<circle cx='{cx:.1f}' cy='{cy:.1f}' r='2.5' fill='{color}'/>"
            for cx, cy in map(place, curves[name])
        ]
        last = max(y + 4, last + 15)
        shapes.append(_path([(x + 3, y), (right + 12, last - 4)], color, 0.6))
        shapes.append(_text(right + 16, last, name, color=color))
    return _svg(760, bottom + 60, title, shapes)
