"""What the report of a fit says, for every kind of model."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import silhouette_score

import anchorview
import anchorview.compared
from anchorview import DALMC, MultiViewData, make_multiview
from anchorview._utils.errors import OutputFileError
from anchorview.compared import OPMC
from anchorview.report import write_fit_report
from anchorview.report.cluster_sections import cluster_section, confusion_section, silhouettes
from anchorview.report.fit_facts import gathered
from anchorview.report.history_sections import convergence_section, python_call
from anchorview.report.view_sections import pattern_section, view_section


@pytest.fixture(scope="module")
def problem():
    views, y = make_multiview(90, n_clusters=3, separation=6, random_state=0)
    return views, y, DALMC(n_clusters=3, random_state=0).fit(views)


def sections(path):
    text = path.read_text(encoding="utf-8")
    return [html.unescape(found) for found in re.findall(r"<h2 [^>]*>(.*?)</h2>", text)]


def fit_of(model, X, target=None, ids=None, scores=None):
    return gathered(model, X, target, ids, scores)


def test_sections_of_a_whole_report(small_report):
    assert sections(small_report) == [
        "Overview",
        "Map of the samples",
        "Clusters",
        "Views",
        "Convergence",
        "Available views",
        "Clusters and classes",
        "Candidate settings",
        "To repeat it",
    ]


def test_sections_of_a_plain_fit(problem, tmp_path):
    views, _, model = problem
    write_fit_report(tmp_path / "a.html", model, views, seconds=1.25)
    assert sections(tmp_path / "a.html") == [
        "Overview",
        "Map of the samples",
        "Clusters",
        "Views",
        "Convergence",
        "To repeat it",
    ]
    text = (tmp_path / "a.html").read_text()
    assert "<dd>1.25</dd>" in text
    assert "Agreement between what the model predicts" in text
    assert "Scores against the labels" not in text


def test_without_views_what_needs_them_is_left_out(problem, tmp_path):
    _, y, model = problem
    write_fit_report(tmp_path / "a.html", model, None, target=y)
    text = (tmp_path / "a.html").read_text()
    assert "Agreement between what the model predicts" not in text
    assert "Scores against the labels, which the fit did not see" in text
    assert "Clusters and classes" in sections(tmp_path / "a.html")


def test_a_method_without_embedding_and_prediction(problem, tmp_path):
    views, y, _ = problem
    model = OPMC(n_clusters=3, random_state=0).fit(views)
    assert not hasattr(model, "embedding_")
    assert not hasattr(model, "predict")
    write_fit_report(tmp_path / "a.html", model, views, target=y)
    text = (tmp_path / "a.html").read_text()
    assert "OPMC keeps no embedding of the samples, so there is no map of them." in text
    assert "Mean silhouette" not in text
    assert "Agreement between what the model predicts" not in text


def test_ids_of_the_model_are_used_unless_others_are_given(problem):
    views, _, _ = problem
    names = [f"s{row}" for row in range(90)]
    frames = {name: pd.DataFrame(view, index=names) for name, view in views.items()}
    model = DALMC(n_clusters=3, random_state=0).fit(frames)
    assert fit_of(model, frames).ids[5] == "s5"
    assert fit_of(model, frames, ids=[f"t{row}" for row in range(90)]).ids[5] == "t5"


def test_scores_that_are_given_are_shown_as_they_are(problem, tmp_path):
    views, y, model = problem
    write_fit_report(tmp_path / "a.html", model, views, target=y, scores={"Mine": 0.125})
    text = (tmp_path / "a.html").read_text()
    assert "<dt>Mine</dt><dd>0.125</dd>" in text
    assert "<dt>ACC</dt>" not in text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target": np.zeros(5)}, "target has 5 samples, but the model was fitted on 90"),
        ({"sample_ids": ["a"]}, "sample_ids has 1 samples"),
    ],
)
def test_other_samples_are_refused(problem, tmp_path, wrong, message):
    views, _, model = problem
    with pytest.raises(ValueError, match=message):
        write_fit_report(tmp_path / "a.html", model, views, **wrong)
    with pytest.raises(ValueError, match="X has 50 samples"):
        write_fit_report(tmp_path / "a.html", model, MultiViewData(views)[:50])
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_and_a_place_that_is_not_there(problem, tmp_path):
    views, _, model = problem
    with pytest.raises(ValueError, match="DALMC is not fitted yet"):
        write_fit_report(tmp_path / "a.html", DALMC(), views)
    with pytest.raises(OutputFileError, match="there is no folder"):
        write_fit_report(tmp_path / "none" / "a.html", model, views)


def test_clusters_have_their_sizes_and_silhouettes(problem):
    views, _, model = problem
    fit = fit_of(model, views)
    means, overall = silhouettes(fit)
    assert 0.5 < means.min() <= overall <= means.max() <= 1
    section = cluster_section(fit, means)
    table = section.parts[0].frame
    assert table["Samples"].tolist() == np.bincount(model.labels_).tolist()
    assert table["Share"].sum() == pytest.approx(1)
    assert "Mean confidence" not in table


def test_confidence_by_cluster(small_fit):
    model, data, *_ = small_fit
    table = cluster_section(fit_of(model, data), None).parts[0].frame
    for cluster, row in table.iterrows():
        own = model.confidence_[model.labels_ == cluster]
        assert row["Mean confidence"] == pytest.approx(own.mean())
        assert row["Doubtful"] == pytest.approx((own < 0.5).mean())


def test_classes_stand_opposite_their_clusters(problem):
    views, y, model = problem
    names = np.array(["zebra", "ape", "cat"])[y]
    (chart,) = confusion_section(fit_of(model, views, target=names)).parts
    counts = chart.table.iloc[:, 1:].to_numpy()
    assert sorted(chart.table.columns[1:]) == ["ape", "cat", "zebra"]
    assert counts.sum() == 90
    assert np.trace(counts) == 90


def test_many_classes_and_clusters_are_cut_to_the_largest(problem):
    views, _, _ = problem
    model = DALMC(n_clusters=3, random_state=0).fit(views)
    (chart,) = confusion_section(fit_of(model, views, target=np.arange(90) % 70)).parts
    assert chart.table.shape == (3, 51)
    assert "Only the 50 largest" in chart.description


def test_views_by_themselves(problem):
    views, _, model = problem
    table, *charts = view_section(fit_of(model, views)).parts
    assert table.frame["Weight"].tolist() == pytest.approx(model.view_weights_.tolist())
    assert table.frame["Samples"].tolist() == [90] * len(views)
    matrix = charts[-1].table.iloc[:, 1:].to_numpy()
    assert matrix.shape == (len(views) + 1, len(views) + 1)
    assert np.diag(matrix).tolist() == [1] * (len(views) + 1)
    assert (matrix == matrix.T).all()


def test_patterns_of_views_add_up(small_fit):
    _, data, *_ = small_fit
    (chart,) = pattern_section(data).parts
    assert chart.table["Samples"].sum() == len(data)
    assert chart.table["Samples"].iloc[0] == max(group.size for group in data.groups)


def test_many_patterns_are_summed_up():
    has = np.random.RandomState(0).random_sample((400, 7)) > 0.5
    has[~has.any(axis=1), 0] = True
    data = MultiViewData([np.random.RandomState(p).rand(400, 2) for p in range(7)], available=has)
    (chart,) = pattern_section(data).parts
    assert len(chart.table) == 21
    assert "other patterns" in chart.table["Views"].iloc[-1]
    assert chart.table["Samples"].sum() == 400


def test_why_it_stopped(problem):
    views, *_ = problem
    short = DALMC(n_clusters=3, max_iter=1, tol=0, random_state=0).fit(views)
    text = convergence_section(fit_of(short, views)).parts[0].text
    assert "after 1 iteration, the most that max_iter=1 allows" in text
    long = DALMC(n_clusters=3, tol=0.5, random_state=0).fit(views)
    text = convergence_section(fit_of(long, views)).parts[0].text
    assert "of at most 50: the change fell below tol=0.5" in text


def test_iterations_start_where_the_method_records_them(problem):
    views, _, model = problem
    ours = convergence_section(fit_of(model, views)).parts[1].table
    assert ours["Iteration"].tolist() == list(range(model.n_iter_ + 1))
    other = OPMC(n_clusters=3, random_state=0).fit(views)
    theirs = convergence_section(fit_of(other, views)).parts[1].table
    assert theirs["Iteration"].tolist() == list(range(1, other.n_iter_ + 1))


@pytest.mark.parametrize(
    "model",
    [
        DALMC(n_clusters=4, beta=0.5, n_components=[3, 4], scaling="unit", random_state=3),
        anchorview.AutoDALMC(n_clusters=range(2, 5), random_state=1),
        OPMC(n_clusters=2),
    ],
)
def test_the_call_makes_the_same_estimator(model):
    code = python_call(model).replace(".fit(views)", "")
    made = {}
    exec(code, made)
    assert type(made["model"]) is type(model)
    assert made["model"].get_params() == model.get_params()
    # Settings left at their defaults are not in it.
    assert "verbose" not in code


@pytest.fixture(scope="module")
def framed(problem):
    views, y, _ = problem
    ids = [f"s{row}" for row in range(len(y))]
    frames = {name: pd.DataFrame(view, index=ids) for name, view in views.items()}
    return frames, pd.Series(y, index=ids), DALMC(n_clusters=3, random_state=0).fit(frames)


def test_samples_in_another_order_are_brought_to_that_of_the_fit(framed):
    frames, y, model = framed
    order = np.random.RandomState(0).permutation(len(y))
    expected = fit_of(model, frames, y)
    found = fit_of(model, {name: view.iloc[order] for name, view in frames.items()}, y.iloc[order])
    assert found.scores == expected.scores
    for mixed, straight in zip(found.data.views, expected.data.views, strict=True):
        np.testing.assert_array_equal(mixed, straight)


def test_samples_of_other_names_are_refused(framed):
    frames, y, model = framed
    others = [f"z{row}" for row in range(len(y))]
    with pytest.raises(ValueError, match=r"X names other samples .* 'z0'"):
        fit_of(model, {name: view.set_axis(others) for name, view in frames.items()})
    with pytest.raises(ValueError, match=r"target names other samples .* 'z1'"):
        fit_of(model, frames, y.set_axis([*y.index[:1], *others[1:]]))
    assert fit_of(model, frames, y.reset_index(drop=True)).scores["ACC"] == 1


def test_samples_without_a_class_count_nowhere(problem, tmp_path):
    views, y, model = problem
    some = pd.Series(y).astype("Int64")
    some[::2] = pd.NA
    fit = fit_of(model, views, some)
    assert fit.scores == fit_of(model, views, y).scores
    (chart,) = confusion_section(fit).parts
    assert chart.table.drop(columns="Cluster").to_numpy().sum() == 45
    assert "45 of 90 samples have a class" in confusion_section(fit).text
    write_fit_report(tmp_path / "some.html", model, views, target=some)
    none = fit_of(model, views, [None] * 90)
    assert none.target is None
    assert none.scores == {}


def test_a_target_of_several_columns_is_refused_by_its_name(problem):
    views, y, model = problem
    with pytest.raises(ValueError, match=r"target must have one class a sample; .*\(90, 1\)"):
        fit_of(model, views, y[:, None])


def test_silhouettes_are_of_what_was_clustered(problem):
    views, _, _ = problem
    model = anchorview.compared.AMGL(n_clusters=3, random_state=0).fit(views)
    _, found = silhouettes(fit_of(model, views))
    sizes = np.bincount(model.labels_)
    assert len(set(sizes)) == 1
    assert found == pytest.approx(silhouette_score(model.embedding_, model.labels_), abs=1e-6)


def test_the_call_is_python():
    generator = np.random.RandomState(0)
    model = DALMC(n_clusters=np.int64(3), n_components=np.array([4, 5, 6]), random_state=generator)
    call = python_call(model)
    compile(call, "call", "exec")
    assert "DALMC(n_clusters=3, n_components=[4, 5, 6])" in call


def test_a_name_that_is_no_text_is_written_as_it_can_be(problem, tmp_path):
    _, _, model = problem
    path = tmp_path / "odd.html"
    write_fit_report(path, model, None, name="f\udcfcd", call="anchorview fit f\udcfcd")
    assert "f\\udcfcd" in path.read_text(encoding="utf-8")
