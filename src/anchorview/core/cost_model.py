"""The cost model: which route to solve on, by counts of operations and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anchorview._utils.linalg import DENSE_PART, DENSE_SPECTRUM, is_sparse
from anchorview._utils.memory import free_memory, memory_budget, require_memory
from anchorview._utils.text import format_bytes
from anchorview._utils.threads import max_pending_results
from anchorview.core.compress import EXACT_ROUTES, WIDE_GRAM, Route
from anchorview.views.row_source import LARGEST_BLOCK, RowSource

TYPICAL_ITERATIONS = 20
"""Number of iterations that most data need; the paper reports fewer than 20."""

SKINNY_PRODUCT = 4
"""Cost of an operation in a product with few columns, relative to a square product. A rough figure
from products on two cores, only used to choose between routes."""

SPARSE_PRODUCT = 40
"""The same for a sparse matrix times few columns."""

WIDE = 512
"""Minimum number of features of a view that is truncated."""

MIN_DIRECTIONS, DIRECTIONS_PER_COMPONENT = 32, 2
"""Number of directions of a view: the second number times its components, at least the first."""

OVERSAMPLING = 16
"""Number of further directions. They also tell how large what is left out can be."""

POWER_STEPS = 3
"""Number of steps by which the directions are found."""

DENSE_TRUNCATION = 2 * (2 * POWER_STEPS + 1)
"""Operations per entry of a dense view and direction to truncate it."""

LONG_WORK, TRUNCATION_GAIN = 1e12, 3.0
"""Wide views are truncated if the cheapest exact route takes at least the first number of
operations, some seconds on two cores, and at least this many times those of the truncated one."""


@dataclass(frozen=True)
class Truncation:
    """What was left out of the views."""

    n_directions: tuple[int, ...]
    """Number of directions of each view; that of its features if it was not truncated."""
    left_out: tuple[float, ...]
    """Share of the squared norm of each view that was left out."""
    bound: float
    """Maximum change of the objective."""
    tolerance: float
    """The bound up to which directions were added."""

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.1%}" for share in self.left_out)
        reached = "below" if self.bound <= self.tolerance else "not below"
        return (
            f"{list(self.n_directions)} directions, {shares} of the squared norms left out, which "
            f"changes the objective by at most {self.bound:.2g} ({reached} the tolerance of "
            f"{self.tolerance:.2g})"
        )


@dataclass(frozen=True)
class Plan:
    """The chosen route and the cost of each."""

    route: Route
    work: dict[Route, float]
    """Floating-point operations, weighted by the speed of their kind."""
    memory: dict[Route, float]
    """Bytes beyond the data."""
    truncation: Truncation | None = None
    """What the route "truncated" left out of the views."""

    def __str__(self) -> str:
        costs = ", ".join(
            f"{route}: {self.work[route]:.1e} operations and {format_bytes(self.memory[route])}"
            for route in self.work
        )
        reason = ""
        exact = [self.work[route] for route in EXACT_ROUTES if route in self.work]
        if self.route == "truncated" and exact:
            ratio = min(exact) / self.work["truncated"]
            reason = f"; wide views are truncated, as exact solvers take {ratio:.1f} times as long"
        left_out = "" if self.truncation is None else f"; {self.truncation}"
        return f"solver '{self.route}' of {costs}{reason}{left_out}"


def plan(
    source: RowSource,
    routes: Sequence[Route],
    n_components: Sequence[int],
    n_anchors: int,
    max_iter: int,
    memory_limit: float | str | None,
) -> Plan:
    """Choose the cheapest of the routes that fits into memory; raise if none does.

    Of rows in parts, the memory is that of the products of a part: the source adds the rest.
    """
    shape = FitShape.of(source, n_components, n_anchors, max_iter)
    if source.in_parts:
        routes = [route for route in ("compressed", "truncated") if route in routes]
        work = {route: _work(shape, route) for route in routes}
        products = {route: _product_memory(shape, route) for route in routes}
        return Plan(_chosen(routes, work, products), work, products)
    # Read once: a second reading could allow what the first one did not.
    allowed = free_memory()
    if memory_limit is not None:
        allowed = min(allowed, memory_budget(memory_limit))
    if len(routes) > 1 and max(shape.widths) <= shape.n:
        routes = [route for route in routes if route != "left"]
    work = {route: _work(shape, route) for route in routes}
    memory = {route: fit_memory(shape, route) for route in routes}
    feasible = [route for route in routes if memory[route] <= allowed]
    if not feasible:
        smallest = min(routes, key=memory.__getitem__)
        require_memory(
            memory[smallest],
            f"Clustering {source!r} with solver='{smallest}'",
            "Reduce the number of features or of samples, or pass float32 data.",
            allowed,
        )
    return Plan(_chosen(feasible, work, memory), work, memory)


def _chosen(
    feasible: Sequence[Route], work: dict[Route, float], memory: dict[Route, float]
) -> Route:
    """Cheapest exact route, unless it takes long and the truncated one much less."""
    exact = [route for route in feasible if route != "truncated"]
    if not exact:
        return "truncated"
    best = min(exact, key=lambda route: (work[route], memory[route]))
    if "truncated" not in feasible or work[best] < LONG_WORK:
        return best
    return "truncated" if TRUNCATION_GAIN * work["truncated"] < work[best] else best


@dataclass(frozen=True)
class FitShape:
    """All that operations and memory of a fit depend on."""

    n: int
    widths: tuple[int, ...]
    entries: tuple[int | None, ...]
    """Number of stored entries of each sparse view; None for dense ones."""
    groups: tuple[tuple[int, int], ...]
    """Numbers of samples and features of each group of samples with the same views."""
    itemsize: int
    components: tuple[int, ...]
    directions: Mapping[int, int]
    """Number of directions of each view that can be truncated, by position."""
    n_anchors: int
    iterations: int

    @classmethod
    def of(
        cls, source: RowSource, n_components: Sequence[int], n_anchors: int, max_iter: int
    ) -> "FitShape":
        """Shape of a fit; rows that are read in parts count as dense, and none as missing."""
        widths = source.n_features_per_view
        entries: tuple[int | None, ...] = (None,) * len(widths)
        groups: tuple[tuple[int, int], ...] = (source.shape,)
        if not source.in_parts:
            data = source.read()
            entries = tuple(int(view.nnz) if is_sparse(view) else None for view in data.views)
            groups = tuple((g.size, sum(widths[p] for p in g.views)) for g in data.groups)
        return cls(
            len(source),
            widths,
            entries,
            groups,
            source.dtype.itemsize,
            tuple(n_components),
            directions_per_view(source, n_components),
            n_anchors,
            min(max_iter, TYPICAL_ITERATIONS),
        )

    @property
    def pseudo_samples(self) -> int:
        """Number of rows that the compressed problem has at most."""
        return sum(min(size, d) for size, d in self.groups)

    @property
    def truncated_width(self) -> int:
        """Number of directions, or of features of views that are not truncated, of all views."""
        return sum(self.directions.get(p, d) for p, d in enumerate(self.widths))


def fit_memory(shape: FitShape, route: Route) -> float:
    """Bytes that a fit needs beyond the data."""
    n, anchors = shape.n, shape.n_anchors
    if route == "truncated":
        total = shape.truncated_width
        bases = sum(shape.widths[p] * count for p, count in shape.directions.items())
        products = 8.0 * 4 * total**2 + shape.itemsize * n * total + 8.0 * n * anchors
        return products + 8.0 * 4 * bases + block_memory(shape)
    bases = sum(d * m for d, m in zip(shape.widths, shape.components, strict=True))
    trace = 8.0 * shape.iterations * bases
    if route == "compressed":
        needed = gram_memory(shape) + 8 * n * anchors + trace
        # The factor of a single Gram matrix takes its place.
        if len(shape.groups) > 1 or shape.pseudo_samples < sum(shape.widths):
            needed += 8 * 2 * shape.pseudo_samples * sum(shape.widths)
        return needed
    most = max(shape.components)
    needed = 8.0 * n * (2 * sum(shape.components) + 4 * anchors + 2 * most)
    needed += trace + block_memory(shape)
    for d, entries, m in zip(shape.widths, shape.entries, shape.components, strict=True):
        if entries is not None:
            needed += 16 * entries + 3 * 8 * min(DENSE_PART, n * min(n, d))
        else:
            needed += (8 if route == "left" else shape.itemsize) * n * d
        if route == "left" and d > n:
            needed += 3 * 8 * n**2
        if min(n, d) <= DENSE_SPECTRUM or m >= min(n, d) // 4:
            needed += 3 * 8 * min(n, d) ** 2
    return needed


def _product_memory(shape: FitShape, route: Route) -> float:
    """Bytes of the products of a part in a fit that adds up parts."""
    if route == "compressed":
        return 8.0 * sum(shape.widths) ** 2
    directions = sum(shape.widths[p] * count for p, count in shape.directions.items())
    return 8.0 * max(directions, shape.truncated_width**2)


def gram_memory(shape: FitShape) -> float:
    """Bytes needed to add up the Gram matrices of all groups and to factorize them."""
    widths = [d for size, d in shape.groups if size > d]
    # Products of several blocks are held before they are added, unless they are large.
    some_sparse = any(entries is not None for entries in shape.entries)
    widest = max(widths, default=0)
    held = max_pending_results() if some_sparse or widest <= WIDE_GRAM else 1
    parts = held * shape.itemsize * widest**2
    squares = [d**2 for d in widths]
    return block_memory(shape) + parts + 8 * (sum(squares) + max(squares, default=0))


def block_memory(shape: FitShape) -> float:
    """Bytes of the row blocks in process at a time, at most twice the data in float64."""
    return float(min(max_pending_results() * LARGEST_BLOCK, 2 * 8 * shape.n * sum(shape.widths)))


def directions_per_view(parts: RowSource, n_components: Sequence[int]) -> dict[int, int]:
    """Number of directions at first of each view that is truncated, by its position."""
    counts = {}
    for p, (d, m) in enumerate(zip(parts.n_features_per_view, n_components, strict=True)):
        count = max(MIN_DIRECTIONS, DIRECTIONS_PER_COMPONENT * m) + OVERSAMPLING
        if d >= WIDE and 2 * count < min(d, len(parts)):
            counts[p] = count
    return counts


def _work(shape: FitShape, route: Route) -> float:
    """Operations of a fit, weighted by the speed of their kind."""
    n = shape.n
    if route == "truncated":
        total = shape.truncated_width
        work = n * total**2 + total**3 / 3
        for p, count in shape.directions.items():
            if (entries := shape.entries[p]) is not None:
                work += count * (2 * POWER_STEPS + 1) * SPARSE_PRODUCT * entries
            else:
                work += count * DENSE_TRUNCATION * n * shape.widths[p]
        return work
    if route == "compressed":
        rows = shape.pseudo_samples
        work = float(sum(size * d**2 + d**3 / 3 for size, d in shape.groups if size > d))
        for d, m in zip(shape.widths, shape.components, strict=True):
            work += _solving_work(shape, rows, d, rows * d, m, SKINNY_PRODUCT)
        return work
    work = 0.0
    for d, stored, m in zip(shape.widths, shape.entries, shape.components, strict=True):
        entries, cost = (n * d, SKINNY_PRODUCT) if stored is None else (stored, SPARSE_PRODUCT)
        if route == "left" and d > n:
            work += n * entries * (1 if stored is None else cost) + n**3 / 3
            d, entries, cost = n, n * n, SKINNY_PRODUCT
        work += _solving_work(shape, n, d, entries, m, cost)
    return work


def _solving_work(shape: FitShape, n: int, d: int, entries: int, m: int, cost: float) -> float:
    """Operations for the leading singular vectors of one view and its part of the iterations."""
    shorter = min(n, d)
    if shorter <= DENSE_SPECTRUM or m >= shorter // 4:
        start = 2 * shorter * entries * (1 if cost == SKINNY_PRODUCT else cost) + 4 * shorter**3
    else:
        start = 4 * entries * (3 * m + 20) * cost
    return start + shape.iterations * (4 * entries * m * cost + 8 * n * m * (m + shape.n_anchors))
