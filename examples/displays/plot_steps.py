"""
====================
The steps of one fit
====================

Views of 120 samples of three classes: texts tell one class from the rest, images a second one,
and the third view is noise. With two anchors, the space that the views share is a plane. From a
random start, the views agree on three directions, and the noise loses its weight. Points have the
colors of the classes, which the fit does not know.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC
from anchorview.plotting import AnchorSpaceDisplay, ConvergenceDisplay

rng = np.random.default_rng(0)
known_class = np.repeat([0, 1, 2], 40)
means = {"texts": [2.5, 0, 0], "images": [0, 2.5, 0], "noise": [0, 0, 0]}
views = {
    name: rng.normal(size=(120, 4)) + np.array(mean)[known_class, None]
    for name, mean in means.items()
}
settings = {"n_anchors": 2, "n_components": [1, 1, 1], "scaling": "zscore", "init": "random"}
model = DALMC(3, **settings, tol=1e-6, random_state=0).fit(views)

figure, (data, steps, ends) = plt.subplots(3, 3, figsize=(11, 10.5), layout="constrained")
colors = [f"C{known}" for known in known_class]
for p, (name, view) in enumerate(views.items()):
    data[p].scatter(view[:, 0], view[:, 1], s=12, c=colors, linewidths=0)
    data[p].set(title=f"{'abc'[p]}) view $X_{p + 1}$, {name}", xlabel="Feature 1", aspect="equal")
data[0].set_ylabel("Feature 2")
for panel, n_iter, ax in zip("def", (1, 8, model.n_iter_), steps, strict=True):
    stopped = DALMC(3, **settings, tol=0, max_iter=n_iter, random_state=0).fit(views)
    AnchorSpaceDisplay.from_estimator(stopped, ax=ax, c=colors)
    ax.set_title(f"{panel}) rows of $S$, arrows $A_p$, iteration {n_iter}")
AnchorSpaceDisplay.from_estimator(model, ax=ends[0]).ax_.set_title("g) clusters, by K-means")
ConvergenceDisplay.from_estimator(model, ax=ends[1]).ax_.set_title("h) objective $f$")
weights, style = model.history_["weight"], ["k-", "k--", "k:"]
weights.plot(ax=ends[2], style=style, ylim=(0, 1), xlabel="Iteration", title="i) weights $a_p$")
plt.show()
