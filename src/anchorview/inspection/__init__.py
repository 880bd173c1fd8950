"""What the clusters of a fitted model, or of any labels, are.

Every function takes views in any form that estimators take and passes once over their rows:
``labeled_parts`` gives each part the clusters of its samples. Imports estimators, sources and
metrics; imports no plotting.
"""

from anchorview.inspection.asking import ask, suspicious_labels
from anchorview.inspection.comparison import PartitionComparison, associate, compare_partitions
from anchorview.inspection.markers import cluster_markers
from anchorview.inspection.summary import cluster_summary
from anchorview.inspection.typical_samples import (
    doubtful,
    memberships,
    outlier_scores,
    representatives,
)
from anchorview.inspection.view_contributions import leave_one_view_out, view_contributions

__all__ = [
    "PartitionComparison",
    "ask",
    "associate",
    "cluster_markers",
    "cluster_summary",
    "compare_partitions",
    "doubtful",
    "leave_one_view_out",
    "memberships",
    "outlier_scores",
    "representatives",
    "suspicious_labels",
    "view_contributions",
]
