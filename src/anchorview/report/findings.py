"""What inspection finds out about a fit, as far as the report shows it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.report import _adapters as inspection
from anchorview.report.checked_fit import CheckedFit

N_REPRESENTATIVES = 3
N_DOUBTFUL = 30
N_MARKERS = 3
"""Per cluster and view."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """As returned by `cluster_summary`."""
    markers: pd.DataFrame | None
    representatives: pd.DataFrame | None
    confidence: Array | None
    """Of each sample."""
    second_labels: Array | None
    """Second-best cluster of each sample, or -1."""
    without_view: pd.DataFrame | None
    """As returned by `leave_one_view_out`."""
    left_out: Sequence[str] = field(default_factory=list)
    """Sentences on what was not computed, and why."""

    confidence_name: str = "Confidence"
    confidence_meaning: str = ""

    @property
    def doubtful(self) -> Array | None:
        """Whether each sample is doubtful."""
        return None if self.confidence is None else self.confidence < DOUBTFUL_CONFIDENCE


def find(fit: CheckedFit) -> Findings:
    """Inspect a fit."""
    return inspection.find(fit)
