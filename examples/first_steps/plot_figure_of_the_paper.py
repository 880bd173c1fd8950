"""
===============================
Repeating a figure of the paper
===============================

Figures 2 to 5 of the paper show how the accuracy depends on the weight ``beta`` of the alignment
and on the number of anchors. Do these two parameters have to be tuned? On the digits, accuracy
changes little above ``beta=0.01``.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC, load_digits
from anchorview.metrics import clustering_accuracy

views, y = load_digits(return_X_y=True)
betas = [1e-3, 1e-2, 0.1, 1, 10]
anchors = [10, 20]
accuracy = np.array(
    [
        [
            clustering_accuracy(
                y,
                DALMC(n_clusters=10, n_anchors=n, beta=beta, n_init=3, random_state=0)
                .fit(views)
                .labels_,
            )
            for beta in betas
        ]
        for n in anchors
    ]
)

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for n, row in zip(anchors, accuracy, strict=True):
    ax.semilogx(betas, row, marker="o", label=f"{n} anchors")
ax.set(xlabel="beta", ylabel="Accuracy", ylim=(0, 1))
ax.legend(loc="lower right")
plt.show()

# %%

assert np.ptp(accuracy[:, 2:]) < 0.2
