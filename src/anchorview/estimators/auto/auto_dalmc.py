"""AutoDALMC: settings, and if asked for the number of clusters, chosen without labels."""

import warnings
from collections.abc import Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.memory import require_memory
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval, fit_context
from anchorview._utils.typing import Array
from anchorview.estimators.auto.candidates import (
    MOST_CLUSTERS,
    RUNS,
    Candidate,
    CandidatePool,
    Setting,
    memory_needed,
    partitions_of,
    pool,
)
from anchorview.estimators.auto.cluster_number import (
    agreement_by_number,
    chosen_number,
    numbers_to_try,
)
from anchorview.estimators.auto.consensus import (
    agreement_with,
    cross_agreement,
    family_weights,
    find_consensus,
    grown_agreement,
    mean_agreement,
)
from anchorview.estimators.base import EmbeddingClusterer
from anchorview.metrics import adjusted_rand
from anchorview.views.container import MultiViewData


class AutoDALMC(EmbeddingClusterer):
    r"""DALMC without settings: many are fitted, and what they agree on is the result.

    Four families of settings are fitted: two scalings, each of the views as they are and of the
    views lifted to weights on landmarks (see Notes), each with a few sizes and weights ``beta``.
    Every setting is a candidate, and every one of its K-means runs a partition of the samples. A
    partition scores by its mean adjusted Rand index with the partitions of the *other* families,
    which err in other ways; the best one is the start. Then each sample moves to the cluster whose
    mean pattern of labels, over all partitions and with the same weight for each family, is
    nearest to its own, until none moves. No labels are used, and nothing is tuned.

    Parameters
    ----------
    n_clusters : int, sequence of int or None, default=None
        Number of clusters, at least 2; or numbers to choose from, for example ``range(2, 21)``.
        None: from 2 to 30, as long as there are 10 samples a cluster.
    max_candidates : int, default=None
        Most settings to fit, a budget of time; the first four are one of each family. None: all,
        which are 12.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means and of the landmarks.
    verbose : int, default=0
        1 prints each candidate, the best so far, and the time of the stages.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    confidence_ : array (n,)
        Share of the partitions, each family counting the same, that put the sample in its cluster:
        the cluster in which most samples with the partition's label are. Low where a sample is
        doubtful.
    n_clusters_ : int
        Number of clusters; a warning tells if some of them are empty.
    curve_ : pandas.Series or None
        Mean agreement between the families for each number of clusters that was tried; NaN where
        it could not be had. None if the number was given.
    candidates_ : pandas.DataFrame
        One row a candidate: its settings; `agreement`, the best score of its partitions;
        `agreement_with_result`, the adjusted Rand index of its partition of least inertia with
        `labels_`; `stability`, the mean agreement between its own partitions; `inertia`, the mean
        squared distance of the embedding's rows from their centroids; `n_iter`; `seconds`; and
        the `error` of one that could not be fitted. Those come last and are in nothing below.
    agreement_ : array (n_candidates, n_candidates)
        Mean adjusted Rand index between the partitions of any two candidates; on the diagonal
        between those of one, its stability.
    best_candidate_ : int
        Candidate with the highest score, whose partition was the start.
    view_weights_ : array (n_views,)
        How much each view counts, a mean over the candidates; they sum to 1.
    view_agreement_ : array (n_views,)
        Adjusted Rand index of `labels_` with a clustering of each view alone, among the samples
        that have the view.
    embedding_ : array (n, l)
        Anchor graph of the best candidate; `objective_` and `n_iter_` are also its.
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
    anchorview.DALMC : One setting of one's own.
    anchorview.metrics.stability : Agreement of a model's clusterings over seeds.

    Notes
    -----
    A lifted view has a sample's weights on the 5 landmarks next to it, out of (mostly) 500 that a
    K-means run places: clusters that are curved in the view become straight. Scalings, compression
    and lifts are made once a family and serve all of its candidates. Of more than 10,000 samples,
    as many, spread evenly, place the centroids and decide; every sample is then labeled by all
    partitions in one pass over the data a family.

    **The number of clusters.** One setting of each family is fitted for each number, on at most
    4,000 samples, and the largest number is chosen for which their mean agreement is within 0.01
    of the best. Well separated clusters are counted right (54 of 58 made data sets with 2 to 30).
    Classes that somebody defined overlap, have parts, and are alike: on real data the number is
    that on which descriptions of the samples agree, below or above the number of classes, and
    equal to it for one of 15 data sets. It is a proposal: look at `curve_`, and give the number if
    you know it.

    Samples that lack views are clustered and predicted as by :class:`~anchorview.DALMC`. The order
    of the samples does not matter but by rounding: in single precision it can move a few samples
    between clusters that overlap, and where wholly separate clusters outnumber those asked for, it
    decides which of them go together.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's protocol)
        "n_clusters": [Interval(Integral, 2, None, closed="left"), "array-like", range, None],
        "max_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        max_candidates: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_candidates = max_candidates
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list, tuple or dict of views, a single view, MuData or MultiViewData
            As for :meth:`anchorview.DALMC.fit`; a sample may lack views, but not all.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self : AutoDALMC
        """
        data = self._validate(X, reset=True, fitting=True)
        _, seed = self._seeds()
        numbers = numbers_to_try(self.n_clusters, len(data))
        most = numbers[-1]
        require_memory(
            memory_needed(data, pool(most, len(data))[: self.max_candidates], most),
            f"Clustering {data!r} by AutoDALMC",
            "Reduce max_candidates, fit a sample and predict the rest, or use DALMC.",
        )
        # Of K-means, whose doubts are the partitions' disagreement.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._fit(data, numbers, seed)
        self._warn()
        return self

    def _warn(self) -> None:
        """Tell what the user would not see otherwise."""
        empty = self.n_clusters_ - len(np.unique(self.labels_))
        if empty:
            warnings.warn(f"{empty} of {self.n_clusters_} clusters are empty.", stacklevel=4)
        if self._failed:
            setting, error = self._failed[0]
            warnings.warn(
                f"{len(self._failed)} of {len(self.candidates_)} candidates could not be fitted, "
                f"and the others go on without them; the first is {setting}: {error}",
                stacklevel=4,
            )

    def _fit(self, data: MultiViewData, numbers: list[int], seed: int) -> None:
        clock = perf_counter()
        candidates = CandidatePool(data, numbers[-1], seed)
        self.curve_ = None
        self.n_clusters_ = numbers[0]
        if len(numbers) > 1:
            self.curve_ = agreement_by_number(data[candidates.few], numbers, seed)
            self.n_clusters_ = chosen_number(self.curve_)
            clock = self._say(f"chose {self.n_clusters_} clusters", clock)
        settings = pool(self.n_clusters_, len(data))[: self.max_candidates]
        self._choose(candidates, self._fit_all(candidates, settings))
        self.candidates_ = self._table()
        self._say(f"chose among {len(self._candidates)} candidates", clock)

    def transform(self, X: Any) -> Array:
        """Embed samples as the best candidate does.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            As for :meth:`anchorview.DALMC.transform`; samples may lack views.

        Returns
        -------
        embedding : array (n, l)
        """
        check_is_fitted(self, "labels_")
        data = self._validate(X, reset=False)
        best = self._candidates[self.best_candidate_]
        family = self._families[best.setting.family]
        return best.embedder(family.prepared(data))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit and return the embedding of the samples."""
        return self.fit(X).embedding_

    def predict(self, X: Any) -> Array:
        """Cluster of each sample, by what all candidates say of it.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            Samples may lack views.

        Returns
        -------
        labels : array (n,) of int32
        """
        return self.predict_with_confidence(X)[0]

    def predict_with_confidence(self, X: Any) -> tuple[Array, Array]:
        """Cluster of each sample, and the share of the partitions that agree with it.

        Parameters
        ----------
        X : views of new samples, in any form that `fit` takes
            Samples may lack views.

        Returns
        -------
        labels : array (n,) of int32
        confidence : array (n,)
        """
        return self._agreed(self._partitions(X))

    def candidate_labels(self, X: Any) -> Array:
        """Clusters of samples by every candidate alone, in its run of least inertia.

        Parameters
        ----------
        X : views of samples, in any form that `fit` takes
            Samples may lack views.

        Returns
        -------
        labels : array (n_candidates, n) of int
            Rows in the order of `candidates_`, without those that failed. What a cluster is
            called in one row means nothing in another.
        """
        return self._partitions(X)[:, 0]

    def _require_possible(self, data: MultiViewData) -> None:
        numbers = numbers_to_try(self.n_clusters, len(data))
        if len(data) < numbers[0]:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={numbers[0]}.")
        if numbers[-1] > MOST_CLUSTERS:
            raise ValueError(f"n_clusters={numbers[-1]} should be <= {MOST_CLUSTERS}; use DALMC.")

    def _partitions(self, X: Any) -> Array:
        check_is_fitted(self, "labels_")
        return partitions_of(self._candidates, self._families, self._validate(X, reset=False))

    def _agreed(self, partitions: Array) -> tuple[Array, Array]:
        """Labels by the partitions of all runs, and the confidence in them."""
        partitions = partitions.reshape(-1, partitions.shape[-1])
        labels = self._consensus.labels(partitions)
        return labels, self._consensus.confidence(partitions, labels)

    def _fit_all(self, candidates: CandidatePool, settings: Sequence[Setting]) -> Array:
        """Fit the settings; returns how well any two of their partitions agree."""
        k, fitted, failed = self.n_clusters_, [], []
        partitions = np.empty((0, len(candidates.sample)), dtype=np.int32)
        agreement = np.empty((0, 0))
        report_progress("candidates", 0, len(settings))
        note = ""
        for done, (setting, outcome) in enumerate(candidates.fit_all(settings, k), 1):
            if isinstance(outcome, Exception):
                failed.append((setting, str(outcome)))
                self._say(f"left out {setting}: {outcome}")
                report_progress(f"candidates{note}", done, len(settings))
                continue
            candidate, runs = outcome
            fitted.append(candidate)
            partitions = np.vstack([partitions, runs])
            agreement = grown_agreement(agreement, partitions, k)
            scores = cross_agreement(agreement, _families_of_runs(fitted))
            best = fitted[scores.argmax() // RUNS].setting
            note = f" (agreement {scores.max():.2f}, best so far: {best})"
            report_progress(f"candidates{note}", done, len(settings))
            self._say(f"candidate {done}/{len(settings)}: {setting}{note}")
        if not fitted:
            raise ValueError(f"None of the settings can be fitted. The first: {failed[0][1]}")
        self._candidates, self._failed = fitted, failed
        self._families = candidates.families(fitted)
        return agreement

    def _choose(self, candidates: CandidatePool, agreement: Array) -> None:
        """Find what the partitions of all candidates agree on."""
        k, n_candidates = self.n_clusters_, len(self._candidates)
        families = _families_of_runs(self._candidates)
        weights = family_weights(families)
        scores = cross_agreement(agreement, families)
        partitions = candidates.partitions(self._candidates)
        # As all samples are labeled: equally near centroids may be told apart by rounding.
        sampled = partitions.reshape(len(families), -1)[:, candidates.sample]
        self._consensus, _ = find_consensus(sampled, k, weights, sampled[scores.argmax()])
        self.labels_, self.confidence_ = self._agreed(partitions)
        result = self.labels_[candidates.sample]

        self._scores = scores.reshape(n_candidates, RUNS).max(axis=1)
        self._with_result = agreement_with(result, sampled[::RUNS], k)
        self.agreement_ = mean_agreement(agreement, RUNS)
        self.best_candidate_ = int(self._scores.argmax())
        best = self._candidates[self.best_candidate_]
        self.embedding_ = candidates.embedding(best)
        self.objective_ = best.objective
        self.n_iter_ = len(best.objective) - 1
        by_candidate = weights.reshape(n_candidates, RUNS).sum(axis=1)
        self.view_weights_ = by_candidate @ np.array([c.view_weights for c in self._candidates])
        self.view_agreement_ = np.array(
            [adjusted_rand(result[rows], own) for rows, own in candidates.view_partitions(k)]
        )

    def _table(self) -> pd.DataFrame:
        k = self.n_clusters_
        rows: list[dict[str, Any]] = [
            {
                **c.setting.row(k),
                "agreement": score,
                "agreement_with_result": alike,
                "stability": stability,
                "inertia": c.inertia,
                "n_iter": len(c.objective) - 1,
                "seconds": c.seconds,
                "error": "",
            }
            for c, score, alike, stability in zip(
                self._candidates,
                self._scores,
                self._with_result,
                self.agreement_.diagonal(),
                strict=True,
            )
        ]
        rows += [{**setting.row(k), "error": error} for setting, error in self._failed]
        return pd.DataFrame(rows).astype({"n_landmarks": "Int64", "n_iter": "Int64"})


def _families_of_runs(candidates: Sequence[Candidate]) -> list[str]:
    return [str(c.setting.family) for c in candidates for _ in c.runs]
