"""DALMC: one flow of five stages, scale, compress, solve, embed, assign, over any source."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from anchorview._utils import sklearn_compat as constraints
from anchorview._utils.errors import restored_on_error
from anchorview._utils.sklearn_compat import StrOptions, fit_context
from anchorview._utils.threads import shared_thread_pool
from anchorview._utils.typing import Array, PathLike
from anchorview.core.alternating import RESIDUAL_FLOOR, Solution
from anchorview.core.assign import fit_assignment, require_columns
from anchorview.core.centers import EmbeddedRows, cluster_spread
from anchorview.core.compress import (
    CHUNK_SCALINGS,
    EXACT_ROUTES,
    Problem,
    Route,
    RunningSums,
    compress,
)
from anchorview.core.cost_model import Plan, plan
from anchorview.core.embed import embedded_samples, embedder_of
from anchorview.core.scale import SCALINGS, ViewScaling, fit_scalings
from anchorview.core.solve import (
    VARIANTS,
    Sizes,
    SolverSettings,
    ViewImportance,
    importance_of_views,
    solve,
)
from anchorview.core.truncate import compress_truncated
from anchorview.estimators.base import (
    EmbeddingClusterer,
    fill_docstring,
)
from anchorview.estimators.explanation import ROUNDING, EmbeddingExplanation
from anchorview.estimators.methods import PUBLISHED_SETTINGS
from anchorview.estimators.persistence.fitted_state import DALMCState
from anchorview.estimators.preparation import Preprocess
from anchorview.estimators.reference import continuing
from anchorview.estimators.relabeling import Relabeling, by_block
from anchorview.sources.disk_source import PartSource
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.container import MultiViewData, ViewsLike
from anchorview.views.input_grammar import Join
from anchorview.views.row_source import RowSource


def _can_add_chunks(model: "DALMC") -> bool:
    if model.scaling not in CHUNK_SCALINGS or model.variant != "dalmc":
        raise AttributeError(
            f"partial_fit needs variant='dalmc' and one of scaling={list(CHUNK_SCALINGS)}: "
            f"scaling='{model.scaling}' needs the means and deviations of all samples before the "
            "first row can be scaled."
        )
    return True


@fill_docstring
@dataclass(eq=False, repr=False)
class DALMC(EmbeddingClusterer):
    r"""Cluster samples by all of their views at once, into a given number of clusters.

    In discriminative anchor learning for multi-view clustering (DALMC), every view :math:`X_p` (n
    samples, :math:`d_p` features) has a basis :math:`Z_p`, a representation :math:`H_p` and anchors
    :math:`A_p`. All views share one orthonormal anchor graph :math:`S`, whose rows are clustered:

    .. math::

        & \min \sum_p \tfrac12 \frac{a_p^2}{w_p} \|X_p - H_p Z_p^\top\|_F^2
             - \beta \sum_p w_p \langle H_p, S A_p^\top \rangle \\
        & \text{s.t. } H_p^\top H_p = I,\ S^\top S = I,\ A_p \text{ orthonormal},\
        \textstyle\sum_p a_p = 1,\ a \ge 0.

    All :math:`w_p` are 1 unless `view_importance` is given. The views are scaled and compressed
    exactly to at most as many pseudo-samples as there are features, in one pass over the rows (two
    with the default scaling). The problem is solved on these, and the samples are embedded in
    another pass. Time and memory are linear in the number of samples, and the cost of an iteration
    does not depend on it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    n_anchors : int, default=None
        Number of columns of the anchor graph, l. If None, `n_clusters`, or as many as the views
        allow.
    n_components : int or sequence of int, default=None
        Number of columns of each view's representation. If None, ``2 * n_clusters``. A single
        number applies to all views and is capped at half of each view's rank, since a view that
        is reproduced completely by its representation would get all the weight. A sequence (one
        number per view) is used as it is, up to the rank.
    beta : float, default=0.1
        Weight of the alignment between the views' representations and the anchor graph. Views have
        Frobenius norm 1, so its effect does not depend on the number of samples or the units.
    scaling : {"zscore-unit", "unit-center", "zscore", "unit", "none"}, default="zscore-unit"
        Scaling of each view: standardize columns, then normalize rows to unit norm; normalize
        rows, then center columns; standardize columns; normalize rows; none.
    unit_norm : bool, default=True
        Whether to divide each scaled view by its Frobenius norm. The paper does not.
    init : {"gcca", "random", "identity"}, default="gcca"
        Initialization: generalized canonical correlation of the views' leading singular vectors
        (deterministic), random directions, or identity blocks.
    residual_floor : float, default=0.01
        Share of each view's squared norm that always counts as unexplained. It prevents a view that
        its representation reproduces well from getting nearly all the weight. The paper has none:
        with 0, a view that is reproduced completely raises an error.
    solver : {"auto", "compressed", "left", "direct", "truncated"}, default="auto"
        Solve on compressed samples, on compressed features (views with more features than
        samples), or on the data as they are, which all give the same result; or on wide views that
        are truncated to their leading directions. ``"auto"`` chooses the cheapest exact solver
        by counting operations and memory, and truncates only if the exact solvers are slow and
        truncation is much faster. `plan_` says what was left out, and how much that can change
        the objective.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-4
        Relative change of the objective below which the optimization stops.
    assignment : {"kmeans", "cluster_qr"}, default="kmeans"
        How rows of the embedding are clustered: K-means with random restarts, or K-means started
        from rows selected by pivoted QR, which is deterministic and needs
        ``n_anchors >= n_clusters``.
    n_init : int, default=10
        Number of K-means restarts; the result with the lowest inertia is kept. With many samples
        restarts run on a sample, and above 100 clusters at most ``1000 // n_clusters`` run, but
        at least one.
    normalize_embedding : bool, default=True
        Whether to normalize rows of the embedding to unit norm before they are clustered. The
        paper does not.
    variant : {"dalmc", "sampled-anchors", "box-graph"}, default="dalmc"
        The method, or one of the paper's ablations: anchors sampled from the data, or an anchor
        graph with entries between 0 and 1 that is not orthonormal. Ablations run on the data as
        they are and cannot embed new samples.
    view_importance : dict of str to float, default=None
        How much views count, by name; 1 for those that are not named. A view of importance 2 counts
        like two copies of it: :math:`w_p` in the objective is its importance divided by the mean
        over the views, so that a common factor does not matter. To ignore a view, leave it out.
    %(preparation_parameters)s
    random_state : int, RandomState instance or None, default=None
        Seed of K-means and of the random initialization.
    verbose : int, default=0
        If 1, print the chosen solver with its costs, and the time of each stage.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    embedding_ : array (n, n_anchors)
        The anchor graph: orthonormal columns, one row per sample.
    views_ : DataFrame
        By view: its `weight` in the fit; the weights sum to 1.
    objective_ : array (`n_iter_`,)
        Objective after each iteration; it never increases.
    n_iter_ : int
        Number of iterations.
    history_ : DataFrame
        By iteration, from 1: the `objective`, and in `history_["weight"]` the weight of each view.

        .. versionadded:: 0.2
    anchors_ : list of arrays (n_components_[p], n_anchors)
        Anchors of each view, orthonormal.
    bases_ : list of arrays (d_p, n_components_[p])
        Basis of each (scaled) view.
    projections_ : list of arrays (d_p, n_anchors)
        Linear maps from the scaled views to the embedding of a sample that has all views; the
        embedding is the sum over views.
    n_components_ : list of int
        Number of columns of each view's representation.
    scalings_ : tuple of ViewScaling
        Scaling of each view.
    plan_ : Plan or None
        The chosen solver and the cost of each; None after `partial_fit`.
    n_clusters_ : int
        Number of clusters; fewer than `n_clusters` if `relabel` has merged some.
    %(input_attributes)s

    See Also
    --------
    anchorview.metrics.clustering_scores : Scores of labels against known classes.

    Notes
    -----
    The weight of a view decreases with the share of its squared norm that its basis leaves
    unexplained. At least 1 % counts as unexplained, so that no weight degenerates.

    To split several views with ``GridSearchCV`` or ``train_test_split``, pass them as
    :class:`~anchorview.MultiViewData`.

    References
    ----------
    Y. Qin, N. Pu, H. Wu, N. Sebe, "Discriminative Anchor Learning for Efficient Multi-view
    Clustering", IEEE Transactions on Multimedia.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.9
    True
    >>> new = {name: view[:5] for name, view in views.items()}
    >>> bool((model.predict(new) == model.labels_[:5]).all())
    True
    """

    _state_class = DALMCState

    _parameter_constraints: ClassVar[constraints.ParameterConstraints] = {
        **EmbeddingClusterer._parameter_constraints,
        "n_clusters": constraints.N_CLUSTERS,
        "n_anchors": [constraints.POSITIVE_INT, None],
        "n_components": [constraints.POSITIVE_INT, "array-like", None],
        "beta": [constraints.NON_NEGATIVE],
        "scaling": [StrOptions(set(SCALINGS))],
        "unit_norm": ["boolean"],
        "init": [StrOptions({"gcca", "random", "identity"})],
        "residual_floor": [constraints.NON_NEGATIVE],
        "solver": [StrOptions({"auto", "compressed", "left", "direct", "truncated"})],
        "max_iter": constraints.MAX_ITER,
        "tol": constraints.TOL,
        "assignment": [StrOptions({"kmeans", "cluster_qr"})],
        "n_init": constraints.N_INIT,
        "normalize_embedding": ["boolean"],
        "variant": [StrOptions(set(VARIANTS))],
    }

    n_clusters: int = 8
    _: KW_ONLY
    n_anchors: int | None = None
    n_components: int | Sequence[int] | None = None
    beta: float = 0.1
    scaling: str = "zscore-unit"
    unit_norm: bool = True
    init: str = "gcca"
    residual_floor: float = RESIDUAL_FLOOR
    solver: str = "auto"
    max_iter: int = 50
    tol: float = 1e-4
    assignment: str = "kmeans"
    n_init: int = 10
    normalize_embedding: bool = True
    variant: str = "dalmc"
    view_importance: ViewImportance = None
    preprocess: Preprocess = None
    batch_scale: bool = True
    memory_limit: float | str | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    @classmethod
    def as_published(
        cls,
        n_clusters: int = 8,
        *,
        beta: float = 0.1,
        n_anchors: int | None = None,
        **settings: Any,
    ) -> Self:
        """Return an estimator with the choices of the paper in place of the defaults.

        Views are used as they are: neither scaled nor divided by their norm. The initialization
        uses identity blocks, residuals have no floor, and K-means with 20 restarts is run on the
        rows of the anchor graph without normalizing them.

        Parameters
        ----------
        n_clusters : int, default=8
            Number of clusters.
        beta : float, default=0.1
            Weight of the alignment. The paper tries 1e-4 to 10 and reports the best by the true
            classes. Its effect depends on the units of the views.
        n_anchors : int, default=None
            Number of anchors; if None, `n_clusters`.
        **settings
            Other parameters of the estimator.

        Returns
        -------
        model : DALMC

        Examples
        --------
        >>> from anchorview import DALMC, make_multiview
        >>> views, y = make_multiview(200, n_clusters=3, random_state=0)
        >>> DALMC.as_published(3, beta=1.0, random_state=0).fit(views).n_iter_ > 0
        True
        """
        given = {"beta": beta, "n_anchors": n_anchors, **settings}
        return cls(n_clusters, **{**PUBLISHED_SETTINGS, **given})

    @fit_context(prefer_skip_nested_validation=True)
    @restored_on_error
    @continuing
    @shared_thread_pool()
    @fill_docstring
    def fit(
        self,
        X: ViewsLike,
        y: object = None,
        *,
        views: ViewSelection | None = None,
        join: Join | None = None,
        batch: Any = None,
        covariates: Any = None,
        sample_weight: Any = None,
        reference: Any = None,
        out: PathLike | None = None,
    ) -> Self:
        """Cluster the samples.

        Views on disk (:func:`anchorview.open_views`, ``numpy.memmap``) are read part by part. Dask
        arrays and dataframes are processed where they are; `embedding_` and `labels_` are then
        dask arrays too. The workers of a cluster hold these: compute or store them before the
        client is closed.

        Parameters
        ----------
        %(fit_views)s
        y : ignored
            Not used, present for API consistency by convention.
        %(fit_parameters)s
        %(reference)s
        out : path-like, default=None
            Folder, created if necessary, to which ``embedding.npy`` and ``labels.npy`` are written
            part by part; `embedding_` and `labels_` are memory maps of them. Beside them,
            ``sample_ids.npy`` has the sample ids, or positions if there are none.

        Returns
        -------
        self : DALMC
        """
        start_seed, assignment_seed = self._seeds()
        source = self._open(X, out, views, join, batch, covariates, sample_weight)
        source, batches = self._fit_batches(source)
        folder = None if out is None else Path(out)
        self.plan_, source = self._planned(source, folder)
        clock = self._say(str(self.plan_))
        moments = None if batches is None else batches.moments
        counted = source.counted()
        scalings = fit_scalings(counted, self.scaling, moments)
        problem = self._compress(counted, scalings)
        self._say(f"scaled and compressed {self.n_samples_fit_} samples", clock)
        solution = self._solve(problem, source, start_seed)
        clock = perf_counter()
        # Ablations have no embedder: the graph is the embedding of all samples.
        embedder = self._embedder or (lambda part: solution.graph.astype(part.dtype))
        embedding: AbstractContextManager[EmbeddedRows]
        if isinstance(source, PartSource):
            embedding = source.embed(embedder, solution.graph.shape[1], folder)
        else:
            embedding = nullcontext(EmbeddedRows(embedder(source.read()), source.sample_weight))
        with embedding as rows:
            clock = self._say("embedded", clock)
            self._assign(rows, assignment_seed)
        self.embedding_, self.labels_ = rows.embedding, rows.labels
        self._running_sums: RunningSums | None = None
        self._say("assigned", clock)
        self._judge_batches(batches)
        self._restore_unknown()
        return self

    @available_if(_can_add_chunks)
    @fit_context(prefer_skip_nested_validation=True)
    @restored_on_error
    def partial_fit(
        self, X: ViewsLike, y: object = None, *, batch: object = None, covariates: object = None
    ) -> Self:
        """Add a chunk of samples and cluster all samples seen so far.

        Only sums over the chunks are kept, and 20,000 samples drawn uniformly from all chunks on
        which K-means is run, so memory does not grow with the number of chunks. The model is the
        one that `fit` gives on all chunks together; results of an earlier `fit` are discarded.
        `labels_` and `embedding_` are those of this chunk; use `predict` for earlier ones.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            All chunks have the same views, and the first at least `n_clusters` samples.
            Transformers in `preprocess`, and encoders of tables, must not learn from the samples.
        y : ignored
            Not used, present for API consistency by convention.
        batch, covariates : None
            Cannot be taken out here: their means change with every call, and the samples that are
            kept are already scaled. Use `fit`, which reads files in parts.

        Returns
        -------
        self : DALMC
        """
        start_seed, assignment_seed = self._seeds()
        if hasattr(self, "labels_") and not hasattr(self, "_running_sums"):
            raise ValueError(
                "This model was loaded from a file, which does not contain the sums that "
                "partial_fit adds to. Start from a new model."
            )
        sums = getattr(self, "_running_sums", None)
        if sums is None:
            data = self._open(X).read()
            if self._prepared is not None:
                self._prepared.require_nothing_learned(self.view_names_in_)
        else:
            source = self._open_new(X).read()
            self.sample_ids_ = source.sample_ids
            data = self._only_known(source).read()
        if not (batch is covariates is data.design is None):
            raise ValueError(
                "partial_fit cannot take out batches or covariates: their means are known only "
                "after the last call. Use fit, which reads files and Dask arrays in parts."
            )
        if data.sample_weight is not None:
            raise ValueError("partial_fit knows no weights of samples. Use fit, which reads parts.")
        if sums is None:
            sums = RunningSums(data, self.scaling, assignment_seed)
        if sums.scaling != self.scaling:
            raise ValueError(
                f"scaling was '{sums.scaling}' for the chunks so far and cannot become "
                f"'{self.scaling}'. Start from a new model."
            )
        sums = sums.with_chunk(data)
        self._correction = self._mixing = None
        self.plan_ = None  # type: ignore[assignment]
        self._solve(sums.problem(data, unit_norm=self.unit_norm), data, start_seed)
        self._assign(EmbeddedRows(self._embedder(sums.sample)), assignment_seed)
        self.embedding_ = self._embedder(data)
        self.labels_ = self._assignment(self.embedding_)
        self._running_sums, self.n_samples_fit_ = sums, len(sums)
        self._restore_unknown()
        return self

    def _label_map(self, doubtful: int | None) -> Callable[[MultiViewData], Array]:
        labels_of: tuple[Callable[[Array], Array], ...] = self._assignment, self._relabeling
        if doubtful is not None:
            certain = self.__anchorview_explain__().certain_labels
            labels_of = (partial(certain, doubtful=doubtful),)
        return partial(embedded_samples, self._embedder, labels_of)

    @property
    def projections_(self) -> list[Array]:
        """Linear maps from the scaled views to the embedding of a sample that has all views."""
        check_is_fitted(self)
        self._require_embeds_new_samples()
        W = self._embedder.map_from(tuple(range(self.n_views_in_)))
        return np.split(W, np.cumsum(self.n_features_per_view_)[:-1])

    @property
    def history_(self) -> "pd.DataFrame":
        """Objective and weights of the views after each iteration."""
        check_is_fitted(self)
        if self._weight_history is None:
            raise AttributeError("The version that saved this model kept no history.")
        columns = [("objective", ""), *(("weight", name) for name in self.view_names_in_)]
        return pd.DataFrame(
            np.column_stack([self.objective_, self._weight_history]),
            index=pd.RangeIndex(1, self.n_iter_ + 1, name="iteration"),
            columns=pd.MultiIndex.from_tuples(columns),
        )

    def _works_in_parts(self, source: RowSource, out: PathLike | None) -> bool:
        if self.solver == "auto" and self.variant == "dalmc":
            return source.shape[0] > source.shape[1]
        return self.solver in ("compressed", "truncated")

    def _planned(self, source: RowSource, folder: Path | None) -> tuple[Plan, RowSource]:
        """Plan of a fit, and the source with the room that it needs."""
        n_anchors, wanted = self.n_anchors or self.n_clusters, self._sizes.wanted(source)
        routes: tuple[Route, ...]
        if self.variant != "dalmc":
            routes = ("direct",)
        elif self.solver == "auto":
            routes = (*EXACT_ROUTES, "truncated") if self.init == "gcca" else EXACT_ROUTES
        else:
            routes = (self.solver,)  # type: ignore[assignment]
        planned = plan(source, routes, wanted, n_anchors, self.max_iter, self.memory_limit)
        if not isinstance(source, PartSource):
            return planned, source
        route = planned.route
        source = source.with_room(planned.memory[route], n_anchors if folder is None else 0)
        work, memory = {route: planned.work[route]}, {route: source.pass_memory()}
        return replace(planned, work=work, memory=memory), source

    def _require_embeds_new_samples(self) -> None:
        if self.variant != "dalmc" or getattr(self, "_embedder", self) is None:
            raise AttributeError(
                "An ablation cannot embed new samples; use labels_ and embedding_ of the samples "
                "it was fitted on."
            )

    def _compress(self, source: RowSource, scalings: tuple[ViewScaling, ...]) -> Problem:
        """Compress the samples and, if planned so, truncate wide views."""
        if self.plan_.route == "compressed" and isinstance(source, PartSource):
            source.require_pattern_memory()
        if self.plan_.route != "truncated":
            return compress(source, scalings, self.plan_.route, unit_norm=self.unit_norm)
        wanted, n_anchors = self._sizes.wanted(source), self.n_anchors or self.n_clusters
        importance = importance_of_views(self.view_importance, source.names)
        alignment = self.beta * float(importance @ np.minimum(wanted, n_anchors))
        problem, truncation = compress_truncated(
            source, scalings, wanted, alignment, unit_norm=self.unit_norm, importance=importance
        )
        self.plan_ = replace(self.plan_, truncation=truncation)
        self._say(truncation)
        return problem

    def _solve(self, problem: Problem, schema: RowSource, seed: int) -> Solution:
        clock = perf_counter()
        settings = SolverSettings(
            self._sizes,
            self.beta,
            self.max_iter,
            self.tol,
            self.variant,
            self.init,  # type: ignore[arg-type]
            self.residual_floor,
            importance_of_views(self.view_importance, schema.names),
        )
        solution, self.n_components_ = solve(problem, schema, settings, seed)
        self.scalings_ = problem.scalings
        self.objective_, self.n_iter_ = solution.objective, len(solution.objective)
        self.views_ = self._table_of_views(weight=solution.weights)
        self._weight_history = solution.weight_history
        self.anchors_ = list(solution.anchors)
        self.bases_ = problem.in_features(solution.bases)
        self._embedder: Any = embedder_of(solution, problem)
        ended = "converged" if solution.converged else "not converged yet"
        self._say(
            f"solved with {solution.graph.shape[1]} anchors and {self.n_components_} components "
            f"in {self.n_iter_} iterations, {ended}",
            clock,
        )
        return solution

    def _assign(self, rows: EmbeddedRows, seed: int) -> None:
        self._assignment = fit_assignment(
            rows,
            self.n_clusters,
            method=self.assignment,  # type: ignore[arg-type]
            normalize=self.normalize_embedding,
            n_init=self.n_init,
            seed=seed,
        )
        rows.label(self._assignment)
        known = rows.labels if isinstance(rows.labels, np.ndarray) else None
        self._spread = cluster_spread(rows, self._assignment, known)
        self._relabeling = Relabeling.none(len(self._assignment.centroids))

    def _embedding_map(self, factor: float) -> Callable[[MultiViewData], Array]:
        return partial(embedded_samples, self._embedder, (partial(np.multiply, factor),))

    def _certain_labels(self, threshold: float | None) -> Any:
        function = partial(self.__anchorview_explain__().certain_labels, threshold=threshold)
        return by_block(function, self.embedding_, drop_axis=1)

    def __anchorview_explain__(self) -> EmbeddingExplanation:
        check_is_fitted(self, "labels_")
        squared_norms = np.square(self._assignment.centroids).sum(axis=1)
        return EmbeddingExplanation(
            self._part_preparation,
            self.view_names_in_,
            self._cluster_spread,
            self._membership_scale,
            ROUNDING * float(squared_norms.mean()),
            self._relabeling,
            self._assignment,
            self._embedder,
        )

    @property
    def _sizes(self) -> Sizes:
        return Sizes(self.n_clusters, self.n_anchors, self.n_components)

    def _require_possible(self, schema: RowSource) -> None:
        self._sizes.require_possible(schema)
        importance_of_views(self.view_importance, schema.names)
        if self.assignment == "cluster_qr" and self.n_anchors is not None:
            require_columns(self.n_anchors, self.n_clusters)
        if self.variant != "dalmc" and self.solver not in ("auto", "direct"):
            raise ValueError(
                f"variant='{self.variant}' runs on the data as they are: use solver='direct' or "
                "'auto'."
            )
        if self.variant != "dalmc" and schema.sample_weight is not None:
            raise ValueError(
                "Ablations run on the samples as they are, without weights. Leave out "
                "sample_weight, or use variant='dalmc'."
            )
