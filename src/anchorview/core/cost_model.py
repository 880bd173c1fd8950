"""The cost model: which route to solve on, by counts of operations and memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from anchorview._utils.linalg import DENSE_PART, DENSE_SPECTRUM
from anchorview._utils.memory import free_memory, memory_budget, require_memory
from anchorview._utils.symmetric import MIN_TILED
from anchorview._utils.text import format_bytes
from anchorview._utils.threads import max_pending_results
from anchorview.core.compress import EXACT_ROUTES, Route
from anchorview.core.truncate import POWER_STEPS, Truncation, directions_per_view
from anchorview.views.container import MultiViewData
from anchorview.views.low_rank_sum import is_sparse
from anchorview.views.row_source import LARGEST_BLOCK, RowSource

TYPICAL_ITERATIONS = 20
"""Number of iterations that most data need; the paper reports fewer than 20."""

SKINNY_PRODUCT = 4
"""Cost of an operation in a product with few columns, relative to a square product. A rough figure
from products on two cores, only used to choose between routes."""

SPARSE_PRODUCT = 40
"""The same for a sparse matrix times few columns."""

DENSE_TRUNCATION = 2 * (2 * POWER_STEPS + 1)
"""Operations per entry of a dense view and direction to truncate it."""

LONG_WORK, TRUNCATION_GAIN = 1e12, 3.0
"""Wide views are truncated if the cheapest exact route takes at least the first number of
operations, some seconds on two cores, and at least this many times those of the truncated one."""


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
        left_out = "" if self.truncation is None else f"; {self.truncation}"
        return f"solver '{self.route}' of {costs}{self._reason()}{left_out}"

    def _reason(self) -> str:
        """Why views are truncated."""
        exact = [self.work[route] for route in EXACT_ROUTES if route in self.work]
        if self.route != "truncated" or not exact:
            return ""
        ratio = min(exact) / self.work["truncated"]
        return f"; wide views are truncated, as exact solvers take {ratio:.1f} times as long"


@dataclass(frozen=True)
class PlanRequest:
    """What a plan depends on besides the data."""

    n_components: Sequence[int]
    n_anchors: int
    max_iter: int
    routes: Sequence[Route] = EXACT_ROUTES
    """Routes to choose from."""
    memory_limit: float | str | None = None
    keeps_embedding: bool = True
    """Whether the embedding stays in memory; otherwise it is written to files."""


def plan_in_passes(schema: RowSource, request: PlanRequest) -> tuple[Plan, float]:
    """Plan of a fit whose rows are read in parts, and the bytes of the products of a part.

    The source adds how much memory that takes.
    """
    n, D = schema.shape
    counts = directions_per_view(schema, request.n_components)
    pairs = list(zip(counts, schema.n_features_per_view, strict=True))
    width = sum(d if count is None else count for count, d in pairs)
    entries = sum(d * count for count, d in pairs if count is not None)
    work: dict[Route, float] = {
        "compressed": n * D**2 + D**3 / 3,
        "truncated": DENSE_TRUNCATION * n * entries + n * width**2,
    }
    products: dict[Route, float] = {
        "compressed": 8.0 * D**2,
        "truncated": 8.0 * max(entries, width**2),
    }
    feasible = [route for route in work if route in request.routes]
    route = _chosen(feasible, work, products)
    return Plan(route, {route: work[route]}, {}), products[route]


def plan(
    data: MultiViewData,
    n_components: Sequence[int],
    n_anchors: int,
    max_iter: int,
    routes: Sequence[Route] = EXACT_ROUTES,
    memory_limit: float | str | None = None,
    long_work: float | None = None,
) -> Plan:
    """Choose the cheapest of `routes` that fits into memory; raise if none does.

    Wide views may be truncated from `long_work` operations on, by default `LONG_WORK`.
    """
    allowed = free_memory()
    if memory_limit is not None:
        allowed = min(allowed, memory_budget(memory_limit))
    if len(routes) > 1 and max(data.n_features_per_view) <= len(data):
        routes = [route for route in routes if route != "left"]
    common = data, n_components, n_anchors, max_iter
    costs = {route: _cost(route, *common) for route in routes}
    work = {route: float(cost[0]) for route, cost in costs.items()}
    memory = {route: float(cost[1]) for route, cost in costs.items()}
    smallest = min(routes, key=memory.__getitem__)
    require_memory(
        memory[smallest],
        f"Clustering {data!r} with solver='{smallest}'",
        "Reduce the number of features or of samples, or pass float32 data.",
        None if memory_limit is None else allowed,
    )
    feasible = [route for route in routes if memory[route] <= allowed]
    return Plan(_chosen(feasible, work, memory, long_work), work, memory)


def _chosen(
    feasible: Sequence[Route],
    work: dict[Route, float],
    memory: dict[Route, float],
    long_work: float | None = None,
) -> Route:
    """Cheapest exact route, unless it takes long and the truncated one much less."""
    exact = [route for route in feasible if route != "truncated"]
    if not exact:
        return "truncated"
    best = min(exact, key=lambda route: (work[route], memory[route]))
    long_work = LONG_WORK if long_work is None else long_work
    if "truncated" not in feasible or work[best] < long_work:
        return best
    return "truncated" if TRUNCATION_GAIN * work["truncated"] < work[best] else best


def _cost(
    route: Route, data: MultiViewData, n_components: Sequence[int], n_anchors: int, max_iter: int
) -> tuple[float, float]:
    """Operations and bytes of a route."""
    if route == "compressed":
        return _compressed_cost(data, n_components, n_anchors, max_iter)
    if route == "truncated":
        return _truncated_cost(data, n_components, n_anchors)
    return _whole_cost(data, n_components, n_anchors, max_iter, left=route == "left")


def _truncated_cost(
    data: MultiViewData, n_components: Sequence[int], n_anchors: int
) -> tuple[float, float]:
    n = len(data)
    counts = directions_per_view(data, n_components)
    widths = [d if count is None else count for count, d in _with_features(counts, data)]
    total = sum(widths)
    work = n * total**2 + total**3 / 3
    memory = 8.0 * 4 * total**2 + data.dtype.itemsize * n * total + 8.0 * n * n_anchors
    for view, count in zip(data.views, counts, strict=True):
        if count is not None:
            work += count * (
                (2 * POWER_STEPS + 1) * SPARSE_PRODUCT * view.nnz
                if is_sparse(view)
                else DENSE_TRUNCATION * n * view.shape[1]
            )
            memory += 8.0 * 4 * view.shape[1] * count
    return work, memory + block_memory(data)


def _with_features(
    counts: Sequence[int | None], data: MultiViewData
) -> list[tuple[int | None, int]]:
    return list(zip(counts, data.n_features_per_view, strict=True))


def _compressed_cost(
    data: MultiViewData, n_components: Sequence[int], n_anchors: int, max_iter: int
) -> tuple[float, float]:
    n, D = data.shape
    iterations = min(max_iter, TYPICAL_ITERATIONS)
    shapes = _group_shapes(data)
    pseudo_samples = sum(min(size, d) for size, d in shapes)
    work = sum(size * d**2 + d**3 / 3 for size, d in shapes if size > d)
    for d, m in zip(data.n_features_per_view, n_components, strict=True):
        entries = pseudo_samples * d
        work += _solve_cost(pseudo_samples, d, entries, m, n_anchors, iterations, SKINNY_PRODUCT)
    memory = gram_memory(data) + 8 * n * n_anchors
    # The factor of a single Gram matrix takes its place.
    if len(shapes) > 1 or pseudo_samples < D:
        memory += 8 * 2 * pseudo_samples * D
    return work, memory + _trace_memory(data, n_components, max_iter)


def _group_shapes(data: MultiViewData) -> list[tuple[int, int]]:
    """Samples and features of each group."""
    widths = data.n_features_per_view
    return [(group.size, sum(widths[p] for p in group.views)) for group in data.groups]


def gram_memory(data: MultiViewData) -> float:
    """Bytes needed to add up the Gram matrices of all groups and to factorize them."""
    widths = [d for size, d in _group_shapes(data) if size > d]
    # Products of sparse blocks, and of few features, are held as a whole before they are added.
    some_sparse = any(map(is_sparse, data.views))
    held = max((d for d in widths if some_sparse or d <= MIN_TILED), default=0)
    parts = max_pending_results() * data.dtype.itemsize * held**2
    squares = [d**2 for d in widths]
    return block_memory(data) + parts + 8 * (sum(squares) + max(squares, default=0))


def block_memory(data: MultiViewData) -> float:
    """Bytes of the row blocks in process at a time, at most twice the data in float64."""
    n, D = data.shape
    return float(min(max_pending_results() * LARGEST_BLOCK, 2 * 8 * n * D))


def _trace_memory(data: MultiViewData, n_components: Sequence[int], max_iter: int) -> float:
    bases = sum(d * m for d, m in zip(data.n_features_per_view, n_components, strict=True))
    return 8.0 * min(max_iter, TYPICAL_ITERATIONS) * bases


def _solve_cost(
    n: int, d: int, entries: int, m: int, n_anchors: int, iterations: int, cost: float
) -> float:
    """Operations for the leading singular vectors of one view and its part of the iterations."""
    shorter = min(n, d)
    if shorter <= DENSE_SPECTRUM or m >= shorter // 4:
        start = 2 * shorter * entries * (1 if cost == SKINNY_PRODUCT else cost) + 4 * shorter**3
    else:
        start = 4 * entries * (3 * m + 20) * cost
    return start + iterations * (4 * entries * m * cost + 8 * n * m * (m + n_anchors))


def _whole_cost(
    data: MultiViewData, n_components: Sequence[int], n_anchors: int, max_iter: int, left: bool
) -> tuple[float, float]:
    n = len(data)
    iterations = min(max_iter, TYPICAL_ITERATIONS)
    work = 0.0
    memory = 8.0 * n * (2 * sum(n_components) + 4 * n_anchors + 2 * max(n_components))
    memory += _trace_memory(data, n_components, max_iter) + block_memory(data)
    for view, m in zip(data.views, n_components, strict=True):
        d = view.shape[1]
        entries, cost = n * d, SKINNY_PRODUCT
        if is_sparse(view):
            entries, cost = view.nnz, SPARSE_PRODUCT
            memory += 16 * entries + 3 * 8 * min(DENSE_PART, n * min(n, d))
        else:
            memory += (8 if left else data.dtype.itemsize) * entries
        if left and d > n:
            work += (n * entries * cost if is_sparse(view) else n * entries) + n**3 / 3
            memory += 3 * 8 * n**2
            d, entries, cost = n, n * n, SKINNY_PRODUCT
        work += _solve_cost(n, d, entries, m, n_anchors, iterations, cost)
        if min(n, d) <= DENSE_SPECTRUM or m >= min(n, d) // 4:
            memory += 3 * 8 * min(n, d) ** 2
    return work, memory
