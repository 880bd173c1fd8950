"""scikit-learn's own checks, on one view; several views have a contract of their own."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from anchorview import DALMC, AutoDALMC
from anchorview.compared import EOMSCCA, LMVSC, SFMC, ConcatHDBSCAN, ConcatKMeans
from anchorview.estimators.methods import method_class
from helpers.installed import INSTALLED

ONE_CLUSTER = "the check sets n_clusters=1, which is not a clustering; covered below with 2"
EXPECTED_FAILURES = {
    "check_dont_overwrite_parameters": ONE_CLUSTER,
    "check_methods_subset_invariance": ONE_CLUSTER,
    "check_fit2d_1sample": ONE_CLUSTER,
    "check_fit2d_1feature": ONE_CLUSTER,
    "check_fit2d_predict1d": ONE_CLUSTER,
}


CLASSES = [method_class(name) for name in INSTALLED]
QUICK = {
    AutoDALMC: {"budget": "fast"},
    EOMSCCA: {"max_iter": 3},
    LMVSC: {"n_anchors": 5},
    SFMC: {"max_iter": 2},
}
ON_NOISE = "copies count once among neighbors, so that only clear clusters are the same"
FURTHER_FAILURES = {
    AutoDALMC: {
        "check_sample_weight_equivalence_on_dense_data": ON_NOISE,
        "check_sample_weight_equivalence_on_sparse_data": ON_NOISE,
    },
    ConcatHDBSCAN: {
        "check_clustering": "the data decide on the number of clusters, not n_clusters"
    },
}
PREDICTING = [DALMC, AutoDALMC]
REPRESENTATIVES = [*PREDICTING, ConcatKMeans]
"""Baselines share what the checks are about."""


def quick(cls):
    """Estimator for the checks, which fit many times; AutoDALMC with one setting of a family."""
    return cls(n_clusters=3, **QUICK.get(cls, {}))


def checks_of(classes):
    return parametrize_with_checks(
        [*map(quick, classes)],
        expected_failed_checks=lambda model: (
            EXPECTED_FAILURES | FURTHER_FAILURES.get(type(model), {})
        ),
    )


@pytest.mark.filterwarnings("ignore")
@checks_of(REPRESENTATIVES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@checks_of([cls for cls in CLASSES if cls not in REPRESENTATIVES])
def test_scikit_learn_checks_of_the_other_baselines(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_sets_no_public_attribute_without_underscore(cls):
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = cls(2)
    before = dict(vars(model))
    model.fit(X)
    added = set(vars(model)) - set(before)
    assert all(name.startswith("_") or name.endswith("_") for name in added)
    assert {name: vars(model)[name] for name in before} == before


@pytest.mark.parametrize("cls", CLASSES)
def test_one_sample_one_feature_and_flat_input(cls):
    with pytest.raises(ValueError, match="n_samples=1 "):
        cls(2).fit(np.ones((1, 10)))
    one_feature = np.repeat([0.0, 5.0], 10)[:, None] + np.linspace(0, 1, 20)[:, None]
    assert len(set(cls(2, random_state=0).fit(one_feature).labels_)) == 2
    with pytest.raises(ValueError, match="Reshape your data"):
        cls(2).fit(np.zeros(3))


@pytest.mark.parametrize("cls", PREDICTING)
def test_predicting_one_by_one_gives_the_same(cls):
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = cls(2, random_state=0).fit(X)
    one_by_one = np.concatenate([model.predict(row[None]) for row in X])
    np.testing.assert_array_equal(one_by_one, model.labels_)
    rows = np.vstack([model.transform(row[None], scale=False) for row in X])
    np.testing.assert_allclose(rows, model.embedding_, atol=1e-12)
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(X[0])
