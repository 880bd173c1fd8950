"""
=======================
Markers of the clusters
=======================

Three clusters of samples that are measured in two views. Each cluster has two features
that no other has: one cluster in the first view, two in the second.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from anchorview import DALMC
from anchorview.plotting import MarkerHeatmapDisplay

random = np.random.default_rng(0)
classes = np.repeat([0, 1, 2], 60)
views = {
    "expression": pd.DataFrame(random.standard_normal((180, 8))).add_prefix("gene "),
    "imaging": pd.DataFrame(random.standard_normal((180, 6))).add_prefix("area "),
}
views["expression"].iloc[classes == 0, :2] += 4
views["imaging"].iloc[classes == 1, :2] += 4
views["imaging"].iloc[classes == 2, 2:4] -= 4

model = DALMC(n_clusters=3, random_state=0).fit(views)
MarkerHeatmapDisplay.from_estimator(model, views, n_features=3)
plt.show()
