"""
==========================
Compression without a loss
==========================

The views are compressed before the iterations. What does that cost in accuracy? Nothing: the
objective is the same in every iteration, up to rounding, although the compressed problem has as
many rows as there are features instead of samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC, make_multiview

views, y = make_multiview(3000, n_clusters=5, separation=2, random_state=0)
fits = {
    solver: DALMC(n_clusters=5, solver=solver, tol=1e-6, max_iter=30, random_state=0).fit(views)
    for solver in ("direct", "compressed")
}
direct, compressed = (np.array(model.objective_) for model in fits.values())
print(f"{len(y)} rows, or {sum(view.shape[1] for view in views.values())} after compression")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(direct, color="tab:gray", linewidth=5, label="all rows")
left.plot(compressed, color="tab:blue", label="compressed")
left.set(xlabel="Iteration", ylabel="Objective")
left.legend()
difference = np.abs(direct - compressed) / np.abs(direct)
right.semilogy(np.maximum(difference, 1e-17), "o", color="tab:blue")
right.set(xlabel="Iteration", ylabel="Relative difference", ylim=(1e-17, 1e-8))
plt.show()

# %%

assert difference.max() < 1e-10
assert (np.diff(direct) <= 1e-12).all()
