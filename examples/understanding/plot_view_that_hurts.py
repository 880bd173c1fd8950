"""
=================
A view that hurts
=================

Is one of the views misleading? Three views show the same four clusters, and one has other
clusters. ``leave_one_view_out`` fits the model without each view, and finds the one that disagrees.
"""

import matplotlib.pyplot as plt

from anchorview import DALMC, AutoDALMC, make_multiview
from anchorview.inspection import leave_one_view_out
from anchorview.metrics import clustering_accuracy

views, y = make_multiview(
    240, n_clusters=4, n_features=(15, 15, 15), separation=4, noise=3, random_state=0
)
views["other"] = make_multiview(
    240, n_clusters=4, n_features=(15,), separation=6, noise=0.1, random_state=1
)[0]["view_0"]
model = DALMC(n_clusters=4, random_state=0).fit(views)
table = leave_one_view_out(model, views)
print(table)

# %%

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
colors = ["tab:red" if flag else "tab:gray" for flag in table["disagrees"]]
ax.barh(list(table.index), table["agreement_with_others"], color=colors)
ax.set(xlabel="Agreement of the view alone with the other views", xlim=(-0.05, 1))
ax.invert_yaxis()
plt.show()

# %%
# ``AutoDALMC`` sets such a view aside by itself.

auto = AutoDALMC(n_clusters=4, budget="fast", random_state=0).fit(views)
print(auto.views_.loc["other", "why"])

assert list(table.index[table["disagrees"]]) == ["other"]
assert not auto.views_.loc["other", "used"]
assert clustering_accuracy(y, auto.labels_) > clustering_accuracy(y, model.labels_)
