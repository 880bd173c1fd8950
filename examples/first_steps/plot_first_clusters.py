"""
==============
First clusters
==============

Which clusters do 2000 handwritten digits form if each is described in six ways? ``AutoDALMC`` has
no settings to tune: pass the views as a dict and the number of clusters, if it is known.
"""

import matplotlib.pyplot as plt

from anchorview import AutoDALMC, load_digits
from anchorview.metrics import clustering_scores
from anchorview.plotting import SampleMapDisplay

views, y = load_digits(return_X_y=True)
model = AutoDALMC(n_clusters=10, budget="fast", random_state=0).fit(views)
print(model)

# %%
# Samples that the model considers similar are neighbors on the map.

SampleMapDisplay.from_estimator(model)
plt.show()

# %%
# The true digits were not used. They are for scores only:

scores = clustering_scores(y, model.labels_)
print(scores)
assert scores["ACC"] > 0.85
