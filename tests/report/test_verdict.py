"""The verdict on a fit."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from anchorview.report.checked_fit import CheckedFit
from anchorview.report.findings import Certainty, Findings, verdict


def sentence(doubtful_by_cluster, disagreeing=()):
    """Verdict on clusters of 20 samples, of which so many are doubtful."""
    k = len(doubtful_by_cluster)
    labels = np.repeat(np.arange(k), 20)
    confidence = np.ones((k, 20))
    for cluster, count in enumerate(doubtful_by_cluster):
        confidence[cluster, :count] = 0.2
    without = pd.DataFrame({"disagrees": [view in disagreeing for view in "abc"]}, index=[*"abc"])
    fit = CheckedFit(SimpleNamespace(labels_=labels))
    frame = pd.DataFrame({"size": [20] * k, "doubtful": doubtful_by_cluster})
    low = confidence.ravel() < 0.5
    certainty = Certainty(confidence.ravel(), np.full(20 * k, -1), low, "")
    findings = Findings(frame, certainty, None, None, without, [])
    return verdict(fit, findings)


@pytest.mark.parametrize(
    ("doubtful", "disagreeing", "expected"),
    [
        ([0, 0, 0], "", "3 clusters, all of them clear; 0 of 60 samples are doubtful."),
        ([0, 1, 0], "", "3 clusters, all of them clear; 1 of 60 samples is doubtful."),
        (
            [0, 15, 1],
            "b",
            "3 clusters, clear but for cluster 1; 16 of 60 samples are doubtful; b disagrees with "
            "the other views.",
        ),
        (
            [10, 10, 0],
            "ab",
            "3 clusters, clear but for clusters 0 and 1; 20 of 60 samples are doubtful; a and b "
            "disagree with the other views.",
        ),
        ([20, 20], "", "2 clusters, none of them clear; 40 of 40 samples are doubtful."),
    ],
)
def test_verdict(doubtful, disagreeing, expected):
    assert sentence(doubtful, disagreeing) == expected


def test_without_confidence_only_the_number_is_known():
    fit = CheckedFit(SimpleNamespace(labels_=np.arange(4)))
    findings = Findings(pd.DataFrame({"size": [1] * 4}), None, None, None, None, [])
    assert verdict(fit, findings) == "4 clusters."
