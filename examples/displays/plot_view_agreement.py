"""
=================================
Weight and agreement of the views
=================================

The weight of a view is its influence on the fit; its agreement says how similar the clusters of the
view alone are to the result. One of the three views is noise: it has half the weight of the rest,
but no agreement.
"""

import matplotlib.pyplot as plt
import numpy as np

from anchorview import AutoDALMC, make_multiview
from anchorview.plotting import ViewAgreementDisplay

views, _ = make_multiview(300, n_clusters=4, n_features=[20, 20], separation=5, random_state=0)
views["noise"] = np.random.default_rng(0).standard_normal((300, 20))
model = AutoDALMC(n_clusters=4, budget="fast", random_state=0).fit(views)
ViewAgreementDisplay.from_estimator(model)
plt.show()

# %%

*informative, noise = model.views_["agreement_with_result"]
assert noise < 0.1 < min(informative)
