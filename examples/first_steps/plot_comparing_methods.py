"""
=====================
Comparing the methods
=====================

How do DALMC and the baselines compare on the same data? All have the same API. One data set
says little about a method in general; the experiments compare them on many.
"""

import matplotlib.pyplot as plt

from anchorview import DALMC, compared, make_multiview
from anchorview.metrics import clustering_scores

views, y = make_multiview(200, n_clusters=4, separation=4, random_state=0)
# GraphLeiden needs another package.
names = [name for name in compared.__all__ if name != "GraphLeiden"]
methods = [DALMC, *(getattr(compared, name) for name in names)]
scores = {
    method.__name__: clustering_scores(y, method(n_clusters=4, random_state=0).fit(views).labels_)
    for method in methods
}

# %%

figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
for offset, score in ((-0.2, "ACC"), (0.2, "NMI")):
    positions = [i + offset for i in range(len(scores))]
    ax.barh(positions, [row[score] for row in scores.values()], height=0.4, label=score)
ax.set_yticks(range(len(scores)), list(scores))
ax.set(xlim=(0, 1), xlabel="Score")
ax.invert_yaxis()
ax.legend(loc="lower left")
plt.show()

# %%

assert len(scores) == 1 + len(names)
assert scores["DALMC"]["ACC"] > 0.9
