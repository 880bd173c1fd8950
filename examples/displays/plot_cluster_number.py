"""
======================
The number of clusters
======================

Settings that make different errors agree most, compared with chance, at the numbers of clusters
that the data have: here three clusters that consist of four parts each.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import AutoDALMC
from anchorview.plotting import ClusterNumberDisplay

rng = np.random.default_rng(0)
part = np.arange(360) % 12
views = [
    4 * rng.standard_normal((3, 20))[part // 4]
    + rng.standard_normal((12, 20))[part]
    + rng.standard_normal((360, 20))
    for _ in range(3)
]
model = AutoDALMC(n_clusters=range(2, 18), budget="fast", random_state=0).fit(views)
ClusterNumberDisplay.from_estimator(model)
plt.show()

# %%

assert {3, 12} <= set(model.levels_.index)
