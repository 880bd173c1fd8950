"""
======================
The number of clusters
======================

Settings that make different errors agree most at the number of clusters that the data have.
"""

import matplotlib.pyplot as plt

from anchorview import AutoDALMC, make_multiview
from anchorview.plotting import ClusterNumberDisplay

views, _ = make_multiview(400, n_clusters=6, separation=6, random_state=0)
model = AutoDALMC(n_clusters=range(2, 13), budget="fast", random_state=0).fit(views)
ClusterNumberDisplay.from_estimator(model)
plt.show()
