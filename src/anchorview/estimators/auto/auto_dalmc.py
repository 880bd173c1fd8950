"""AutoDALMC: the consensus of several settings, with an optional choice of the cluster number."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.memory import memory_budget, require_memory
from anchorview._utils.param_constraints import (
    N_CLUSTERS,
    POSITIVE,
    RANDOM_STATE,
    VERBOSE,
)
from anchorview._utils.restored import restored_on_error
from anchorview._utils.sklearn_compat import StrOptions, fit_context
from anchorview._utils.threads import kept_threads
from anchorview._utils.typing import Array
from anchorview.core.assign import Assignment, ClusterSpread
from anchorview.core.preprocessing import STATISTICS, STEPS, Impute, Preprocess
from anchorview.estimators.auto.candidates import (
    LABEL_DTYPE,
    MAX_CLUSTERS,
    CandidatePool,
)
from anchorview.estimators.auto.consensus import (
    agreement_with,
    best_by_family,
    cross_agreement,
    family_weights,
    find_consensus,
    mean_agreement,
)
from anchorview.estimators.auto.consensus_explanation import ConsensusExplanation
from anchorview.estimators.auto.fitted_candidates import (
    NO_CANDIDATE,
    FittedCandidates,
    candidate_table,
    fit_candidates,
)
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.labeling import (
    RESULTS,
    LevelLabeler,
    PartLabeler,
    RowSums,
    SumsOfRecords,
    UsedViews,
    merged_sums,
    partitions_of,
)
from anchorview.estimators.auto.level_fits import fit_levels, partitions_of_families
from anchorview.estimators.auto.levels import (
    Branch,
    FittedLevel,
    LevelLabels,
    branch_table,
    chosen_number,
    find_levels,
    level_table,
)
from anchorview.estimators.auto.memory_needs import memory_needed
from anchorview.estimators.auto.number_curve import (
    ROWS,
    NumberCurve,
    compare_numbers,
    informative_views,
    numbers_to_try,
)
from anchorview.estimators.auto.representative_rows import n_sampled, representative_sample
from anchorview.estimators.auto.settings import (
    BUDGETS,
    STANDARDIZED,
    Budget,
    Setting,
    candidate_settings,
    representative_settings,
)
from anchorview.estimators.auto.structure import (
    ROWS_PER_LANDMARK,
    compared_rows,
    drawn_rows,
    gaussian_like,
    structure_of,
    structure_sentence,
)
from anchorview.estimators.auto.view_consistency import (
    ViewChoice,
    agreement_with_views,
    choose_views,
    consistency_sentences,
    consistency_table,
    partitions_of_views,
)
from anchorview.estimators.base import EmbeddingClusterer, PathLike, by_block
from anchorview.estimators.batches import UnknownBatch
from anchorview.estimators.docstrings import fill_docstring
from anchorview.estimators.persistence.auto_state import AutoDALMCState
from anchorview.estimators.relabeling import Relabeling
from anchorview.sources.disk_source import DiskSource
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.container import MultiViewData, ViewsLike
from anchorview.views.input_grammar import Join
from anchorview.views.row_source import RowSource


@fill_docstring
class AutoDALMC(EmbeddingClusterer):
    r"""Consensus of several DALMC settings, without settings to tune.

    Six families of settings are fitted: four scalings of the views, and two with the views lifted
    to weights on landmarks (see Notes). Every setting is a candidate, and each of its K-means runs
    a partition of the samples. The score of a partition is its mean adjusted Rand index with those
    of the *other* families, which make other errors. Starting from the best partition of each
    family, samples are moved to the cluster whose mean pattern of labels over all partitions is
    nearest to their own, until no sample moves. The result with the smallest distances is kept,
    unless all other starts lead to a different one. Families with and without a lift initially
    have the same total weight; then partitions are also weighted by their agreement with the
    result. Known classes are never used.

    Parameters
    ----------
    n_clusters : int, sequence of int or None, default=None
        Number of clusters, at least 2; or numbers to choose from, for example ``range(2, 21)``.
        If None, all numbers from 2 to 30, some up to 100, and larger ones while the agreement
        rises, as long as there are 5 samples per cluster.
    budget : {"fast", "default", "thorough"}, default="default"
        How many settings to fit: one of each of four families; by default, 64 for up to 2,500
        samples and 10 for more; or all 68 (64 for up to about 1,000 samples).
    %(preparation_parameters)s
    random_state : int, RandomState instance or None, default=None
        Seed of K-means and of the landmarks.
    verbose : int, default=0
        If 1, print each candidate, the best so far, and the time of each stage.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    confidence_ : array (n,)
        Weighted share of the partitions that agree with the label of the sample: each partition
        votes for the cluster that has most of the samples to which it gives the same label. Low
        for doubtful samples. If `relabel` has merged clusters, it still refers to the clusters
        before merging; `predict_with_confidence` counts votes for the merged ones.
    confidence_threshold_ : float
        Confidence below which a sample is doubtful: 0.5 or, if there is no clear structure, the
        mean confidence on data without clusters (see Notes), if that is higher.
    structure_ : float or None
        How much better the families agree than on data without clusters (see Notes), as a share of
        the largest possible difference, from 0 to 1. It is 0 if the agreement cannot be told from
        that on data without clusters: then there is no clear structure, and the labels mean little.
        None if fewer than two families were fitted.
    chance_agreement_ : float or None
        Mean agreement between families on data without clusters.
    second_labels_ : array (n,) of int32
        The second most likely cluster of each sample: the one with the second nearest pattern; -1
        if `relabel` has merged it with the cluster of the sample.
    n_clusters_ : int
        Number of clusters; a warning is given if some of them are empty.
    curve_ : pandas.Series or None
        Mean agreement between families for each number of clusters that was tried; NaN if it could
        not be computed. None if a single number was given.
    chance_curve_ : pandas.Series or None
        The same on data without clusters, interpolated between some of the numbers.
    levels_ : pandas.DataFrame or None
        The chosen number of clusters and up to four others for which families agree well, by number
        of clusters: `agreement`; `chance`, that on data without clusters; `structure`, the first
        beyond the second, as a share of the largest possible difference; `prominence`, how much the
        structure rises to the level; and `chosen`. None if a single number was given.
    tree_ : pandas.DataFrame or None
        How clusters split from each level to the next: one row per cluster (`n_clusters` and
        `cluster`) with its parent at the next coarser level (`parent_level` and `parent`); `size`,
        out of the samples that were compared; `overlap`, the share of the cluster in its parent;
        and how well families agree on the split of the parent, `split_agreement`, beside
        `split_chance` on data without clusters. NaN if the parent does not split.
    level_labels_ : array (n, n_levels - 1) of int32 or None
        Clusters at the levels other than the chosen one; see `labels_at`.
    candidates_ : pandas.DataFrame
        One row per candidate: its settings; `agreement`, the highest score of its partitions;
        `agreement_with_result`, the adjusted Rand index of its partition with the lowest inertia
        with `labels_`; `stability`, the mean agreement between its own partitions; `inertia`, the
        mean squared distance of the embedding's rows to their centroids; `n_iter`; `seconds`; and
        `error`, if it could not be fitted. Such candidates come last and are not part of the
        attributes below.
    agreement_ : array (n_candidates, n_candidates)
        Mean adjusted Rand index between the partitions of every two candidates; on the diagonal,
        between those of one, which is its stability.
    best_candidate_ : int
        Candidate with the highest score.
    view_weights_ : Series (n_views,)
        Mean weight of each view over the candidates; the weights sum to 1. 0 for a view that was
        set aside.
    view_agreement_ : Series (n_views,)
        Adjusted Rand index of `labels_` with a clustering of each view alone, on the samples that
        have the view.
    view_consistency_ : DataFrame
        Indexed by view, from clusterings of each view alone: `with_others`, the mean adjusted Rand
        index of the view with the other views that are used; `among_others`, that between these
        other views; and `used`, False if the view was set aside (see Notes). NaN where there are no
        views to compare.
    views_used_ : tuple of str
        Names of the views that were not set aside.
    embedding_ : array (n, l)
        Anchor graph of the best candidate, as are `objective_` and `n_iter_`. Its columns are
        orthonormal; with more samples than the candidates are fitted to, approximately.
    %(input_attributes)s

    See Also
    --------
    anchorview.DALMC : A single setting, several times faster.
    anchorview.metrics.stability : Agreement of a model's clusterings over seeds.

    Notes
    -----
    A lifted view has the weights of a sample on its 5 nearest landmarks, out of 500 to 1,000 that
    K-means places, or all samples if there are fewer than 500; curved clusters become linearly
    separable. Scalings, compression and lifts are computed once per family.

    **Many samples.** Everything is fitted to about 10,000 samples, which are selected by their
    content, so that neither their order nor their place matters; of each view that samples may
    lack, there are at least 200. All samples are then labeled in one pass, by all candidates
    together. Views on disk or in Dask are read three times: to select the sample, to fetch it, and
    to label. There is no `partial_fit`: landmarks, K-means runs and the consensus depend on the
    sample as a whole and not on sums over batches. Label new samples by `predict`, and fit again
    when the data have changed; or use :meth:`anchorview.DALMC.partial_fit`.

    **The number of clusters.** One setting of each of four families is fitted for each number, on
    at most 2,000 samples and on data without clusters (see below). The number with the most
    structure (agreement beyond chance) is chosen, or the smallest number within 0.01 of it. Two
    clusters are chosen only if all other numbers have less than 70 % of their structure, since a
    first division is stable on most data and says little. More than 30 clusters must have 0.05 more
    structure than fewer: neighbors stay together in many small clusters, whatever the data. Data
    often have clusters at several levels. Treat the number as a proposal: look at `levels_`, and
    pass the number if you know it.

    **Structure.** Families also agree to some degree on data without clusters, since all divide it
    along its longest directions. So one setting of each of four families (two with the fast
    budget) is fitted to 1,000 of the samples, or 5 per cluster if that is more, and to 1 to 12 data
    sets drawn from the normal distribution with the same means and covariances. If the agreement is
    as high on one of these, or hardly beyond their spread, `structure_` is 0; otherwise it is the
    difference from their mean, as a share of the largest possible.

    **Views that hurt.** A view with noise, or with clusters that have nothing to do with those of
    the other views, makes the result worse. If there are three or more views, each is clustered
    alone. A view disagrees if its mean adjusted Rand index with the other views is less than 15 %
    of theirs with each other, which must be at least 0.1. It is set aside unless families agree
    clearly less without it, or some samples have no other view. More than half of the views are
    always kept, and the number of clusters, if not given, is chosen again with these views. The
    printed model, the command line and reports say which views were set aside.

    Samples that lack views are clustered and predicted as by :class:`~anchorview.DALMC`; those that
    only have views that were set aside cannot be predicted. The order of the samples affects
    results only by rounding: in single precision it can move a few samples between overlapping
    clusters, and if there are more separated clusters than requested, it decides which of them are
    merged.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> views, y = make_multiview(200, n_clusters=4, separation=8, random_state=0)
    >>> model = AutoDALMC(n_clusters=range(2, 8), random_state=0).fit(views)
    >>> model.n_clusters_
    4
    >>> from anchorview.metrics import clustering_accuracy
    >>> clustering_accuracy(y, model.labels_)
    1.0
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """

    _state_class = AutoDALMCState
    _judges_structure = True

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's protocol)
        "n_clusters": [*N_CLUSTERS, "array-like", range, None],
        "budget": [StrOptions(set(BUDGETS))],
        "impute": [StrOptions(set(STATISTICS)), Mapping, None],
        "preprocess": [StrOptions(set(STEPS)), Mapping, None],
        "batch_scale": ["boolean"],
        "memory_limit": [POSITIVE, str, None],
        "random_state": RANDOM_STATE,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        budget: Budget = "default",
        impute: Impute = None,
        preprocess: Preprocess = None,
        batch_scale: bool = True,
        memory_limit: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.budget = budget
        self.impute = impute
        self.preprocess = preprocess
        self.batch_scale = batch_scale
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @restored_on_error
    @kept_threads()
    @fill_docstring
    def fit(
        self,
        X: ViewsLike,
        y: object = None,
        *,
        views: ViewSelection | None = None,
        join: Join = "outer",
        batch: Any = None,
        covariates: Any = None,
        out: PathLike | None = None,
    ) -> Self:
        """Choose the number of clusters if necessary, fit the candidates, find their consensus.

        Views on disk (:func:`anchorview.open_views`, ``numpy.memmap``) are read part by part. Dask
        arrays and dataframes are processed where they are; `labels_`, `confidence_`,
        `second_labels_` and `embedding_` are then dask arrays too. The workers of a cluster hold
        these: compute or store them before the client is closed.

        Parameters
        ----------
        %(fit_parameters)s
        out : path-like, default=None
            Folder, created if necessary, to which ``labels.npy``, ``confidence.npy``,
            ``second_labels.npy``, ``embedding.npy`` and, if there are other levels,
            ``level_labels.npy`` are written part by part; the attributes are memory maps of them.
            Beside them, ``sample_ids.npy`` has the sample ids, or positions if there are none.

        Returns
        -------
        self : AutoDALMC
        """
        source = self._open(X, out, views, join, batch, covariates)
        source, batches = self._fit_batches(source)
        n_samples = len(source)
        _, seed = self._seeds()
        numbers = numbers_to_try(self.n_clusters, n_samples)
        self._require_memory(source, numbers[-1], out)
        with warnings.catch_warnings():
            # K-means warns about coinciding points; empty clusters are reported below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            clock = perf_counter()
            sample = representative_sample(source, self._n_sampled(n_samples))
            if len(sample) < n_samples:
                clock = self._say(f"selected {len(sample)} representative samples", clock)
            pool = CandidatePool(sample, seed, n_samples)
            choice, curve = self._choose_views(source, sample, pool, seed)
            pool = choice.pool
            if curve is not None:
                clock = self._say(f"chose {self.n_clusters_} clusters", clock)
                if self.n_clusters_ > numbers[-1]:
                    self._require_memory(source, self.n_clusters_, out)
            fitted = fit_candidates(pool, self._settings(pool), self.n_clusters_, self._say)
            chosen = self._fit_consensus(choice, sample.with_views(choice.used), fitted)
            clock = self._say(f"found the consensus of {len(self._candidates)} candidates", clock)
            self._fit_levels(pool, chosen, curve)
            # Its samples and reference would stay in memory; structure draws others.
            del curve
            self._judge_structure(pool, seed)
            if self.structure_ is not None:
                clock = self._say(structure_sentence(self.structure_), clock)
            del sample, pool, choice, fitted
        self._label(source, out)
        if not isinstance(source, MultiViewData):
            self._say(f"labeled {source!r}", clock)
        self._warn()
        self._judge_batches(batches)
        return self

    @fill_docstring
    def transform(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
        scale: bool = True,
        out: PathLike | None = None,
    ) -> Any:
        """Embed samples by the best candidate.

        Parameters
        ----------
        %(new_samples)s
        scale : bool, default=True
            As for :meth:`anchorview.DALMC.transform`.
        out : path-like, default=None
            An ``.npy`` file to which the result is written part by part; a memory map of it is
            returned.

        Returns
        -------
        embedding : array (n, l)
            A dask array if the views are.
        """
        source = self._open_new(X, out, batch, covariates, unknown_batch)
        function = partial(_scaled_embedding, self._labeler, self._scale_factor if scale else 1.0)
        path = None if out is None else Path(out)
        width = self._labeler.n_anchors
        rows = source.map_rows(function, width, source.dtype, "embedding", path)
        return self._with_ids(rows, source.sample_ids)

    def predict(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
        level: int | None = None,
        out: PathLike | None = None,
    ) -> Any:
        """Cluster of each sample; for the samples of `fit`, ``labels_``.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            Samples may lack views.
        batch, covariates, unknown_batch
            As for `transform`.
        level : int, default=None
            Number of clusters of one of `levels_`, which `relabel` does not change. If None, the
            clusters of `labels_`.
        out : path-like, default=None
            As for `transform`.

        Returns
        -------
        labels : array (n,) of int32
            A dask array if the views are.
        """
        source = self._open_new(X, out, batch, covariates, unknown_batch)
        path = None if out is None else Path(out)
        fitted = self._level(level)
        labeler = self._labeler if level is None else replace(self._labeler, clusters=None)
        labels = (
            labeler.labels
            if fitted is None
            else LevelLabeler(self._used_views, self._families, fitted)
        )
        return source.map_rows(labels, None, np.int32, "labeling", path)

    def labels_at(self, n_clusters: int) -> Any:
        """Clusters of the samples of `fit` at one of the levels, which `relabel` does not change.

        Parameters
        ----------
        n_clusters : int
            Number of clusters of one of `levels_`.

        Returns
        -------
        labels : array (n,) of int32
            A dask array if the views were.
        """
        check_is_fitted(self, "labels_")
        fitted = self._level(n_clusters)
        if fitted is None:
            return self.labels_ if self._fit_labels is None else self._fit_labels
        assert self.level_labels_ is not None
        return self.level_labels_[:, self._others.index(fitted)]

    def predict_with_confidence(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
    ) -> tuple[Any, Any]:
        """Cluster of each sample, and the share of the partitions that agree with it.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            Samples may lack views.
        batch, covariates, unknown_batch
            As for `transform`.

        Returns
        -------
        labels : array (n,) of int32
        confidence : array (n,)
            Both are dask arrays if the views are.
        """
        source = self._open_new(X, None, batch, covariates, unknown_batch)
        found, _ = self._labeled(source, ("labels", "confidence"), None)
        return found["labels"], found["confidence"]

    def candidate_labels(self, X: ViewsLike, *, batch: Any = None, covariates: Any = None) -> Any:
        """Clusters of samples by every candidate alone, in its K-means run of lowest inertia.

        Parameters
        ----------
        X : views of samples, in any form that `fit` takes
            Samples may lack views.
        batch, covariates
            As for `transform`.

        Returns
        -------
        labels : array (n_candidates, n) of int
            Rows in the order of `candidates_`, without those that failed. Equal labels in different
            rows are unrelated. A dask array if the views are.
        """
        source = self._open_new(X, None, batch, covariates)
        function, width = self._labeler.candidate_labels, len(self._candidates)
        return source.map_rows(function, width, LABEL_DTYPE, "labeling", None).T

    def _works_in_parts(self, source: RowSource, out: PathLike | None) -> bool:
        # All of few samples are needed in memory in any case.
        few = self._n_sampled(len(source)) == len(source) and out is None
        return not (few and isinstance(source, DiskSource))

    def _n_sampled(self, n_samples: int) -> int:
        """About how many rows everything is fitted to."""
        largest = None
        if self.n_clusters is not None:
            largest = numbers_to_try(self.n_clusters, n_samples)[-1]
        return n_sampled(n_samples, largest, self.budget)

    def _require_possible(self, data: RowSource) -> None:
        numbers = numbers_to_try(self.n_clusters, len(data))
        if len(data) < numbers[0]:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={numbers[0]}.")
        if numbers[-1] > MAX_CLUSTERS:
            raise ValueError(f"n_clusters={numbers[-1]} should be <= {MAX_CLUSTERS}; use DALMC.")

    def _require_memory(self, source: RowSource, n_clusters: int, out: PathLike | None) -> None:
        """Raise if a fit with up to `n_clusters` clusters needs more memory than it may use."""
        sampled = self._n_sampled(len(source))
        settings = candidate_settings(n_clusters, sampled, self.budget)
        in_memory = isinstance(source, MultiViewData | DiskSource) and out is None
        needed = memory_needed(source, sampled, settings, n_clusters, keeps_results=in_memory)
        limit = None if self.memory_limit is None else memory_budget(self.memory_limit)
        write = "write results to files with out=, " if in_memory else ""
        advice = f"Reduce budget, {write}fit a sample and predict the rest, or use DALMC."
        require_memory(needed, f"Clustering {source!r} by AutoDALMC", advice, limit)

    def _choose_views(
        self, source: RowSource, sample: MultiViewData, pool: CandidatePool, seed: int
    ) -> tuple[ViewChoice, NumberCurve | None]:
        """Choose the number of clusters, if it is not given, and the views that are used.

        The pool has all views. The curve is None if the number is given.
        """
        curve = self._choose_number(pool, seed)
        self._prepare(pool)
        views = choose_views(source, sample, pool, self.n_clusters_)
        self._consistency = views.consistency
        for sentence in self._view_sentences():
            self._say(sentence)
        if curve is not None and len(views.used) < len(sample.views):
            # The numbers were compared by views that are not used.
            curve = self._choose_number(views.pool, seed)
            self._prepare(pool)
            views = replace(views, alone=partitions_of_views(pool, self.n_clusters_))
        return views, curve

    def _choose_number(self, pool: CandidatePool, seed: int) -> NumberCurve | None:
        """Set the number of clusters and, if it is not given, the curves by which it is chosen."""
        numbers = numbers_to_try(self.n_clusters, pool.n_represented)
        curve = None if len(numbers) == 1 else self._compare_numbers(pool, seed)
        self._set_number(numbers[0], curve)
        return curve

    def _settings(self, pool: CandidatePool) -> list[Setting]:
        return candidate_settings(self.n_clusters_, len(pool.data), self.budget)

    def _prepare(self, pool: CandidatePool) -> None:
        """Prepare the families of all candidates; raises if none can be."""
        settings = self._settings(pool)
        errors = pool.prepare([(setting, self.n_clusters_) for setting in settings])
        if errors.keys() >= {setting.family for setting in settings}:
            raise ValueError(f"{NO_CANDIDATE}{errors[settings[0].family]}")

    @property
    def views_used_(self) -> tuple[str, ...]:
        """Names of the views that were not set aside."""
        return tuple(self.view_names_in_[p] for p in self._used)

    @property
    def _used(self) -> tuple[int, ...]:
        """Positions of the views that were not set aside."""
        return tuple(p for p, own in enumerate(self._consistency) if own.used)

    @property
    def view_consistency_(self) -> pd.DataFrame:
        """How well each view, clustered alone, agrees with the other views that are used."""
        return consistency_table(self.view_names_in_, self._consistency)

    def _view_sentences(self) -> list[str]:
        """Sentences on the views that were set aside, or would have been."""
        return consistency_sentences(self.view_names_in_, self._consistency)

    def _compare_numbers(self, pool: CandidatePool, seed: int) -> NumberCurve:
        """Compare numbers of clusters on some of the samples."""
        data = informative_views(pool.data[drawn_rows(len(pool.data), ROWS)])
        reference = gaussian_like(data, np.random.default_rng(seed))
        return compare_numbers(data, reference, self.n_clusters, seed)

    def _set_number(self, number: int, curve: NumberCurve | None) -> None:
        """Set the number of clusters and the curves; without curves, to `number`."""
        self.curve_ = self.chance_curve_ = None
        self.n_clusters_ = number
        if curve is not None:
            self.curve_, self.chance_curve_ = curve.agreement, curve.chance
            self.n_clusters_ = chosen_number(curve.agreement, curve.chance)

    def _fit_levels(
        self, pool: CandidatePool, chosen: LevelLabels, curve: NumberCurve | None
    ) -> None:
        """Fit the levels other than the chosen one, if the number was chosen."""
        self._levels: list[FittedLevel] = []
        self._branches: list[Branch] = []
        if curve is not None:
            levels = find_levels(curve.agreement, curve.chance, self.n_clusters_)
            self._levels, self._branches = fit_levels(pool, levels, chosen, curve)
            used = {c.setting.family for level in self._others for c in level.candidates}
            self._families |= {family: pool.problem(family).fitted for family in used}
        self._set_tables()

    def _set_tables(self) -> None:
        """Set the tables of candidates, levels and branches."""
        results = {
            "agreement": self._scores,
            "agreement_with_result": self._with_result,
            "stability": self.agreement_.diagonal(),
        }
        self.candidates_ = candidate_table(
            self._candidates, self._failed, self.n_clusters_fit_, results
        )
        levels = [fitted.level for fitted in self._levels]
        self.levels_ = level_table(levels, self.n_clusters_fit_) if levels else None
        self.tree_ = branch_table(self._branches) if levels else None

    @property
    def _others(self) -> tuple[FittedLevel, ...]:
        """Levels other than the chosen one."""
        return tuple(fitted for fitted in self._levels if fitted.consensus is not None)

    def _level(self, n_clusters: int | None) -> FittedLevel | None:
        """Fitted level with a number of clusters; None if it is the chosen one."""
        if n_clusters is None or n_clusters == self.n_clusters_fit_:
            return None
        for fitted in self._others:
            if fitted.level.n_clusters == n_clusters:
                return fitted
        known = sorted({*(f.level.n_clusters for f in self._levels), self.n_clusters_fit_})
        raise ValueError(
            f"There is no level with {n_clusters!r} clusters, only with "
            f"{', '.join(map(str, known))}. Fit a model with n_clusters={n_clusters!r}."
        )

    def _fit_consensus(
        self, views: ViewChoice, sample: MultiViewData, fitted: FittedCandidates
    ) -> LevelLabels:
        """Find the consensus, and set the attributes that describe it and the candidates.

        `sample` has the views that are used, and the pool its samples in another order. Returns the
        clusters of the samples of the pool.
        """
        self._candidates, self._failed = fitted.candidates, fitted.failed
        self._families = {
            c.setting.family: views.pool.problem(c.setting.family).fitted for c in self._candidates
        }
        k, n_candidates = self.n_clusters_, len(self._candidates)
        families = [c.setting.family.key for c in self._candidates for _ in c.runs]
        weights = family_weights(families)
        scores = cross_agreement(fitted.agreement, families)
        # Labeled as all samples will be: rounding may decide between equally near centroids.
        partitions = partitions_of(self._families, self._candidates, sample)
        starts = partitions[best_by_family(scores, families)]
        self._relabeling = self._fit_labels = None
        self._consensus, labels = find_consensus(partitions, k, weights, starts)

        self._scores = scores.reshape(n_candidates, N_KMEANS_RUNS).max(axis=1)
        self._with_result = agreement_with(labels, partitions[::N_KMEANS_RUNS], k)
        self.agreement_ = mean_agreement(fitted.agreement, N_KMEANS_RUNS)
        self.best_candidate_ = int(self._scores.argmax())
        best = self._candidates[self.best_candidate_]
        self.objective_ = best.objective
        self.n_iter_ = len(best.objective)
        by_candidate = weights.reshape(n_candidates, N_KMEANS_RUNS).sum(axis=1)
        weights_by_candidate = np.array([c.view_weights for c in self._candidates])
        view_weights = np.zeros(self.n_views_in_)
        view_weights[list(views.used)] = by_candidate @ weights_by_candidate
        self.view_weights_ = self._by_view(view_weights, "weight")
        alone = agreement_with_views(labels, views.alone)
        self.view_agreement_ = self._by_view(alone, "agreement")
        order = views.pool.order
        by_family = partitions_of_families(self._candidates, partitions[:, order])
        return LevelLabels(k, labels[order], by_family)

    def _judge_structure(self, pool: CandidatePool, seed: int) -> None:
        """Compare the agreement between families with that on data without clusters."""
        self.structure_ = self.chance_agreement_ = None
        if not self._judges_structure:
            return
        # Not representative rows, which always have the outliers: these decide on covariances.
        sample = pool.data[compared_rows(pool.data, self.n_clusters_)]
        settings = representative_settings(self.n_clusters_, len(sample), ROWS_PER_LANDMARK)
        if self.budget == "fast":
            settings = [own for own in settings if own.family.scaling == STANDARDIZED]
        structure = structure_of(sample, settings, self.n_clusters_, seed)
        self.structure_ = structure.value
        self.chance_agreement_ = structure.chance_agreement
        self.confidence_threshold_ = structure.confidence_threshold

    @property
    def _used_views(self) -> UsedViews:
        return UsedViews(self._fitted_views, self._used)

    def __anchorview_explain__(self) -> ConsensusExplanation:
        check_is_fitted(self, "labels_")
        sums = self._row_sums.relabeled(self._relabeling)
        return ConsensusExplanation(
            self._part_preparation,
            self.view_names_in_,
            self._relabeling,
            self._labeler,
            Assignment(sums.means, normalize=True),
            sums.spread,
            self._membership_scale,
        )

    @property
    def _labeler(self) -> PartLabeler:
        return self._labeler_with(())

    def _labeler_with(self, other_levels: tuple[FittedLevel, ...]) -> PartLabeler:
        return PartLabeler(
            self._used_views,
            self._families,
            self._candidates,
            self._consensus,
            self.best_candidate_,
            None if self._relabeling is None else self._relabeling.clusters,
            other_levels,
        )

    def _labeled(
        self, source: RowSource, fields: Sequence[str], out: PathLike | None
    ) -> tuple[dict[str, Any], tuple[ClusterSpread, RowSums]]:
        """Results of all samples of a source, and sums over each cluster, in one pass."""
        labeler = self._labeler_with(self._others if "level_labels" in fields else ())
        return source.map_fields(
            labeler,
            labeler.record_type(source.dtype),
            fields,
            SumsOfRecords(self.n_clusters_),
            merged_sums,
            "labeling",
            None if out is None else Path(out),
        )

    def _label(self, source: RowSource, out: PathLike | None) -> None:
        """Set the attributes with one entry per sample."""
        fields = (*RESULTS, "level_labels") if self._others else RESULTS
        found, (self._spread, self._row_sums) = self._labeled(source, fields, out)
        self.level_labels_ = found.get("level_labels")
        self.labels_, self.confidence_ = found["labels"], found["confidence"]
        self.second_labels_, self.embedding_ = found["second_labels"], found["embedding"]

    def _relabel_samples(self, new: Relabeling) -> None:
        if self._fit_labels is None:
            self._fit_labels = self.labels_
        super()._relabel_samples(new)
        self.n_clusters_ = len(new.names)
        if self.second_labels_ is not None:
            function = partial(_relabeled_second, new.clusters)
            self.second_labels_ = by_block(function, self.second_labels_, self.labels_)

    def _warn(self) -> None:
        """Warn about empty clusters and failed candidates."""
        assert self._spread is not None
        empty = int((self._spread.sizes == 0).sum())
        if empty:
            warnings.warn(f"{empty} of {self.n_clusters_} clusters are empty.", stacklevel=4)
        if self._failed:
            setting, error = self._failed[0]
            warnings.warn(
                f"{len(self._failed)} of {len(self.candidates_)} candidates could not be fitted "
                f"and are left out; the first is {setting}: {error}",
                stacklevel=4,
            )


def _scaled_embedding(labeler: PartLabeler, factor: float, part: MultiViewData) -> Array:
    embedding = labeler.embedding(part)
    embedding *= factor
    return embedding


def _relabeled_second(clusters: Array, second: Array, labels: Array) -> Array:
    """New second clusters of samples, of which `labels` are the new clusters."""
    renamed = np.append(clusters, -1).astype(np.int32)[second]
    return np.where(renamed == labels, np.int32(-1), renamed)
