"""
=================
Why several views
=================

Is one good view enough? Each view of the digits is clustered alone, and then all of them together.
The best single view is not known beforehand, since that takes the true digits.
"""

import matplotlib.pyplot as plt

from anchorview import DALMC, load_digits
from anchorview.metrics import clustering_accuracy

views, y = load_digits(return_X_y=True)


def accuracy(chosen):
    """Accuracy of the clusters of some of the views."""
    model = DALMC(n_clusters=10, random_state=0)
    return clustering_accuracy(y, model.fit(chosen).labels_)


alone = {name: accuracy({name: view}) for name, view in views.items()}
together = accuracy(views)

# %%

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.barh(list(alone), list(alone.values()), color="tab:gray", label="one view")
ax.barh("all views", together, color="tab:blue")
ax.set(xlabel="Accuracy", xlim=(0, 1))
ax.invert_yaxis()
plt.show()

# %%

assert together > max(alone.values())
