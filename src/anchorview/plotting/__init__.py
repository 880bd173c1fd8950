"""Displays of fitted models with matplotlib, in the convention of scikit-learn.

This package owns the displays, and what they share with pages and experiments: lines, colors and
the layout of maps. Matplotlib is optional and imported when something is drawn.
"""

from anchorview.plotting.bar_displays import ClusterSizesDisplay, ViewAgreementDisplay
from anchorview.plotting.curve_displays import ClusterNumberDisplay, ConvergenceDisplay
from anchorview.plotting.heat_map_displays import MarkerHeatmapDisplay, PartitionComparisonDisplay
from anchorview.plotting.sample_displays import AnchorSpaceDisplay, SampleMapDisplay

__all__ = [
    "AnchorSpaceDisplay",
    "ClusterNumberDisplay",
    "ClusterSizesDisplay",
    "ConvergenceDisplay",
    "MarkerHeatmapDisplay",
    "PartitionComparisonDisplay",
    "SampleMapDisplay",
    "ViewAgreementDisplay",
]
