"""
======================
Save and serve a model
======================

How does a model get from a notebook into a service? A model file has arrays and JSON only, so
loading one runs no code from it. The service below answers a request in JSON with a cluster and the
membership of the sample in each cluster.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import anchorview
from anchorview import DALMC, make_multiview
from anchorview.inspection import memberships

views, _ = make_multiview(300, n_clusters=4, separation=5, random_state=0)
seen = {name: view[:299] for name, view in views.items()}
fitted = DALMC(n_clusters=4, random_state=0).fit(seen)
fitted.relabel({0: "north", 1: "east", 2: "south", 3: "west"})

with TemporaryDirectory() as folder:
    path = Path(folder) / "regions.anchorview"
    fitted.save(path)
    model = anchorview.load(path)


def answer(request):
    """Answer a request such as ``{"view_0": [0.1, ...]}``, with any of the views."""
    sample = {name: np.array([values]) for name, values in json.loads(request).items()}
    shares = memberships(model, sample).iloc[0]
    label = model.cluster_names_[model.predict(sample)[0]]
    return json.dumps({"cluster": str(label), "memberships": shares.round(3).to_dict()})


request = json.dumps({name: view[299].tolist() for name, view in views.items()})
reply = json.loads(answer(request))
print(reply)

# %%

figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.bar(list(reply["memberships"]), list(reply["memberships"].values()))
ax.set(ylabel="Membership of the new sample", ylim=(0, 1))
plt.show()

# %%

assert max(reply["memberships"], key=reply["memberships"].get) == reply["cluster"]
assert (model.predict(seen) == fitted.labels_).all()
