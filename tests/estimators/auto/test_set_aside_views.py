"""Views that disagree with the others are set aside, and it is said."""

import dask
import numpy as np
import pandas as pd
import pytest

from anchorview import AutoDALMC, make_multiview
from anchorview.estimators.auto import evidence
from anchorview.estimators.representation import view_sentences
from anchorview.metrics import clustering_accuracy
from anchorview.report import findings, write_fit_report
from anchorview.sources import disk_source
from helpers.auto_models import candidate_labels, used_views
from helpers.dask_problems import in_dask, stored
from helpers.data import nested_views, with_ids
from helpers.model_files import round_trip
from helpers.tables import customer_views

N, K = 240, 4
SAID = "iew 'extra' was set aside: "


def planted(n_views=2, separation=5):
    views, y = make_multiview(N, n_clusters=K, separation=separation, random_state=0)
    return dict(list(views.items())[:n_views]), y


def noise():
    return np.random.default_rng(0).standard_normal((N, 30))


def other_clusters():
    """A view with clearer clusters than the others, which have nothing to do with theirs."""
    views, _ = make_multiview(N, n_clusters=K, separation=30, random_state=5)
    return views["view_0"][np.random.default_rng(0).permutation(N)]


def fit(views, **options):
    return AutoDALMC(**{"n_clusters": K, "budget": "fast", "random_state": 0} | options).fit(views)


@pytest.fixture(scope="module")
def with_extra():
    views, y = planted()
    return {**views, "extra": other_clusters()}, y


@pytest.fixture(scope="module")
def fitted(with_extra):
    return fit(with_extra[0])


@pytest.mark.parametrize(("extra", "n_views"), [(noise, 2), (other_clusters, 2), (noise, 3)])
def test_a_planted_view_is_set_aside_as_if_it_were_not_there(extra, n_views):
    views, _ = planted(n_views)
    names = list(views)
    # Not the last one, so that positions of used views are not those of all.
    with_extra = {names[0]: views[names[0]], "extra": extra(), **views}
    model = fit(with_extra)
    expected = fit(views)
    assert used_views(model) == tuple(names)
    assert model.view_names_in_ == ("view_0", "extra", *names[1:])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.confidence_, expected.confidence_)
    table, agreement = model.views_, "agreement_with_result"
    np.testing.assert_allclose(table["weight"][names], expected.views_["weight"])
    np.testing.assert_allclose(table[agreement][names], expected.views_[agreement], atol=0.2)
    assert table.loc["extra", "weight"] == 0
    assert abs(table.loc["extra", agreement]) < 0.1
    assert table.loc["extra", "agreement_with_others"] < 0.05
    assert table["used"].to_dict() == {name: name != "extra" for name in with_extra}
    assert table.index[table["why"] != ""].tolist() == ["extra"]


def test_the_rule_decides_which_views_are_used(with_extra, fitted, set_constants):
    views, y = with_extra
    set_constants(evidence, AGREEMENT=2.0)
    with_all = fit(views)
    assert used_views(with_all) == tuple(views)
    assert clustering_accuracy(y, fitted.labels_) > 0.8


@pytest.mark.parametrize("separation", [1.2, 3, 8])
def test_no_view_of_generated_data_is_set_aside(separation):
    views, _ = planted(3, separation)
    model = fit(views)
    assert used_views(model) == tuple(views)
    assert "set aside" not in repr(model)


def test_no_view_of_the_digits_is_set_aside(digits):
    views = {name: view[::8] for name, view in digits[0].items()}
    assert used_views(fit(views, n_clusters=10)) == tuple(views)


def test_a_faint_view_of_the_same_clusters_is_used():
    views, y = customer_views()
    del views["customers"]["name"]
    # Regions are clusters, too, and the fast budget has too few candidates to tell them apart.
    model = fit(views, n_clusters=3, budget="default")
    assert used_views(model) == tuple(views)
    assert model.views_["separation"]["text"] < 0.2 < 0.65 < model.views_["separation"]["customers"]
    assert clustering_accuracy(y, model.labels_) > 0.8


def test_two_views_whose_rows_are_in_other_orders_warn():
    views, _ = planted(2, separation=8)
    order = np.random.default_rng(0).permutation(N)
    views["view_1"] = views["view_1"][order]
    with pytest.warns(UserWarning, match="view_0 and view_1.*orders.*different things"):
        model = fit(views)
    assert used_views(model) == ("view_0", "view_1")
    assert "different orders" in repr(model)
    # Samples that are matched by id have no order.
    frames = {name: pd.DataFrame(view) for name, view in views.items()}
    frames["view_1"].index = order
    assert fit(frames).structure_ > 0.6


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_view_is_used_if_a_sample_has_no_other(with_extra, in_parts, tmp_path, set_constants):
    set_constants(disk_source, PART=2**12, PRODUCTS_PER_PART=0)
    views = {name: view.copy() for name, view in with_extra[0].items()}
    for row in (3, -1):
        views["view_0"][row] = views["view_1"][row] = np.nan
    model = fit(stored(tmp_path, views) if in_parts else views)
    assert used_views(model) == tuple(views)
    (sentence,) = view_sentences(model)
    assert "'extra' disagrees, but is used because 2 samples have no other: it" in sentence
    assert sentence[1:] in repr(model)


def test_new_samples_that_have_only_that_view_raise(with_extra, fitted, tmp_path):
    views = {name: view.copy() for name, view in with_extra[0].items()}
    for name in ("view_0", "view_1"):
        views[name][[200, 230]] = np.nan
    message = "Sample 200 has only the view 'extra', set aside by AutoDALMC.*one of 'view_0', 'vie"
    for function in (fitted.predict, fitted.transform, fitted.predict_with_confidence):
        with pytest.raises(ValueError, match=message):
            function(views)
    with pytest.raises(ValueError, match=message):
        fitted.predict(stored(tmp_path, views), out=tmp_path / "labels.npy")
    with pytest.raises(ValueError, match=r"Sample 200 \('s200'\) has only"):
        fitted.predict(with_ids(views))
    with pytest.raises(ValueError, match="Sample 0 has only"):
        fitted.predict({"extra": views["extra"]})


def test_new_samples_do_not_need_the_view(with_extra, fitted):
    views, _ = with_extra
    without = {name: views[name] for name in used_views(fitted)}
    np.testing.assert_array_equal(fitted.predict(without), fitted.labels_)
    changed = {**views, "extra": noise()[:, : views["extra"].shape[1]]}
    np.testing.assert_array_equal(fitted.predict(changed), fitted.labels_)
    expected = candidate_labels(fitted, views)
    np.testing.assert_array_equal(candidate_labels(fitted, without), expected)


def test_files_and_dask(with_extra, fitted, tmp_path, set_constants):
    views, _ = with_extra
    set_constants(disk_source, PART=2**12, PRODUCTS_PER_PART=0)
    files = stored(tmp_path, views)
    model = AutoDALMC(K, budget="fast", random_state=0).fit(files, out=tmp_path / "results")
    with dask.config.set(scheduler="threads"):
        in_chunks = AutoDALMC(K, budget="fast", random_state=0).fit(in_dask(views, 60))
        labels = in_chunks.labels_.compute()
    for found in (model, in_chunks):
        assert used_views(found) == used_views(fitted)
    np.testing.assert_array_equal(model.labels_, fitted.labels_)
    np.testing.assert_array_equal(labels, fitted.labels_)
    np.testing.assert_array_equal(model.predict(files), fitted.labels_)
    np.testing.assert_allclose(model.transform(files), fitted.transform(views), atol=1e-8)


def test_levels(tmp_path):
    views, _ = nested_views(n_samples=N, n_views=2)
    numbers = [3, 4, 9]
    expected = fit(views, n_clusters=numbers)
    model = fit({**views, "c": noise()}, n_clusters=numbers)
    assert used_views(model) == ("view_0", "view_1")
    # The number is chosen by the views that are used.
    pd.testing.assert_series_equal(model.curve_, expected.curve_)
    pd.testing.assert_frame_equal(model.levels_, expected.levels_)
    assert len(model.levels_) > 1
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    loaded = round_trip(model, tmp_path)
    for k in model.levels_.index.tolist():
        labels = model.labels_at(k)
        np.testing.assert_array_equal(labels, expected.labels_at(k))
        np.testing.assert_array_equal(model.predict(views, level=k), labels)
        np.testing.assert_array_equal(loaded.predict(views, level=k), labels)


def test_it_is_said_also_in_reports(with_extra, fitted, capsys, tmp_path, set_constants):
    assert f"V{SAID}" in repr(fitted)
    assert "was set aside" in fitted._repr_mimebundle_()["text/html"]
    fit(with_extra[0], verbose=1)
    assert f"v{SAID}" in capsys.readouterr().out
    set_constants(findings, MAX_REFIT_COST=0)
    write_fit_report(tmp_path / "report.html", fitted, with_extra[0])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("was set aside: ") == 2
