"""
===============================
Which views determine a cluster
===============================

Do all clusters depend on the same view? The margin by which a sample is nearer to its
cluster than to any other is a sum over its views. Here the first view shows two of the clusters
clearly and two faintly, and the second view the reverse.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC
from anchorview.inspection import view_contributions

rng = np.random.default_rng(0)
cluster = np.arange(240) % 4
views = {name: rng.standard_normal((240, 10)) for name in ("first", "second")}
for number in range(4):
    clear, faint = ("first", "second") if number < 2 else ("second", "first")
    columns = slice(2 * number, 2 * number + 2)
    views[clear][cluster == number, columns] += 5
    views[faint][cluster == number, columns] += 1.5

model = DALMC(n_clusters=4, random_state=0).fit(views)
table = view_contributions(model, views, by="cluster")
print(table)

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
table.plot.bar(stacked=True, ax=ax, rot=0)
ax.set(xlabel="Cluster", ylabel="Contribution to the margin")
plt.show()

# %%

leading = table.idxmax(axis=1)
for number, name in leading.items():
    members = np.bincount(cluster[model.labels_ == number], minlength=4)
    assert name == ("first" if members.argmax() < 2 else "second")
