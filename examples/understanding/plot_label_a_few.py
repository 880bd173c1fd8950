"""
====================
Label a few, and fit
====================

Clusters need not be the classes that you have in mind. Here are handwritten digits in two of six
views, which confuse some of them. ``inspection.ask`` returns the samples that are worth a label:
doubtful ones that differ from each other and stand for many. A person labels them, and
``AutoDALMC.fit(X, y)`` takes the labels into account.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import AutoDALMC, load_digits
from anchorview.inspection import ask, suspicious_labels

digits, y = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(y))[:500]
views = {name: digits[name][rows] for name in ("fourier", "zernike")}
y = y[rows]


def fit(known):
    return AutoDALMC(n_clusters=10, budget="fast", random_state=0).fit(views, known)


unlabeled = fit(None)

# %%
# The loop
# --------
# Ask, label, fit again. Here the known digits take the place of the person; beside it, the same
# number of samples is labeled at random.


def accuracy(model, known):
    others = known < 0
    return np.mean(model.labels_[others] == y[others])


known, model, asked = np.full(len(y), -1), unlabeled, []
for _ in range(4):
    samples = ask(model, views, n=10)["sample"]
    known[samples] = y[samples]
    model = fit(known)
    asked.append(accuracy(model, known))

order = np.random.default_rng(1).permutation(len(y))
at_random = []
for count in (10, 20, 30, 40):
    some = np.full(len(y), -1)
    some[order[:count]] = y[order[:count]]
    at_random.append(accuracy(fit(some), some))

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot((10, 20, 30, 40), asked, "o-", label="asked")
ax.plot((10, 20, 30, 40), at_random, "o--", label="at random")
ax.set(xlabel="Labels", ylabel="Accuracy of the other samples", xticks=(10, 20, 30, 40))
ax.legend()
plt.show()

# %%
# Labels that look wrong
# ----------------------
# People make mistakes. ``suspicious_labels`` predicts each known label from the others.

mistaken = known.copy()
wrong = np.flatnonzero(known >= 0)[7]
mistaken[wrong] = (y[wrong] + 5) % 10
print(suspicious_labels(unlabeled, views, mistaken))

# %%

assert asked[-1] > at_random[-1]
