"""
=============================
A Dask cluster on one machine
=============================

How is a fit spread over workers? Views that are Dask arrays are processed where their blocks are.
The same lines work with a cluster of many machines: pass the address of its scheduler to
``Client``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview

views, y = make_multiview(4000, n_clusters=4, separation=4, random_state=0)
blocks = {name: da.from_array(view, chunks=(1000, -1)) for name, view in views.items()}

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
    model = DALMC(n_clusters=4, random_state=0).fit(blocks)
    labels = model.labels_.compute()  # the workers hold the results

in_memory = DALMC(n_clusters=4, random_state=0).fit(views).labels_

# %%
# Every block has samples of all clusters, and the labels are those of a fit in memory.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
bottom = np.zeros(4)
for cluster in range(4):
    counts = (labels.reshape(4, 1000) == cluster).sum(axis=1)
    ax.bar(range(4), counts, bottom=bottom, label=f"cluster {cluster}")
    bottom += counts
ax.set(xlabel="Block of 1,000 rows", ylabel="Samples", xticks=range(4))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%

assert adjusted_rand_score(in_memory, labels) > 0.999
