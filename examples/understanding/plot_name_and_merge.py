"""
=======================
Name and merge clusters
=======================

Five clusters were found, but two of them are the same kind of sample. Clusters that get the same
name become one, in labels, predictions and saved models.
"""

import matplotlib.pyplot as plt
import pandas as pd

from anchorview import DALMC, make_multiview
from anchorview.plotting import ClusterSizesDisplay

views, y = make_multiview(300, n_clusters=5, separation=6, random_state=0)
model = DALMC(n_clusters=5, random_state=0).fit(views)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
ClusterSizesDisplay.from_estimator(model, views, ax=left)
model.relabel({0: "benign", 1: "benign", 2: "malignant", 3: "unclear", 4: "control"})
ClusterSizesDisplay.from_estimator(model, views, ax=right)
plt.show()

# %%

sizes = pd.Series(model.labels_).value_counts()
print(model.cluster_names_)
assert model.n_clusters_ == len(sizes) == 4
assert sizes.max() == 120
