"""Fit of DALMC to samples that come in chunks: sums over all of them are kept, and a sample."""

from collections.abc import Callable
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from anchorview._utils.restored import restored_on_error
from anchorview._utils.sklearn_compat import fit_context
from anchorview.core.alternating import Solution
from anchorview.core.blockwise_kmeans import EmbeddedRows
from anchorview.core.compress import Problem
from anchorview.core.running_sums import CHUNK_SCALINGS, RunningSums
from anchorview.estimators.base import EmbeddingClusterer
from anchorview.sources.part_source import PartSource
from anchorview.views.container import MultiViewData, ViewsLike
from anchorview.views.row_source import RowSource


def _can_add_chunks(model: "IncrementalClusterer") -> bool:
    if model.scaling not in CHUNK_SCALINGS or model.variant != "dalmc":
        raise AttributeError(
            f"partial_fit needs variant='dalmc' and one of scaling={list(CHUNK_SCALINGS)}: "
            f"scaling='{model.scaling}' needs the means and deviations of all samples before the "
            "first row can be scaled."
        )
    return True


class IncrementalClusterer(EmbeddingClusterer):
    """Base of DALMC, whose stages `partial_fit` calls."""

    scaling: str
    variant: str
    unit_norm: bool
    _running_sums: RunningSums | None
    _embedder: Any
    _assignment: Any
    _solve: Callable[[Problem, RowSource, int], Solution]
    _assign: Callable[[EmbeddedRows, int], None]

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
        source = self._open(X, None) if sums is None else self._open_new(X)
        data = source.read() if isinstance(source, PartSource) else source
        assert isinstance(data, MultiViewData)
        if not (batch is covariates is data.design is None):
            raise ValueError(
                "partial_fit cannot take out batches or covariates: their means are known only "
                "after the last call. Use fit, which reads files and Dask arrays in parts."
            )
        if sums is None:
            sums = RunningSums(data, self.scaling, assignment_seed)
        if sums.scaling != self.scaling:
            raise ValueError(
                f"scaling was '{sums.scaling}' for the chunks so far and cannot become "
                f"'{self.scaling}'. Start from a new model."
            )
        sums = sums.with_chunk(data)
        self.sample_ids_ = data.sample_ids
        self._correction = self._mixing = None
        self._solve(sums.problem(data, unit_norm=self.unit_norm), data, start_seed)
        self._assign(EmbeddedRows(self._embedder(sums.sample)), assignment_seed)
        self.embedding_ = self._embedder(data)
        self.labels_ = self._assignment(self.embedding_)
        self._running_sums, self.n_samples_fit_ = sums, len(sums)
        return self
