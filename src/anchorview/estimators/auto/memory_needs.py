"""Memory that a fit of AutoDALMC needs."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Matrix
from anchorview.core.cost_model import TYPICAL_ITERATIONS
from anchorview.estimators.auto.candidates import LABEL_DTYPE
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.estimators.auto.labeling import record_type
from anchorview.estimators.auto.landmarks import N_NEIGHBORS
from anchorview.estimators.auto.settings import Setting
from anchorview.views.container import MultiViewData
from anchorview.views.row_source import RowSource

INDEX_BYTES = 8
"""Maximum size of the column index of an entry of a lifted view."""


def memory_needed(
    source: RowSource,
    n_sampled: int,
    settings: Sequence[Setting],
    n_clusters: int,
    *,
    keeps_results: bool,
) -> float:
    """Bytes for the sampled rows and what is fitted to them, and for results of all samples.

    With `keeps_results`, the results stay in memory.
    """
    copies = 1 if n_sampled == len(source) else 2
    needed = n_sampled * _bytes_per_sampled_row(source, copies, settings, n_clusters)
    lifted = {setting.family for setting in settings if setting.family.n_landmarks is not None}
    for setting in settings:
        landmarks, widths = setting.family.n_landmarks, source.n_features_per_view
        features = widths if landmarks is None else [landmarks] * len(widths)
        components = sum(d * min(d, setting.components * n_clusters) for d in features)
        needed += 8 * TYPICAL_ITERATIONS * components
    needed += 8 * source.shape[1] * sum(family.n_landmarks or 0 for family in lifted)
    needed += 4 * 8 * len(settings) * N_KMEANS_RUNS * n_clusters**2
    if len(source) > n_sampled:
        # The numbers by which rows are selected, and their order.
        needed += 8.0 * len(source) * (len(source.names) + 4)
    if keeps_results:
        width = n_clusters * max(setting.anchors for setting in settings)
        # Records, and the fields of them.
        needed += 2.0 * len(source) * record_type(width, source.dtype).itemsize
    return needed


def _bytes_per_sampled_row(
    source: RowSource, copies: int, settings: Sequence[Setting], n_clusters: int
) -> float:
    """Bytes of a row of the sample, of its copies, lifted views, labels and an embedding."""
    itemsize = source.dtype.itemsize
    lifted = {setting.family for setting in settings if setting.family.n_landmarks is not None}
    weights = len(lifted) * len(source.names) * N_NEIGHBORS * (INDEX_BYTES + itemsize)
    labels = len(settings) * N_KMEANS_RUNS * (LABEL_DTYPE.itemsize + np.dtype(np.int32).itemsize)
    width = n_clusters * max(setting.anchors for setting in settings)
    if not isinstance(source, MultiViewData):
        # As it is read, and in the order of its content.
        values = 2.0 * source.shape[1] * itemsize
    else:
        values = copies * sum(map(_bytes, source.views)) / len(source)
    return values + weights + labels + width * itemsize


def _bytes(view: Matrix) -> int:
    if sparse.issparse(view):
        return int(view.data.nbytes + view.indices.nbytes)
    return int(view.nbytes)
