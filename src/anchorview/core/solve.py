"""From a small problem to its solution: sizes within what the data allow, start, optimization."""

from dataclasses import dataclass

from anchorview._utils.typing import Array
from anchorview.core.ablations import BoxGraphSolver, SampledAnchorsSolver
from anchorview.core.alternating import AlternatingSolver, Init, Solution, plain_directions
from anchorview.core.compress import SmallProblem
from anchorview.core.sizes import Sizes
from anchorview.views.container import ViewsSchema

VARIANTS: dict[str, type[AlternatingSolver]] = {
    "dalmc": AlternatingSolver,
    "sampled-anchors": SampledAnchorsSolver,
    "box-graph": BoxGraphSolver,
}


@dataclass(frozen=True)
class Settings:
    """What a user asked of the optimization."""

    sizes: Sizes
    variant: str
    beta: float
    init: Init
    max_iter: int
    tol: float

    def solve(
        self, problem: SmallProblem, data: ViewsSchema, seed: int
    ) -> tuple[Solution, list[int]]:
        """Solve a problem; returns the solution and each view's components.

        `data` tells names and widths of the views.
        """
        n_anchors, components, complete = self.sizes.resolve(problem.views, data, problem.dtype)
        solution = VARIANTS[self.variant](
            problem.views,
            n_anchors,
            components,
            beta=self.beta,
            init=self.init,
            seed=seed,
            directions=self._start_directions(problem, data, components, seed),
            available=problem.available,
            complete=complete,
        ).run(self.max_iter, self.tol)
        found = solution.graph.shape[1]
        if self.sizes.n_anchors is not None and self.sizes.n_anchors > found:
            raise ValueError(
                f"n_anchors={self.sizes.n_anchors} is larger than the views allow: they have "
                f"{found} independent directions together."
            )
        return solution, components

    def _start_directions(
        self, problem: SmallProblem, data: ViewsSchema, components: list[int], seed: int
    ) -> list[Array] | None:
        """Directions of a start that is given in features, in the coordinates of the problem."""
        if self.init == "gcca" or not any(problem.back):
            return None
        directions = plain_directions(self.init, data.n_features_per_view, components, seed)
        return [
            D if way is None else way.contract(D)
            for D, way in zip(directions, problem.back, strict=True)
        ]
