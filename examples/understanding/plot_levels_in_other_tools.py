"""
=====================
Levels in other tools
=====================

Clusters of clusters, as the layers that other tools take. The map shows three clusters and their
twelve parts. If datamapplot is installed, it makes a page with names that follow the zoom; if
Toponymy is, it has layers of topics to name. Neither is needed for anything else.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from anchorview import AutoDALMC
from anchorview.plotting import SampleMapDisplay

rng = np.random.default_rng(0)
part = np.arange(360) % 12
views = [
    4 * rng.standard_normal((3, 20))[part // 4]
    + rng.standard_normal((12, 20))[part]
    + rng.standard_normal((360, 20))
    for _ in range(3)
]
model = AutoDALMC(n_clusters=range(2, 16), budget="fast", random_state=0).fit(views)
fine, *_, coarse = layers = model.cluster_layers_
assert (len(set(fine)), len(set(coarse))) == (12, 3)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, layer in zip(axes, (coarse, fine), strict=True):
    display = SampleMapDisplay.from_estimator(model, color=layer.astype(str), ax=ax)
    ax.set_title(f"{len(set(layer))} clusters")
plt.show()

# %%
# datamapplot takes a map and one array of names per layer, from fine to coarse.

coordinates = display.points[["x", "y"]].to_numpy()
names = [np.array([f"{len(set(layer))}: topic {label}" for label in layer]) for layer in layers]
if find_spec("datamapplot"):
    import datamapplot

    page = datamapplot.create_interactive_plot(coordinates, *names)
    # page.save("levels.html") writes it.
    assert "</html>" in str(page)

# %%
# Toponymy takes a clusterer that was fitted: layers with centroids, and a tree. Pass it on as
# ``Toponymy(llm_wrapper, text_embedding_model, clusterer=clusterer)``, and fit that to the texts.

if find_spec("toponymy"):
    from toponymy import ClusterLayerText, ToponymyClusterer
    from toponymy.clustering import build_cluster_tree, centroids_from_labels

    embedding = views[0]  # the one of the texts
    clusterer = ToponymyClusterer()
    clusterer.cluster_tree_ = build_cluster_tree(layers)
    clusterer.cluster_layers_ = [
        ClusterLayerText(layer, centroids_from_labels(layer, embedding), layer_id=i)
        for i, layer in enumerate(layers)
    ]
    children = clusterer.cluster_tree_[1, 0]
    assert all(level == 0 for level, _ in children)
