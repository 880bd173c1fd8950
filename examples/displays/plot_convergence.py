"""
========================
Convergence of the model
========================

The objective never increases, and is flat after a few iterations. From a random start it takes more
of them.
"""

from itertools import pairwise

import matplotlib.pyplot as plt

from anchorview import DALMC, load_digits
from anchorview.plotting import ConvergenceDisplay

views, _ = load_digits(return_X_y=True)
ax = None
for init in ("gcca", "random"):
    model = DALMC(n_clusters=10, init=init, random_state=0).fit(views)
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(model.objective_))
    ax = ConvergenceDisplay.from_estimator(model, name=f'init="{init}"', ax=ax).ax_
plt.show()
