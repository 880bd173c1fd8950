"""
=======
Batches
=======

Do the clusters show the kinds of samples, or where the samples were measured? Three plates measure
the same four kinds of samples, and each plate shifts all its values. Without correction the
clusters follow the plates; ``fit(batch=)`` takes the plates out of every view.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from anchorview import DALMC, make_multiview
from anchorview.metrics import clustering_accuracy
from anchorview.plotting import SampleMapDisplay

views, kind = make_multiview(360, n_clusters=4, separation=5, random_state=0)
rng = np.random.default_rng(0)
number = rng.integers(3, size=360)
plate = pd.Series(np.array(["A", "B", "C"])[number], name="plate")
for name, view in views.items():
    shifts = 4 * rng.standard_normal((3, view.shape[1]))
    views[name] = view + shifts[number]

# %%

as_measured = DALMC(n_clusters=4, random_state=0).fit(views)
corrected = DALMC(n_clusters=4, random_state=0).fit(views, batch=plate)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
fits = {"fit(views)": as_measured, "fit(views, batch=plate)": corrected}
for ax, (call, model) in zip(axes, fits.items(), strict=True):
    SampleMapDisplay.from_estimator(model, color=plate, ax=ax)
    ax.set_title(f"{call}: accuracy {clustering_accuracy(kind, model.labels_):.2f}")
plt.show()

# %%
# Of real samples, the kinds are not known. ``batch_mixing_`` does not need them: it is 0 if samples
# have neighbors of the same batch only, and 1 if the batches are well mixed.

print(corrected.batch_mixing_)

# %%
# New samples come with their batch.

new = {name: view[:10] for name, view in views.items()}
labels = corrected.predict(new, batch=plate[:10])

assert (labels == corrected.labels_[:10]).all()
assert clustering_accuracy(kind, corrected.labels_) > 0.95
assert clustering_accuracy(kind, as_measured.labels_) < 0.7
assert corrected.batch_mixing_["before"] < 0.1
assert corrected.batch_mixing_["after"] > 0.9
