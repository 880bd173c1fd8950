"""
====================
Streaming from files
====================

The data do not fit into memory. Does the result change if the rows are read from files in parts? It
does not: the limit below is smaller than the data, and the labels are those of a fit in memory.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, make_multiview, open_views

views, y = make_multiview(20_000, n_clusters=5, n_features=(40, 60), separation=5, random_state=0)
in_memory = DALMC(n_clusters=5, random_state=0).fit(views)

with TemporaryDirectory() as folder:
    for name, view in views.items():
        np.save(Path(folder) / f"{name}.npy", view)
    files = open_views(folder)
    streamed = DALMC(n_clusters=5, memory_limit="8MB", random_state=0)
    streamed.fit(files, out=Path(folder) / "results")
    labels = np.array(streamed.labels_)
    embedding = np.array(streamed.embedding_)

size = sum(view.nbytes for view in views.values())
print(f"{size / 1e6:.0f} MB of data, read within 8 MB of memory")

# %%

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
shown = slice(0, 1500)
ax.scatter(embedding[shown, 0], embedding[shown, 1], c=labels[shown], s=5, cmap="tab10")
ax.set(xlabel="First column of the embedding", ylabel="Second column")
plt.show()

# %%

assert size > 8e6
assert adjusted_rand_score(in_memory.labels_, labels) > 0.999
