"""
=========================
Text and image embeddings
=========================

Products have a title and a picture, and neural networks have turned both into vectors. Which
products belong together? Here the vectors are made: the text tells some kinds of products apart,
the picture different ones, and neither all six.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import DALMC
from anchorview.metrics import clustering_accuracy
from anchorview.plotting import PartitionComparisonDisplay

rng = np.random.default_rng(0)
kinds = np.array(["mug", "bowl", "shirt", "dress", "novel", "poster"])
product = np.arange(480) % 6


def embeddings(groups, width):
    """Unit vectors that resemble each other within a group."""
    directions = rng.standard_normal((groups.max() + 1, width))
    vectors = directions[groups] + rng.standard_normal((len(groups), width))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


# Titles confuse mugs with bowls; pictures confuse novels with posters, and shirts with dresses.
text = embeddings(np.array([0, 0, 1, 2, 3, 4])[product], 96)
image = embeddings(np.array([0, 1, 2, 2, 3, 3])[product], 128)

# %%
# Embeddings are compared by their angles, so rows are scaled to unit length first.

model = DALMC(n_clusters=6, scaling="unit-center", random_state=0)
both = model.fit({"text": text, "image": image}).labels_
alone = [model.fit([view]).labels_ for view in (text, image)]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, labels, name in zip(axes, (alone[0], both), ("text", "text and image"), strict=True):
    PartitionComparisonDisplay.from_partitions(
        kinds[product], labels, names=("Kind", "Cluster"), ax=ax
    )
    ax.set_title(name)
plt.show()

# %%

assert clustering_accuracy(product, both) > 0.95
assert max(clustering_accuracy(product, labels) for labels in alone) < 0.9
