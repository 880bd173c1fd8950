"""AutoDALMC: the consensus of several settings, with an optional choice of the cluster number."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import deprecated
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.errors import restored_on_error
from anchorview._utils.sklearn_compat import (
    N_CLUSTERS,
    ParameterConstraints,
    StrOptions,
    fit_context,
)
from anchorview._utils.text import capitalized
from anchorview._utils.threads import shared_thread_pool
from anchorview._utils.typing import Array, PathLike
from anchorview.core.centers import Assignment
from anchorview.core.representative_rows import representative_sample
from anchorview.core.solve import ViewImportance, importance_of_views
from anchorview.estimators.auto.evidence import merged_words
from anchorview.estimators.auto.labeling import (
    RESULTS,
    Clustering,
    ConsensusExplanation,
    Labeler,
    Sums,
    certain,
    merged_sums,
    relabeled_second,
    sums_of_records,
)
from anchorview.estimators.auto.levels import requested_numbers
from anchorview.estimators.auto.model_fit import (
    FittedModel,
    fit_model,
    n_sampled,
    require_fit_memory,
)
from anchorview.estimators.base import EmbeddingClusterer, fill_docstring
from anchorview.estimators.batches import UnknownBatch
from anchorview.estimators.explanation import ROUNDING
from anchorview.estimators.known.known_labels import KnownLabels, known_labels, with_pairs
from anchorview.estimators.partitions.candidates import ONE_CLUSTER, POOL, Budget
from anchorview.estimators.partitions.consensus import DOUBTFUL_CONFIDENCE
from anchorview.estimators.partitions.neighbor_graphs import LABEL_DTYPE, MAX_CLUSTERS
from anchorview.estimators.persistence.auto_state import AutoDALMCState
from anchorview.estimators.preparation import Preprocess
from anchorview.estimators.reference import continuing
from anchorview.estimators.relabeling import Relabeling, by_block, by_sample_id
from anchorview.estimators.representation import apart_sentences, view_sentences
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.container import MultiViewData, ViewsLike
from anchorview.views.input_grammar import Join
from anchorview.views.row_source import Records, RowSource
from anchorview.views.sample_design import ids_in_memory


@fill_docstring
@dataclass(eq=False, repr=False)
class AutoDALMC(EmbeddingClusterer):
    r"""Cluster samples by all of their views, without settings to tune.

    The number of clusters can be left open, and the labels are the consensus of many fits, whose
    agreement is the confidence of each sample.

    Candidates are of two kinds, which have half of the weight each. *Directions*: DALMC in four
    scalings of the views. *Neighbors*: eigenvectors of neighbor graphs, and Louvain communities, in
    three scalings. Every candidate gives up to two partitions, or five of few samples. The score of
    a partition is its mean adjusted Rand index with those of the *other* families (a kind in a
    scaling), which make other errors. Starting from the best partition of each family, samples are
    moved to the cluster whose mean pattern of labels over all partitions is nearest to that of the
    sample, until no sample moves. The nearest of the results is
    kept that agree best with the partitions.
    Partitions whose clusters are further separated have larger weights, and at the end also those
    that agree with the result. If classes of some samples are known, give them to `fit` as `y`:
    clusters are then classes.

    Parameters
    ----------
    n_clusters : int, sequence of int or None, default=None
        Number of clusters, at least 2; or numbers to choose from, for example ``range(2, 21)``.
        If None, those of communities at several resolutions, as long as there are 8 samples per
        cluster.
    budget : {"fast", "default", "thorough"}, default="default"
        How many candidates to fit: 10, on half as many representative samples; 17; or 21.
    view_importance : dict of str to float, default=None
        How much views count, by name; 1 for those that are not named, and relative to the mean over
        the views. It is :math:`w_p` in the objective of :class:`DALMC`, the weight of the view's
        neighbor graph in the mean of the graphs, and of its landmarks where they vote for labels. A
        view that contradicts the others is set aside whatever its importance. To ignore a view,
        leave it out.
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
        votes for the cluster that has most of the samples to which it gives the same label. Times
        what their agreement is worth, which is less below a `structure_` of 0.5, down to 0.45: then
        partitions also agree on data without clusters. Low for doubtful samples. If `relabel` has
        merged clusters, it still refers to the clusters before merging; `predict_with_confidence`
        counts votes for the merged ones.
    confidence_threshold_ : float
        Confidence below which a sample is doubtful: 0.5.
    structure_ : float or None
        Evidence of clusters (see Notes), from 0, as on data without clusters, to 1: strong from 0.5
        on, moderate from 0.25 on, else weak. None for fewer than 50 samples, or 4 per cluster, of
        which clusters cannot be told from noise.
    borders_ : tuple of str or None
        Evidence for each cluster in the same words: "strong", "moderate", "weak" or "none". None as
        `structure_`.
    second_labels_ : array (n,) of int32
        The second most likely cluster of each sample: the one with the second nearest pattern; -1
        if `relabel` has merged it with the cluster of the sample.
    n_clusters_ : int
        Number of clusters; a warning is given if some of them are empty. 1 if no number was given
        and there is no evidence of clusters: `labels_at` has the best division.
    curve_ : pandas.Series or None
        Mean agreement between families for each number of clusters that was tried; NaN if it could
        not be computed. None if a single number was given.
    chance_curve_ : pandas.Series or None
        The same on data without clusters, interpolated between some of the numbers.
    levels_ : pandas.DataFrame or None
        The chosen number of clusters, and a coarse and a fine level, the best ones with at most
        half and at least twice as many clusters, if there is evidence for them. By number of
        clusters: `agreement`; `chance`, that on data without clusters; `support`, the first beyond
        the second, as a share of the largest possible difference; `separation`; `evidence`, the
        larger of both; and `chosen`. None if a single number was given.
    tree_ : pandas.DataFrame or None
        How clusters split from each level to the next: one row per cluster (`n_clusters` and
        `cluster`) with its parent at the next coarser level (`parent_level` and `parent`); `size`,
        out of the samples that were compared; `overlap`, the share of the cluster in its parent;
        and how well families agree on the split of the parent, `split_agreement`, beside
        `split_chance` on data without clusters. NaN if the parent does not split.
    cluster_layers_ : list of arrays (n,) of int32
        Clusters at all levels, from fine to coarse: the form that datamapplot and Toponymy take.
    candidates_ : pandas.DataFrame
        One row per candidate: its settings; `agreement`, the highest score of its partitions;
        `agreement_with_result`, the adjusted Rand index of its first partition with `labels_`;
        `stability`, the mean agreement between its partitions; `inertia`, the mean squared distance
        of the embedding's rows to their centroids, and `n_iter`, if it has them; `seconds`; and
        `error`, if it could not be fitted. Such candidates come last and are not part of the
        attributes below.
    agreement_ : array (n_candidates, n_candidates)
        Mean adjusted Rand index between the partitions of every two candidates; on the diagonal,
        between those of one, which is its stability.
    best_candidate_ : int
        Candidate of directions with the highest score.
    views_ : DataFrame
        By view: `weight`, the mean over the candidates that solve DALMC, which sums to 1 and is 0
        for a view that was set aside; `agreement_with_result`, the largest adjusted Rand index of
        `labels_` with as many communities in the view alone; `separation` of communities in the
        view alone, and `agreement_with_others`, their largest adjusted Rand index with those in
        another view that is used, NaN without any or for fewer than 50 samples; `used`, False if
        the view was set aside (see Notes); and `why` it was, or is used although it should not be,
        else empty.
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
    **Coordinates.** Views are projected once, onto all features where these are few, else onto
    their 128 leading directions, and everything else is computed in these coordinates. The graph
    connects the 15 nearest neighbors of a sample in each view, or 10, in 64 leading coordinates,
    by self-tuning weights; the graphs of the views are averaged. Candidates of neighbors label
    samples by the weights on their 5 nearest landmarks, 2,000 points that K-means places in each
    view, or all samples if there are fewer; 500 for more than 20,000 samples. A landmark votes for
    the label with most weight on it, by its share. Of equal rows of a view, as of a few categories,
    those are neighbors that are also near in the other views.

    **Many samples.** Everything is fitted to about 10,000 samples, which are selected by their
    content, so that neither their order nor their place matters; of each view that samples may
    lack, there are at least 200. All samples are then labeled in one pass, by all candidates
    together. Views on disk or in Dask are read three times: to select the sample, to fetch it, and
    to label. There is no `partial_fit`: landmarks, K-means runs and the consensus depend on the
    sample as a whole and not on sums over batches. Label new samples by `predict`, and fit again
    when the data have changed; or use :meth:`anchorview.DALMC.partial_fit`.

    **Evidence.** Clusters are *separated* by two measures on at most 1,000 samples, or 20 per
    cluster, with standardized features, of which wild values are moved closer: the share of the
    weight of neighbor edges that leave a cluster, relative to that of as many pieces of the same
    graph around random samples; and the density halfway between neighboring clusters relative to
    their lower peak, on samples that did not place the centers; this counts less where hardly any
    edges leave, as between two half moons. Both are about 1 for pieces of a
    continuum and 0 for clusters that do not touch; the separation is 1 minus their sum divided by
    1.53, or 0 if that is negative. Clusters have *support* as far as communities in three scalings
    and DALMC in two agree beyond what they do on normal noise with the same means and covariances.
    Evidence is the larger of both beyond what they are by chance: 0.27, and 0.12 plus 2.8 divided
    by the root of the number of samples. That for a cluster is its separation, or its share in the
    support. The result, levels and clusters are described by the same words.

    **The number of clusters.** Louvain communities of at most 1,500 samples are found at
    resolutions from 1/4 to 16, and merged to small numbers. The score of a number is its support,
    plus 0.3 times the separation, minus 0.04 for each doubling of the resolution away from 1, and
    minus 0.35 for two clusters; the number with the best score is chosen, with at least 8 samples
    per cluster, and more than 30 only if partitions agree by 0.5 or more. Clusters in a graph that
    hardly any edge joins count as supported, also if no other graph finds them, unless they are
    divided further. Data
    without evidence at any number are one cluster. Of given numbers, one is chosen by the same
    score without resolutions. Treat the number as a proposal: look at `levels_`, and pass the
    number if you know it.

    **Known classes.** Samples with a class in `y` keep it, and others get the most likely class.
    Candidates and landmarks pass classes on from sample to sample; candidates count more if they
    explain the known classes, from three samples per class on. The probabilities are multiplied
    with those of logistic regression on the standardized views, which have as much weight with
    eight samples per class, and more with more. `confidence_` is the probability of the class, 1
    where it is known; `second_labels_` of such samples is the class that the model would give them,
    if it is another one. Without `n_clusters` there are as many clusters as classes, and a larger
    number adds clusters without a class. Integers below the number of clusters are numbers of
    clusters; other classes are names, which `predict` and tables return, as after ``relabel(...,
    output="names")``. `predict` gives what the model says, also of samples of `fit` with another
    known class.

    **Views that hurt.** Each view alone is divided into communities. Two views are related if
    these agree (by more than 0.05), or if features are correlated more than with rows in random
    orders. A view that is related to none of the others is set aside if its communities are hardly
    separated (by 0.2) and those of another view are (by 0.65), or if other views agree with each
    other (by 0.2); not if some samples have no other view. Two views with separated communities
    that are not related are used, with a warning: their rows may be in different orders, or they
    are about different things. The printed model, the command line and reports say so.

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

    Two samples of each class are labeled:

    >>> import numpy as np
    >>> known = np.full(200, -1)
    >>> for code in range(4):
    ...     known[np.flatnonzero(y == code)[:2]] = code
    >>> model = AutoDALMC(random_state=0).fit(views, known)
    >>> bool((model.labels_ == y).all())
    True
    """

    confidence_threshold_ = DOUBTFUL_CONFIDENCE
    _state_class = AutoDALMCState

    _parameter_constraints: ClassVar[ParameterConstraints] = {
        **EmbeddingClusterer._parameter_constraints,
        "n_clusters": [*N_CLUSTERS, "array-like", range, None],
        "budget": [StrOptions(set(POOL))],
    }

    n_clusters: int | Sequence[int] | None = None
    _: KW_ONLY
    budget: Budget = "default"
    view_importance: ViewImportance = None
    preprocess: Preprocess = None
    batch_scale: bool = True
    memory_limit: float | str | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

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
        same: Iterable[tuple[Any, Any]] = (),
        different: Iterable[tuple[Any, Any]] = (),
        views: ViewSelection | None = None,
        join: Join | None = None,
        batch: Any = None,
        covariates: Any = None,
        sample_weight: Any = None,
        reference: Any = None,
        out: PathLike | None = None,
    ) -> Self:
        """Choose the number of clusters if necessary, fit the candidates, find their consensus.

        Views on disk (:func:`anchorview.open_views`, ``numpy.memmap``) are read part by part. Dask
        arrays and dataframes are processed where they are; `labels_`, `confidence_`,
        `second_labels_` and `embedding_` are then dask arrays too. The workers of a cluster hold
        these: compute or store them before the client is closed.

        Weights of samples count in scalings, directions, K-means, the consensus and the selection
        of representative samples. Neighbors, evidence and levels are those of distinct samples.

        Parameters
        ----------
        %(fit_views)s
        y : array-like (n,), Series or str, default=None
            Known classes of some samples, as texts or integers; -1, None or NaN for all others. A
            Series is aligned by sample id, and may lack samples. With MuData or AnnData, also the
            name of a column of ``obs``. See Notes.

            .. versionchanged:: 0.2
               Known classes are used; they were ignored before.
        same, different : iterable of pairs, default=()
            Pairs of samples that are in the same cluster, and in different clusters: ids, or
            positions if there are none. Pairs that contradict each other or `y` raise an error.

            .. versionadded:: 0.2
        %(fit_parameters)s
        %(reference)s
        out : path-like, default=None
            Folder, created if necessary, to which ``labels.npy``, ``confidence.npy``,
            ``second_labels.npy``, ``embedding.npy`` and, if there are other levels,
            ``level_labels.npy`` are written part by part; the attributes are memory maps of them.
            Beside them, ``sample_ids.npy`` has the sample ids, or positions if there are none.

        Returns
        -------
        self : AutoDALMC
        """
        source = self._open(X, out, views, join, batch, covariates, sample_weight)
        source, batches = self._fit_batches(source)
        _, seed = self._seeds()
        numbers: Sequence[int] = requested_numbers(self.n_clusters, len(source))
        known = self._known_labels(y, X, source, numbers, same, different)
        if known is not None and known.fits(numbers, len(source)):
            numbers = known.numbers(numbers)
        else:
            known = None
        in_memory = source.keeps_results and out is None
        count, limit = self._n_sampled(len(source)), self.memory_limit
        require_fit_memory(source, count, numbers, limit, kept=in_memory)
        with warnings.catch_warnings():
            # K-means warns about coinciding points; empty clusters are reported below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            clock = perf_counter()
            sample = representative_sample(source, count)
            if len(sample) < len(source):
                clock = self._say(f"selected {len(sample)} representative samples", clock)
            importance = importance_of_views(self.view_importance, source.names)
            fitted = fit_model(
                source, sample, numbers, self.budget, seed, importance, self._say, known
            )
            del sample
        self._set_fitted(fitted)
        for sentence in view_sentences(self):
            self._say(sentence)
        clock = perf_counter()
        self._label(source, out)
        if fitted.known is not None:
            self._keep(fitted.known)
        if source.in_parts:
            self._say(f"labeled {source!r}", clock)
        for sentence in apart_sentences(self):
            warnings.warn(f"{capitalized(sentence)}.", stacklevel=4)
        filled = np.flatnonzero(self._spread.sizes)
        if fitted.known is not None:
            filled = np.union1d(filled, fitted.known.codes)
        if empty := len(self._spread.sizes) - len(filled):
            warnings.warn(f"{empty} of {self.n_clusters_} clusters are empty.", stacklevel=4)
        # In some scalings, all samples of narrow views are alike.
        failed = [each for each in fitted.fitted.failed if each[1] != ONE_CLUSTER]
        if failed:
            warnings.warn(
                f"{len(failed)} of {len(self.candidates_)} candidates could not be fitted and are "
                f"left out; the first is {failed[0][0]}: {failed[0][1]}",
                stacklevel=4,
            )
        self._judge_batches(batches)
        self._restore_unknown()
        return self

    @fill_docstring
    def predict(
        self,
        X: ViewsLike,
        *,
        batch: Any = None,
        covariates: Any = None,
        unknown_batch: UnknownBatch = "error",
        doubtful: int | None = None,
        out: PathLike | None = None,
        level: int | None = None,
    ) -> Any:
        """Cluster of each sample; for the samples of `fit`, ``labels_``.

        Parameters
        ----------
        %(predict_parameters)s
        level : int, default=None
            Number of clusters of one of `levels_`, which `relabel` does not change. If None, the
            clusters of `labels_`. Not together with `doubtful`.

        Returns
        -------
        %(new_labels)s
        """
        if level is None:
            given = {"batch": batch, "covariates": covariates, "unknown_batch": unknown_batch}
            return super().predict(X, doubtful=doubtful, out=out, **given)
        if doubtful is not None:
            raise ValueError(
                f"doubtful={doubtful} and level={level}: how certain samples are is known for the "
                "chosen clusters only. Leave one out."
            )
        source = self._open_new(X, out, batch, covariates, unknown_batch)
        there, clusters = self._clustering_at(level), Relabeling.none(level).clusters
        function = replace(self._labeler, clustering=there, clusters=clusters).labels
        path = None if out is None else Path(out)
        rows = source.map_rows(function, None, np.int32, "labeling", path)
        return by_sample_id(rows, source.sample_ids, "cluster")

    def _label_map(self, doubtful: int | None) -> Callable[[MultiViewData], Array]:
        if doubtful is None:
            return self._labeler.labels
        threshold = self.confidence_threshold_
        return partial(self._labeler.certain_labels, threshold=threshold, doubtful=doubtful)

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
        self._clustering_at(n_clusters)
        if n_clusters == self.n_clusters_fit_:
            return self.labels_ if self._fit_labels is None else self._fit_labels
        assert self._level_labels is not None
        return self._level_labels[:, list(self._others).index(n_clusters)]

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
        labels, confidence : arrays (n,), or Series
            In the form in which `predict` returns labels.
        """
        source = self._open_new(X, None, batch, covariates, unknown_batch)
        results, _ = self._labeled(source, self._labeler, ("labels", "confidence"), None)
        return (
            by_sample_id(self._shown(results["labels"]), source.sample_ids, "cluster"),
            by_sample_id(results["confidence"], source.sample_ids, "confidence"),
        )

    def _certain_labels(self, threshold: float | None) -> Any:
        limit = self.confidence_threshold_ if threshold is None else threshold
        return by_block(partial(certain, threshold=limit), self.labels_, self.confidence_)

    @deprecated("It ends in version 0.4; `predict` gives the consensus of the candidates.")
    def candidate_labels(self, X: ViewsLike, *, batch: Any = None, covariates: Any = None) -> Any:
        """Clusters of samples by every candidate alone, in its K-means run of lowest inertia.

        .. deprecated:: 0.2

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
        function, width = self._labeler.candidate_labels, len(self._clustering.candidates)
        return source.map_rows(function, width, LABEL_DTYPE, "labeling", None).T

    @property
    @deprecated("Use views_['agreement_with_result']. It ends in version 0.4.")
    def view_agreement_(self) -> "pd.Series[float]":
        """Agreement of each view with the result.

        .. deprecated:: 0.2
            Use ``views_["agreement_with_result"]``.
        """
        return self.views_["agreement_with_result"]

    def _embedding_map(self, factor: float) -> Callable[[MultiViewData], Array]:
        return partial(self._labeler.embedding, factor=factor)

    def _works_in_parts(self, source: RowSource, out: PathLike | None) -> bool:
        # All of few samples are needed in memory in any case.
        few = self._n_sampled(len(source)) == len(source) and out is None
        return not (few and source.keeps_results)

    def _n_sampled(self, n_samples: int) -> int:
        """About how many rows everything is fitted to."""
        numbers = requested_numbers(self.n_clusters, n_samples)
        return n_sampled(n_samples, numbers[-1] if numbers else None, self.budget)

    def _require_possible(self, data: RowSource) -> None:
        numbers = requested_numbers(self.n_clusters, len(data)) or [2]
        if len(data) < numbers[0]:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={numbers[0]}.")
        if numbers[-1] > MAX_CLUSTERS:
            raise ValueError(f"n_clusters={numbers[-1]} should be <= {MAX_CLUSTERS}; use DALMC.")
        importance_of_views(self.view_importance, data.names)

    def _set_fitted(self, fitted: FittedModel) -> None:
        """Set the attributes that describe the model."""
        self._fit_labels = None
        self._labeled_rows: Array | None = None
        self._families, self._clustering = fitted.families, fitted.clustering
        self._others, self._consistency = fitted.others, fitted.views.table
        self._apart = fitted.views.apart
        self._relabeling = Relabeling.none(self._clustering.n_clusters)
        self.candidates_ = fitted.candidate_table()
        directions = self.candidates_["kind"] == "directions"
        self.best_candidate_ = int(self.candidates_["agreement"].where(directions).argmax())
        self.agreement_ = fitted.agreement
        self.views_ = self._table_of_views(
            weight=fitted.view_weights(), agreement_with_result=fitted.view_agreement()
        )
        self.objective_ = self._labeler.best.objective
        self.n_iter_ = len(self.objective_)
        table = None if fitted.scan is None else fitted.scan.table
        self.curve_ = None if table is None else table["agreement"]
        self.chance_curve_ = None if table is None else table["chance"]
        self.levels_, self.tree_ = fitted.levels, fitted.tree
        self.structure_ = fitted.evidence.value if fitted.finds_clusters else 0.0
        if not fitted.finds_clusters:
            # The division for which there is no evidence remains in `labels_at`.
            self._relabeling = Relabeling(np.zeros(self.n_clusters_, dtype=np.int32), ("",))
        self._borders = fitted.evidence.words

    @property
    def cluster_layers_(self) -> list[Any]:
        """Clusters of the samples of `fit` at all levels, from fine to coarse.

        This is the form of EVoC, for tools that name or draw topics: datamapplot takes one array of
        names per layer, Toponymy layers made of the arrays. Every sample has a cluster, so that
        there is no -1 for noise. As by `labels_at`, clusters are those of the fit.

        Examples
        --------
        >>> from anchorview import AutoDALMC
        >>> from anchorview.datasets import make_multiview
        >>> views, _ = make_multiview(200, n_clusters=4, random_state=0)
        >>> model = AutoDALMC([2, 4, 8], budget="fast", random_state=0).fit(views)
        >>> [len(set(layer)) for layer in model.cluster_layers_]
        [4]
        """
        check_is_fitted(self, "labels_")
        numbers = sorted((*self._others, self.n_clusters_fit_), reverse=True)
        return [self.labels_at(number) for number in numbers]

    @property
    def borders_(self) -> tuple[str, ...] | None:
        """Evidence for each cluster, in words; None if samples are too few."""
        return merged_words(self._borders, self._relabeling) if self._borders else None

    @property
    def _used(self) -> tuple[int, ...]:
        """Positions of the views that were not set aside."""
        return tuple(np.flatnonzero(self.views_["used"]).tolist())

    def _table_of_views(self, **columns: ArrayLike) -> pd.DataFrame:
        alone = {str(name): column for name, column in self._consistency.items()}
        return super()._table_of_views(**columns, **alone)

    def _clustering_at(self, n_clusters: int) -> Clustering:
        """Clusters of a level as they were fitted."""
        levels = {**self._others, self.n_clusters_fit_: self._clustering}
        if n_clusters in levels:
            return levels[n_clusters]
        raise ValueError(
            f"There is no level with {n_clusters!r} clusters, only with "
            f"{', '.join(map(str, sorted(levels)))}, also after relabel: labels_ has merged "
            f"clusters. Fit a model with n_clusters={n_clusters!r}."
        )

    def __anchorview_explain__(self) -> ConsensusExplanation:
        check_is_fitted(self, "labels_")
        sums = self._row_sums.relabeled(self._relabeling)
        return ConsensusExplanation(
            self._part_preparation,
            self.view_names_in_,
            sums.spread,
            self._membership_scale,
            ROUNDING,
            self._relabeling,
            Assignment(sums.means, normalize=True),
            self._labeler,
        )

    @property
    def _labeler(self) -> Labeler:
        best: Any = self._clustering.candidates[self.best_candidate_]
        clusters = self._relabeling.clusters
        return Labeler(self._used, self._families, self._clustering, best, clusters)

    def _labeled(
        self, source: RowSource, labeler: Labeler, fields: Sequence[str], out: PathLike | None
    ) -> tuple[dict[str, Any], Sums]:
        """Results of all samples of a source, and sums over each cluster, in one pass."""
        summary = partial(sums_of_records, self.n_clusters_fit_)
        dtype = labeler.record_type(source.dtype)
        records = Records(labeler.records, dtype, summary, merged_sums)
        return source.map_fields(records, fields, None if out is None else Path(out))

    def _label(self, source: RowSource, out: PathLike | None) -> None:
        """Set the attributes with one entry per sample."""
        labeler = replace(self._labeler, others=tuple(self._others.values()))
        fields: tuple[str, ...] = (*RESULTS, "level_labels") if self._others else RESULTS
        if self.n_clusters_ < self.n_clusters_fit_:
            fields += ("fitted_labels",)
        results, (self._spread, self._row_sums) = self._labeled(source, labeler, fields, out)
        self._level_labels = results.get("level_labels")
        self._fit_labels = results.get("fitted_labels")
        self.labels_, self.confidence_ = results["labels"], results["confidence"]
        self.second_labels_, self.embedding_ = results["second_labels"], results["embedding"]

    def _known_labels(
        self,
        y: Any,
        X: Any,
        source: RowSource,
        numbers: Sequence[int],
        same: Iterable[tuple[Any, Any]],
        different: Iterable[tuple[Any, Any]],
    ) -> KnownLabels | None:
        """What is known of the samples of a fit; None for nothing."""
        kept = np.ones(len(source), dtype=bool) if self._known is None else self._known
        ids = ids_in_memory(source) if self._known is None else self.sample_ids_
        known = known_labels(y, X, ids, kept, numbers[0] if numbers else 0)
        return with_pairs(known, same, different, ids, kept)

    def _keep(self, known: KnownLabels) -> None:
        """Give samples their known classes, and clusters the names of the classes."""
        self.labels_, self.second_labels_, self.confidence_ = known.kept(
            self.labels_, self.second_labels_, self.confidence_
        )
        self._relabeling = known.relabeling(self.n_clusters_) or self._relabeling
        self._labeled_rows = known.labeled_rows

    def _relabel_samples(self, new: Relabeling) -> None:
        if self._fit_labels is None:
            self._fit_labels = self.labels_
        super()._relabel_samples(new)
        if self.second_labels_ is not None:
            function = partial(relabeled_second, new.clusters)
            self.second_labels_ = by_block(function, self.second_labels_, self.labels_)
