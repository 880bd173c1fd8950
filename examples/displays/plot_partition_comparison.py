"""
=============================
Comparison of two clusterings
=============================

Rows are the digits, columns the clusters that match them best. Digits that are confused with
each other appear off the diagonal.
"""

import matplotlib.pyplot as plt

from anchorview import DALMC, load_digits
from anchorview.plotting import PartitionComparisonDisplay

views, y = load_digits(return_X_y=True)
model = DALMC(n_clusters=10, random_state=0).fit(views)
PartitionComparisonDisplay.from_partitions(y, model, names=("Digit", "Cluster"))
plt.show()
