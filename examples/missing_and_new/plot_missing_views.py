"""
================================
Missing views against imputation
================================

Should missing views be filled in before clustering? Views of the digits are removed at random, and
``DALMC``, which completes them by the model, is compared with filling in the mean of each feature.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC, load_digits
from anchorview.metrics import clustering_accuracy

views, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
shares = [0, 0.3, 0.6]
accuracy = {"completed by the model": [], "filled with means": []}
for share in shares:
    lacking = rng.random((len(y), len(views))) < share
    # Every sample keeps one view.
    lacking[np.arange(len(y)), rng.integers(len(views), size=len(y))] = False
    incomplete, filled = {}, {}
    for p, (name, view) in enumerate(views.items()):
        incomplete[name] = np.where(lacking[:, [p]], np.nan, view)
        filled[name] = np.where(lacking[:, [p]], view[~lacking[:, p]].mean(axis=0), view)
    for how, data in zip(accuracy, (incomplete, filled), strict=True):
        model = DALMC(n_clusters=10, n_anchors=20, n_components=20, random_state=0).fit(data)
        accuracy[how].append(clustering_accuracy(y, model.labels_))

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for how, values in accuracy.items():
    ax.plot([100 * share for share in shares], values, marker="o", label=how)
ax.set(xlabel="Missing views in %", ylabel="Accuracy", ylim=(0, 1))
ax.legend(loc="lower left")
plt.show()

# %%

completed, means = accuracy.values()
assert completed[-1] > means[-1]
