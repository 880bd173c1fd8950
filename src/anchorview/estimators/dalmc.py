"""The estimator: compress, solve, expand, assign."""

import os
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.sklearn_compat import Interval, StrOptions, fit_context
from anchorview._utils.typing import Array
from anchorview.core.alternating import Solution
from anchorview.core.assign import Assignment, assigned, fit_assignment, require_columns
from anchorview.core.batch_sums import GROWING_SCALINGS, GrowingData
from anchorview.core.compress import SmallProblem, pose_problem
from anchorview.core.cost_model import Plan, Route, plan, plan_of_passes
from anchorview.core.embed import Embedder
from anchorview.core.passes import Carrier, pose_problem_in_passes
from anchorview.core.row_source import RowSource
from anchorview.core.scale import SCALINGS, fit_scalings
from anchorview.core.sizes import Sizes
from anchorview.core.solve import VARIANTS, Settings
from anchorview.estimators.base import EmbeddingClusterer
from anchorview.sources.open_source import source_of
from anchorview.views.container import MultiViewData, ViewsSchema

_Path = str | os.PathLike[str] | None


def _embeds_new_samples(model: "DALMC") -> bool:
    if model.variant != "dalmc" or getattr(model, "_embedder", model) is None:
        raise AttributeError(
            "An ablation cannot embed new samples; use labels_ and embedding_ of the samples it "
            "was fitted on."
        )
    return True


def _can_grow(model: "DALMC") -> bool:
    if model.scaling not in GROWING_SCALINGS or model.variant != "dalmc":
        raise AttributeError(
            f"partial_fit needs variant='dalmc' and one of scaling={list(GROWING_SCALINGS)}: "
            f"scaling='{model.scaling}' needs the means and deviations of all samples before the "
            "first row can be scaled."
        )
    return True


class DALMC(EmbeddingClusterer):
    r"""Discriminative anchor learning for multi-view clustering.

    Every view :math:`X_p` (n samples, :math:`d_p` features) gets a basis :math:`Z_p`, a
    representation :math:`H_p` and anchors :math:`A_p`; all views share one orthonormal anchor graph
    :math:`S`, whose rows are clustered:

    .. math::

        \min \sum_p \tfrac12 a_p^2 \|X_p - H_p Z_p^\top\|_F^2
             - \beta \sum_p \langle H_p, S A_p^\top \rangle
        \quad\text{s.t. } H_p^\top H_p = I,\ S^\top S = I,\ A_p \text{ orthonormal},\
        \textstyle\sum_p a_p = 1,\ a \ge 0.

    The data are scaled, compressed exactly to as many pseudo-samples as there are features (one
    pass over row blocks), solved there, and embedded in a second pass: time and memory are linear
    in the number of samples, and iterations cost nothing that grows with it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 2.
    n_anchors : int, default=None
        Columns of the anchor graph, l. None: `n_clusters`, or as many as the views allow.
    n_components : int or sequence of int, default=None
        Columns of each view's representation. None: ``2 * n_clusters``. One number holds for all
        views and is capped at half of each view's rank, since a view whose representation
        reproduces it completely would draw all the weight; a sequence (one a view) is taken as it
        is, up to the rank.
    beta : float, default=0.1
        Weight of the alignment between the views' representations and the anchor graph. Views have
        Frobenius norm 1, so its meaning does not depend on the data's size or units.
    scaling : {"zscore-unit", "unit-center", "zscore", "unit", "none"}, default="zscore-unit"
        What is done to each view first: columns to mean 0 and deviation 1, then rows to length 1;
        rows to length 1, then columns to mean 0; columns only; rows only; nothing.
    unit_norm : bool, default=True
        Whether each scaled view is divided by its Frobenius norm. False runs the paper's formula
        on the data as scaled.
    init : {"gcca", "random", "identity"}, default="gcca"
        Start of the optimization: generalized canonical correlation of the views' leading
        singular vectors (deterministic), random, or identity blocks.
    solver : {"auto", "compressed", "left", "direct"}, default="auto"
        Solve on compressed samples, on compressed features (views with more features than
        samples), on the data itself, or on what a count of operations and memory finds cheapest.
        All give the same result.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-4
        Stop when the objective changes by less than this, relatively.
    assignment : {"kmeans", "cluster_qr"}, default="kmeans"
        How rows of the embedding become labels: K-means with random restarts, or from the rows
        that pivoted QR finds farthest apart, which has no randomness and needs
        ``n_anchors >= n_clusters``.
    n_init : int, default=10
        K-means restarts; the one with least inertia is kept.
    normalize_embedding : bool, default=True
        Whether rows of the embedding are scaled to length 1 before the assignment. The paper does
        not.
    variant : {"dalmc", "sampled-anchors", "box-graph"}, default="dalmc"
        The method, or one of the paper's ablations: anchors sampled from the data, or an anchor
        graph between 0 and 1 without orthonormality. Ablations run on the data itself and cannot
        embed new samples.
    memory_limit : float or str, default=None
        Bytes that a fit may take beyond what the process holds, such as ``"1.5GB"``. Views on disk
        are read in parts of a size that keeps to it. None: half of what is free.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means and of the random start.
    verbose : int, default=0
        1 prints which solver was chosen and why, the sizes and the time of each stage.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    embedding_ : array (n, n_anchors)
        The anchor graph: orthonormal columns, one row a sample.
    view_weights_ : array (n_views,)
        How much each view counts; they sum to 1.
    objective_ : array (n_iter_ + 1,)
        The objective at the start and after every iteration; it never increases.
    n_iter_ : int
        Iterations done.
    anchors_ : list of arrays (n_components_[p], n_anchors)
        Anchors of each view, orthonormal.
    bases_ : list of arrays (d_p, n_components_[p])
        Basis of each (scaled) view.
    projections_ : list of arrays (d_p, n_anchors)
        Maps from the scaled views to the embedding of a sample that has all of them, which is the
        sum of the views' parts.
    n_components_ : list of int
        Columns of each view's representation.
    scalings_ : tuple of ViewScaling
        Scaling of each view.
    plan_ : Plan
        The chosen solver and what each would have cost; set by `fit`.
    n_views_in_, n_features_in_ : int
        Number of views, and of features over all views.
    n_features_per_view_ : tuple of int
        Features of each view.
    sample_ids_ : pandas.Index or None
        Labels of the samples, where they came as DataFrames (or MuData).
    view_names_in_ : tuple of str
        Names of the views: keys of the dict given to `fit`, else ``view_0``, ``view_1``...

    See Also
    --------
    anchorview.metrics.clustering_scores : Scores of labels against known classes.

    Notes
    -----
    A view's weight falls with the share of it that its basis leaves unexplained; 1 % of its squared
    norm always counts as unexplained, so no weight degenerates.

    Given several views, scikit-learn's tools that split samples (``GridSearchCV``,
    ``train_test_split``) need them as one :class:`~anchorview.MultiViewData`.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's protocol)
        "n_clusters": [Interval(Integral, 2, None, closed="left")],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "scaling": [StrOptions(set(SCALINGS))],
        "unit_norm": ["boolean"],
        "init": [StrOptions({"gcca", "random", "identity"})],
        "solver": [StrOptions({"auto", "compressed", "left", "direct"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "assignment": [StrOptions({"kmeans", "cluster_qr"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "normalize_embedding": ["boolean"],
        "variant": [StrOptions(set(VARIANTS))],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | None = None,
        n_components: int | Sequence[int] | None = None,
        beta: float = 0.1,
        scaling: str = "zscore-unit",
        unit_norm: bool = True,
        init: str = "gcca",
        solver: str = "auto",
        max_iter: int = 50,
        tol: float = 1e-4,
        assignment: str = "kmeans",
        n_init: int = 10,
        normalize_embedding: bool = True,
        variant: str = "dalmc",
        memory_limit: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_components = n_components
        self.beta = beta
        self.scaling = scaling
        self.unit_norm = unit_norm
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.assignment = assignment
        self.n_init = n_init
        self.normalize_embedding = normalize_embedding
        self.variant = variant
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, out: _Path = None) -> Self:
        """Cluster the samples.

        Views on disk (:func:`anchorview.open_views`, ``numpy.memmap``) are read part by part, and
        Dask arrays and dataframes are worked on where they are; `embedding_` and `labels_` are
        then dask arrays too. A cluster's workers hold these: compute or store them before the
        client is closed.

        Parameters
        ----------
        X : list, tuple or dict of views, a single view, MuData or MultiViewData
            Each view is an (n, d_p) array, DataFrame or scipy.sparse matrix, rows in the same
            order; DataFrames are aligned by index. A sample may lack views, but not all: its row
            is all NaN there, or the DataFrame does not have its label.
        y : ignored
            Present for scikit-learn's conventions.
        out : path-like, default=None
            A folder, made if it is not there, in which ``embedding.npy`` and ``labels.npy`` are
            written part by part; `embedding_` and `labels_` are memory maps of them.

        Returns
        -------
        self : DALMC
        """
        source = source_of(X, self.memory_limit, always=out is not None)
        if source is not None and not self._wants_whole(source):
            return self._fit_in_passes(X, source, out)
        if out is not None:
            raise ValueError(
                "Results are written part by part only where data are read in parts: with "
                "solver='compressed', or by default if there are more samples than features. "
                "Leave out= away (--results on the command line)."
            )
        X = X if source is None else source.in_memory()
        data = self._validate(X, reset=True, fitting=True)
        self._growing: GrowingData | None = None
        start_seed, assignment_seed = self._seeds()
        clock = perf_counter()
        self.plan_ = self._plan(data)
        self._say(str(self.plan_))
        scalings = fit_scalings(data, self.scaling)
        problem = pose_problem(data, scalings, self.plan_.route, unit_norm=self.unit_norm)
        clock = self._say(f"scaled and compressed {data!r}", clock)
        solution = self._solve(problem, data, start_seed)
        clock = perf_counter()
        if self._embedder is None:
            self.embedding_ = solution.graph.astype(data.dtype)
        else:
            self.embedding_ = self._embedder(data)
        clock = self._say("embedded", clock)
        self._assignment, self.labels_ = self._assign(self.embedding_, assignment_seed)
        self._say("assigned", clock)
        return self

    def _wants_whole(self, source: RowSource) -> bool:
        """Whether samples are better taken into memory than read in parts."""
        if self.solver == "auto" and self.variant == "dalmc":
            return source.shape[0] <= source.shape[1]
        return self.solver != "compressed"

    def _fit_in_passes(self, X: Any, source: RowSource, out: _Path) -> Self:
        self._require_possible(source)
        folder = None if out is None else Path(out)
        if folder is not None:
            source.require_place(folder)
        self._growing = None
        start_seed, assignment_seed = self._seeds()
        columns = None if folder is not None else self.n_anchors or self.n_clusters
        self.plan_ = plan_of_passes(source, columns)
        self._say(str(self.plan_))
        clock = perf_counter()
        problem = pose_problem_in_passes(source, self.scaling, unit_norm=self.unit_norm)
        self._learn_views(source)
        self._check_features(X, source, reset=True)
        self.sample_ids_ = source.sample_ids
        clock = self._say(f"scaled and compressed {source!r}", clock)
        self._solve(problem, source, start_seed)
        clock = perf_counter()
        width = self._embedder.trace.n_anchors
        with source.embedded(self._embedder, width, folder) as results:
            clock = self._say("embedded", clock)
            self._assignment = fit_assignment(results, **self._assignment_settings(assignment_seed))
            results.label(self._assignment)
        self.embedding_, self.labels_ = results.embedding, results.labels
        self._say("assigned", clock)
        return self

    @available_if(_can_grow)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add a batch of samples and cluster all samples seen so far.

        Only sums over the batches are kept (and 20,000 samples, drawn evenly from all batches, by
        which the centroids are placed), so memory does not grow with the number of batches. The
        model is the one that `fit` gives on all batches at once; what an earlier `fit` learned is
        forgotten. `labels_` and `embedding_` are those of this batch; `predict` gives them for
        earlier ones.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            All batches have the same views, and the first at least `n_clusters` samples.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self : DALMC
        """
        start_seed, assignment_seed = self._seeds()
        if hasattr(self, "labels_") and not hasattr(self, "_growing"):
            raise ValueError(
                "This model was loaded from a file, which does not hold the sums that partial_fit "
                "adds to. Start from a new model."
            )
        growing = getattr(self, "_growing", None)
        data = self._validate(X, reset=growing is None, fitting=True)
        if growing is None:
            growing = GrowingData(data, self.scaling, assignment_seed)
        if growing.scaling != self.scaling:
            raise ValueError(
                f"scaling was '{growing.scaling}' for the batches so far and cannot become "
                f"'{self.scaling}'. Start from a new model."
            )
        growing = growing.with_batch(data)
        problem = growing.problem(data, unit_norm=self.unit_norm)
        self._solve(problem, data, start_seed)
        self._assignment, _ = self._assign(self._embedder(growing.sample), assignment_seed)
        self.embedding_ = self._embedder(data)
        self.labels_ = self._assignment(self.embedding_)
        self._growing = growing
        return self

    @available_if(_embeds_new_samples)
    def transform(self, X: Any, *, out: _Path = None) -> Any:
        """Embed samples: rows of the anchor graph that the fitted model gives them.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            A dict is matched by the names of the views, other forms by position. Samples may lack
            views, also in patterns that `fit` has not seen: by rows of NaN, by None for a view, or
            by leaving it out of a dict.
        out : path-like, default=None
            An ``.npy`` file to write the result to, part by part; a memory map of it is returned.

        Returns
        -------
        embedding : array (n, n_anchors)
            A dask array if the views are.
        """
        check_is_fitted(self)
        return self._carry(X, None, out)

    @available_if(_embeds_new_samples)
    def predict(self, X: Any, *, out: _Path = None) -> Any:
        """Cluster of each sample; on the samples of `fit` it returns ``labels_``.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            As for `transform`: samples may lack views.
        out : path-like, default=None
            As for `transform`.

        Returns
        -------
        labels : array (n,) of int32
            A dask array if the views are.
        """
        check_is_fitted(self)
        return self._carry(X, self._assignment, out)

    @available_if(_embeds_new_samples)
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, with the parameters that `fit` takes, and return the embedding of the samples."""
        return self.fit(X, **fit_params).embedding_

    def _carry(self, X: Any, assignment: Assignment | None, out: _Path) -> Any:
        """Embeddings of samples in any form, or their labels by an assignment."""
        source = source_of(X, self.memory_limit, always=out is not None)
        if source is None:
            embedding = self._embedder(self._validate(X, reset=False))
            return embedding if assignment is None else assignment(embedding)
        self._check_features(X, source, reset=False)
        names, widths = self.view_names_in_, self.n_features_per_view_
        carrier = Carrier(names, widths, type(self).__name__, self._embedder, assignment)
        return carrier.bring(source, None if out is None else Path(out))

    @property
    def projections_(self) -> list[Array]:
        """Maps from the scaled views to the embedding of a sample that has all of them."""
        check_is_fitted(self)
        _embeds_new_samples(self)
        W = self._embedder.maps(tuple(range(self.n_views_in_)))
        return np.split(W, np.cumsum(self.n_features_per_view_)[:-1])

    @property
    def _sizes(self) -> Sizes:
        return Sizes(self.n_clusters, self.n_anchors, self.n_components)

    def _solve(self, problem: SmallProblem, data: ViewsSchema, seed: int) -> Solution:
        """Solve, and keep what was learned."""
        clock = perf_counter()
        solution, self.n_components_ = Settings(
            self._sizes,
            self.variant,
            self.beta,
            self.init,  # type: ignore[arg-type]
            self.max_iter,
            self.tol,
        ).solve(problem, data, seed)
        self.scalings_ = problem.scalings
        self.view_weights_ = solution.weights
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        self.anchors_ = list(solution.anchors)
        self.bases_ = problem.in_features(solution.bases)
        trace = solution.trace
        if trace is not None:
            trace = trace.converted(problem.in_features)
        self._embedder: Any = None if trace is None else Embedder(trace, self.scalings_)
        ended = "converged" if solution.converged else "not converged yet"
        self._say(
            f"solved with {solution.graph.shape[1]} anchors and {self.n_components_} components "
            f"in {self.n_iter_} iterations, {ended}",
            clock,
        )
        return solution

    def _assign(self, embedding: Array, seed: int) -> tuple[Assignment, Array]:
        return assigned(embedding, **self._assignment_settings(seed))

    def _assignment_settings(self, seed: int) -> dict[str, Any]:
        return {
            "n_clusters": self.n_clusters,
            "method": self.assignment,
            "normalize": self.normalize_embedding,
            "n_init": self.n_init,
            "seed": seed,
        }

    def _require_possible(self, data: ViewsSchema) -> None:
        self._sizes.require_possible(data)
        if self.assignment == "cluster_qr" and self.n_anchors is not None:
            require_columns(self.n_anchors, self.n_clusters)
        if self.variant != "dalmc" and self.solver not in ("auto", "direct"):
            raise ValueError(
                f"variant='{self.variant}' runs on the data itself: use solver='direct' or 'auto'."
            )

    def _plan(self, data: MultiViewData) -> Plan:
        routes: tuple[Route, ...]
        if self.variant != "dalmc":
            routes = ("direct",)
        elif self.solver == "auto":
            routes = ("compressed", "left", "direct")
        else:
            routes = (self.solver,)  # type: ignore[assignment]
        n_anchors = self.n_anchors or self.n_clusters
        wanted = self._sizes.wanted(data)
        return plan(data, wanted, n_anchors, self.max_iter, routes, self.memory_limit)
