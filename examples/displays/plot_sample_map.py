"""
==================
Map of the samples
==================

Samples that the model considers similar are neighbors. The numbers are those of the clusters; the
map on the right shows where the model is in doubt, mostly between clusters.
"""

import matplotlib.pyplot as plt

from anchorview import AutoDALMC, load_digits
from anchorview.plotting import SampleMapDisplay

views, y = load_digits(return_X_y=True)
model = AutoDALMC(n_clusters=10, budget="fast", random_state=0).fit(views)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
display = SampleMapDisplay.from_estimator(model, target=y, ax=left)
# The same layout in other colors.
display.plot(right, color="confidence")
plt.show()
