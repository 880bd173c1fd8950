"""What tests read from fitted AutoDALMC models."""

import pytest


def used_views(model):
    """Names of the views that were not set aside."""
    return tuple(model.views_.index[model.views_["used"]])


def candidate_labels(model, X):
    """Clusters by every candidate alone, from a method that is deprecated."""
    with pytest.warns(FutureWarning, match="candidate_labels"):
        return model.candidate_labels(X)
