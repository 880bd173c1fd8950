"""
================
Doubtful samples
================

Which labels should be checked? ``AutoDALMC`` fits several settings, and ``confidence_`` is the
share of them that agree with the label of a sample. Labels of low confidence are wrong more often.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import AutoDALMC, load_digits
from anchorview.inspection import compare_partitions, doubtful

views, y = load_digits(return_X_y=True)
model = AutoDALMC(n_clusters=10, budget="fast", random_state=0).fit(views)
print(doubtful(model, n_samples=5))

# %%
# A label is wrong if the cluster of the sample does not match its digit.

moved = compare_partitions(y, model).moved
right = ~np.isin(np.arange(len(y)), moved["sample"])
groups = np.array_split(np.argsort(model.confidence_, kind="stable"), 4)
accuracy = [right[group].mean() for group in groups]

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.bar(["lowest", "second", "third", "highest"], accuracy)
ax.set(xlabel="Quarter of the samples, by confidence", ylabel="Share of right labels", ylim=(0, 1))
plt.show()

# %%

assert accuracy[0] < accuracy[-1]
