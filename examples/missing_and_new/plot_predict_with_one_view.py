"""
========================
Prediction with one view
========================

The model was fitted to all views, but new samples have only one of them. How good are their
labels? A single view suffices for a prediction, and the model still knows what it learned from
all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC, load_digits
from anchorview.metrics import clustering_accuracy

views, y = load_digits(return_X_y=True)
new = np.arange(len(y)) % 2 == 1
model = DALMC(n_clusters=10, n_anchors=20, n_components=20, random_state=0)
model.fit({name: view[~new] for name, view in views.items()})

samples = {name: view[new] for name, view in views.items()}
accuracy = {
    name: clustering_accuracy(y[new], model.predict({name: view})) for name, view in samples.items()
}
accuracy["all views"] = clustering_accuracy(y[new], model.predict(samples))

# %%

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.barh(list(accuracy), list(accuracy.values()), color=["tab:gray"] * 6 + ["tab:blue"])
ax.set(xlabel="Accuracy on new samples", xlim=(0, 1))
ax.invert_yaxis()
plt.show()

# %%

assert accuracy["all views"] == max(accuracy.values())
assert accuracy["pixels"] > 0.6
