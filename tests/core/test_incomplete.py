"""Samples without some of their views, in training and afterwards."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold

from anchorview import DALMC, MultiViewData, make_multiview
from anchorview.metrics import clustering_accuracy


def removed(views, share, seed):
    """Views with a share of all (sample, view) entries removed; every sample keeps one."""
    rng = np.random.default_rng(seed)
    n, v = len(next(iter(views.values()))), len(views)
    keys = rng.random((n, v))
    keys[np.arange(n), rng.integers(v, size=n)] = 2  # kept whatever the share
    gone = np.zeros(n * v, bool)
    gone[np.argsort(keys.ravel())[: round(share * n * v)]] = True
    return MultiViewData(views, available=~gone.reshape(n, v))


@pytest.mark.parametrize(("share", "wide", "default"), [(0.1, 0.94, 0.88), (0.5, 0.90, 0.79)])
def test_digits_with_missing_views(digits, share, wide, default):
    views, y = digits
    accuracies = []
    for seed in range(2):
        data = removed(views, share, seed)
        models = [
            DALMC(10, n_anchors=20, n_components=20, random_state=0).fit(data),
            DALMC(10, random_state=0).fit(data),
        ]
        accuracies.append([clustering_accuracy(y, model.labels_) for model in models])
    mean = np.mean(accuracies, axis=0)
    assert mean[0] >= wide
    assert mean[1] >= default


def test_every_pattern_can_be_predicted_also_unseen_ones(digits):
    views, y = digits
    model = DALMC(10, random_state=0).fit(views)
    names = list(views)
    accuracies = {}
    for has in product([True, False], repeat=6):
        if any(has):
            given = {name: views[name] for name, there in zip(names, has, strict=True) if there}
            accuracies[has] = clustering_accuracy(y, model.predict(given))
    assert accuracies[(True,) * 6] > 0.9
    assert min(accuracies.values()) > 0.3
    assert np.mean(list(accuracies.values())) > 0.8


def test_a_sample_gets_the_same_row_alone_and_among_others():
    views, _ = make_multiview(300, n_clusters=3, missing=0.3, random_state=0)
    data = MultiViewData(views)
    model = DALMC(3, random_state=0).fit(data)
    alone = np.vstack([model.transform(data[i], scale=False) for i in range(60)])
    np.testing.assert_allclose(alone, model.embedding_[:60], atol=1e-10)


def test_held_out_digits_agree_with_a_fit_on_everything(digits):
    views, _ = digits
    data = MultiViewData(views)
    whole = DALMC(10, random_state=0).fit(data)
    agreement = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(data):
        model = DALMC(10, random_state=0).fit(data[train])
        agreement.append(adjusted_rand_score(model.predict(data[test]), whole.labels_[test]))
    assert np.mean(agreement) >= 0.95


def test_groups_that_do_not_pay_are_solved_directly():
    # Fewer samples per pattern than features: nothing to compress.
    views, _ = make_multiview(400, n_clusters=3, n_features=(40,) * 8, missing=0.5, random_state=0)
    assert DALMC(3, random_state=0).fit(views).plan_.route == "direct"
    many, _ = make_multiview(9000, n_clusters=3, n_features=(9,) * 3, missing=0.3, random_state=0)
    assert DALMC(3, random_state=0).fit(many).plan_.route == "compressed"
