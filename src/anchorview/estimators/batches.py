"""Batches and covariates in the estimators: their fit, new samples, and how well batches mix."""

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.preprocessing import normalize

from anchorview._utils.typing import Array
from anchorview.core.batch_correction import BatchCorrection
from anchorview.core.batch_mixing import (
    BatchMixing,
    confounding_sentence,
    mixing_of_rows,
    mixing_of_views,
    sampled_positions,
)
from anchorview.core.fit_batches import FittedCorrection, fit_correction
from anchorview.core.scale import ViewMoments
from anchorview.sources.row_source import RowSource, ids_in_memory
from anchorview.views.container import concatenate_samples
from anchorview.views.fitted_views import FittedViews
from anchorview.views.sample_design import SampleDesign, sample_design

UnknownBatch = Literal["error", "center"]
UNKNOWN_BATCH = ("error", "center")


def set_design(source: RowSource, X: Any, batch: Any, covariates: Any) -> None:
    """Give the samples of a source their batches and covariates, if there are any."""
    if batch is not None or covariates is not None:
        source.design = sample_design(
            batch, covariates, X, len(source), lambda: ids_in_memory(source), source.design
        )


class BatchFit:
    """What the fit of an estimator knows about the batches of its samples."""

    def __init__(self, source: RowSource, *, scales: bool) -> None:
        """Learn to take out batches and covariates, and do so from now on in the source."""
        assert source.design is not None
        self.design: SampleDesign = source.design
        self.positions = sampled_positions(*source.shape)
        self._fitted: FittedCorrection = fit_correction(
            source, self.design, scales=scales, sampled=self.positions
        )
        source.prepare_parts(self.correction)

    @property
    def correction(self) -> BatchCorrection:
        """The correction that was learned."""
        return self._fitted.correction

    @property
    def moments(self) -> ViewMoments:
        """Moments of the corrected rows."""
        return self._fitted.moments

    def mixing(self, embedding: Any) -> BatchMixing | None:
        """How well batches mix; None if there are only covariates."""
        if not self.design.has_batches:
            return None
        codes = self.design.codes[self.positions]
        sample = concatenate_samples(*self._fitted.sample)
        before = mixing_of_views(sample, self._fitted.deviations, codes)
        rows = normalize(self._of_sample(embedding).astype(np.float64))
        return BatchMixing(before, mixing_of_rows(rows, codes))

    def warn_if_confounded(self, labels: Any) -> None:
        """Warn if clusters cannot be told from batches."""
        sentence = confounding_sentence(self._of_sample(labels), self.design.codes[self.positions])
        if sentence is not None:
            warnings.warn(sentence, UserWarning, stacklevel=5)

    def _of_sample(self, rows: Any) -> Array:
        # In Dask, only these rows are computed.
        return np.asarray(rows[self.positions])


def correction_for(
    correction: BatchCorrection | None,
    source: RowSource,
    fitted: FittedViews,
    unknown_batch: str,
) -> BatchCorrection | None:
    """Correction of new samples, which must come with what the fit was given; None without."""
    if unknown_batch not in UNKNOWN_BATCH:
        raise ValueError(f"unknown_batch={unknown_batch!r} should be 'error' or 'center'.")
    if correction is None:
        if source.design is not None:
            raise ValueError(
                f"The samples come with batch or covariates, but {fitted.estimator} was fitted "
                "without."
            )
        return None
    design = correction.require_design(source.design)
    if unknown_batch == "center":
        return correction.completed(source, design, fitted.names)
    correction.require_known_batches(design)
    return correction


class BatchMixin:
    """Attributes of estimators that take out batches and covariates."""

    batch_scale: bool
    embedding_: Any
    labels_: Any
    _correction: BatchCorrection | None = None
    _mixing: BatchMixing | None = None

    def _fit_batches(self, source: RowSource) -> BatchFit | None:
        """Learn to take out batches and covariates, if there are any, and do so in the source."""
        self._correction = self._mixing = None
        if source.design is None:
            return None
        found = BatchFit(source, scales=self.batch_scale)
        self._correction = found.correction
        return found

    @property
    def batch_sentences(self) -> list[str]:
        """Sentence on the batches and covariates that are taken out."""
        correction, mixing = self._correction, self._mixing
        if correction is None:
            return []
        count = len(correction.covariate_names)
        parts = [f"{len(correction.batches)} batches"] * correction.has_batches
        parts += [f"{count} covariate{'s' * (count > 1)}"] * (count > 0)
        mixed = ""
        if mixing is not None:
            mixed = f"; mixing of batches {mixing.before:.2f} before, {mixing.after:.2f} after"
        return [f"{' and '.join(parts)} taken out{mixed}"]

    def _judge_batches(self, found: BatchFit | None) -> None:
        """Find how well batches mix, and warn if clusters cannot be told from them."""
        if found is not None:
            self._mixing = found.mixing(self.embedding_)
            found.warn_if_confounded(self.labels_)

    @property
    def batches_(self) -> tuple[str, ...] | None:
        """Names of the batches that are taken out; None without any."""
        correction = self._correction
        return correction.batches if correction is not None and correction.has_batches else None

    @property
    def batch_mixing_(self) -> "pd.Series[float] | None":
        """Mixing of batches in the views as given, and in the embedding; None without batches."""
        if self._mixing is None:
            return None
        return pd.Series(vars(self._mixing), name="mixing")
