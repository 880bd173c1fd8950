"""
============
Growing data
============

Samples arrive in batches. Does a model that sees one batch at a time become worse than one that
sees all of them? No: ``partial_fit`` keeps sums over all batches, and gives the model of a fit to
all samples at once.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview

views, y = make_multiview(600, n_clusters=4, separation=4, noise=2, random_state=0)
whole = DALMC(n_clusters=4, scaling="unit-center", random_state=0).fit(views)

growing = DALMC(n_clusters=4, scaling="unit-center", random_state=0)
seen, agreement = [], []
for stop in range(60, 601, 60):
    growing.partial_fit({name: view[stop - 60 : stop] for name, view in views.items()})
    seen.append(stop)
    agreement.append(adjusted_rand_score(whole.labels_, growing.predict(views)))

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(seen, agreement, marker="o")
ax.set(xlabel="Samples seen", ylabel="Agreement with a fit to all samples", ylim=(0, 1.05))
plt.show()

# %%

assert agreement[-1] > 0.99
