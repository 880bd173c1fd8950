"""Displays of fitted models with matplotlib, in the convention of scikit-learn.

This package owns the displays, and what they share with pages and experiments: descriptions of
charts, colors, the layout of maps and all drawing with matplotlib. Matplotlib is optional and
imported when something is drawn.
"""

from anchorview.plotting.cluster_number_display import ClusterNumberDisplay
from anchorview.plotting.cluster_sizes_display import ClusterSizesDisplay
from anchorview.plotting.convergence_display import ConvergenceDisplay
from anchorview.plotting.marker_heatmap_display import MarkerHeatmapDisplay
from anchorview.plotting.partition_comparison_display import PartitionComparisonDisplay
from anchorview.plotting.sample_map_display import SampleMapDisplay
from anchorview.plotting.view_agreement_display import ViewAgreementDisplay

__all__ = [
    "ClusterNumberDisplay",
    "ClusterSizesDisplay",
    "ConvergenceDisplay",
    "MarkerHeatmapDisplay",
    "PartitionComparisonDisplay",
    "SampleMapDisplay",
    "ViewAgreementDisplay",
]
