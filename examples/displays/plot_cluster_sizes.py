"""
====================================
Sizes of the clusters and confidence
====================================

How many samples each cluster has, and how confident the model is in them: a cluster with a low
mean confidence is not found by all settings that the model tries.
"""

import matplotlib.pyplot as plt

from anchorview import AutoDALMC, load_digits
from anchorview.plotting import ClusterSizesDisplay

views, _ = load_digits(return_X_y=True)
model = AutoDALMC(n_clusters=12, budget="fast", random_state=0).fit(views)
ClusterSizesDisplay.from_estimator(model)
plt.show()
