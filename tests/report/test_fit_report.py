"""Contents of the report of a fit, for every kind of model."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans

from anchorview import DALMC, AutoDALMC, MultiViewData, make_multiview
from anchorview._utils.errors import OutputFileError
from anchorview._utils.text import percent
from anchorview.compared import AMGL, OPMC
from anchorview.estimators.relabeling import mapping_header
from anchorview.inspection import (
    ask,
    associate,
    cluster_markers,
    cluster_summary,
    memberships,
    representatives,
)
from anchorview.report import findings, model_sections, write_fit_report
from anchorview.report.cluster_sections import (
    cluster_cards,
    cluster_table,
    doubtful_parts,
    labeling_section,
    split_tree,
)
from anchorview.report.findings import Certainty, CheckedFit, Findings, inspect_fit
from anchorview.report.fit_report import verdict
from anchorview.report.model_sections import view_section
from anchorview.report.page import Table
from anchorview.report.sample_map import SampleContents
from helpers.data import with_ids
from helpers.pages import EVIL, ParsedPage
from helpers.tables import customer_views


@pytest.fixture(scope="module")
def problem():
    views, y = make_multiview(90, n_clusters=3, separation=6, random_state=0)
    return views, y, DALMC(n_clusters=3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def framed(problem):
    """The same with sample ids."""
    views, y, _ = problem
    frames = with_ids(views)
    return (
        frames,
        pd.Series(y, frames["view_0"].index),
        DALMC(n_clusters=3, random_state=0).fit(frames),
    )


@pytest.fixture
def report(tmp_path):
    """Write a report and parse it."""

    def write(model, X=None, **options):
        path = tmp_path / "report.html"
        write_fit_report(path, model, X, **options)
        return ParsedPage(path)

    return write


def checked(model, X, target=None, sample_ids=None):
    return CheckedFit(model, X, target=target, sample_ids=sample_ids)


def test_sections_of_a_complete_report(report_path):
    assert ", ".join(ParsedPage(report_path).section_titles) == (
        "Map of the samples, Clusters, Views, Clusters and classes, Technical details"
    )


def test_sections_of_a_plain_fit(problem, report):
    views, _, model = problem
    page = report(model, views, seconds=1.25)
    assert ", ".join(page.section_titles) == (
        "Map of the samples, Clusters, Views, Technical details"
    )
    assert "Seconds 1.25" in page.text
    assert "model = DALMC(n_clusters=3, random_state=0).fit(views)" in page.text
    assert "The number of clusters, 3, was given." in page.text
    assert "The model was fitted again without each view, on 90 samples. “Result" in page.text
    # One card per cluster, with markers of each view and typical samples.
    assert [int(card["data-size"]) for card in page.cards] == np.bincount(model.labels_).tolist()
    assert page.text.count("Typical samples") == 3


class WrappedKMeans:
    """A clusterer of a user: views side by side."""

    def fit(self, views):
        self.labels_ = KMeans(3, n_init=1, random_state=0).fit_predict(np.hstack([*views.values()]))
        return self

    def predict(self, views):
        raise AssertionError("The labels of a report are those of the fit.")


class Refitted(BaseEstimator):
    """Another one, which can be fitted again, but not without one of the views."""

    def fit(self, views):
        self.labels_ = np.array(["a", "b", "b"])[np.argmax(views["view_0"][:, :3], axis=1)]
        return self


@pytest.mark.parametrize(
    "model", [OPMC(3, random_state=0), AMGL(3, random_state=0), WrappedKMeans(), Refitted()]
)
def test_any_model_with_labels_has_a_report(problem, report, model):
    views, y, _ = problem
    model.fit(views)
    page = report(model, views, target=y)
    assert page.attributes("canvas")
    assert page.text.count("Typical samples") == len(np.unique(model.labels_))
    assert {"Views", "Clusters and classes"} <= set(page.section_titles)
    assert "predictions of the model from each view" not in page.text
    assert "Download names" not in page.text  # It cannot be relabeled.
    assert ("cannot be fitted without" in page.text) == isinstance(model, Refitted)
    page = report(model, target=y)
    assert "Clusters and classes" in page.section_titles
    assert bool(page.attributes("canvas")) == hasattr(model, "embedding_")
    name = type(model).__name__
    no_map = f"There is no map of the samples: {name} computes no embedding"
    assert (no_map in page.text) != hasattr(model, "embedding_")


def test_without_views_parts_that_need_them_are_omitted(framed, report):
    _, y, model = framed
    # Names of files may have bytes that are no text.
    page = report(model, target=y, scores={"Mine": 0.125}, name="f\udcfcd", call="fit f\udcfcd")
    assert "f\\udcfcd" in page.text
    assert "Mine 0.125" in page.text
    assert "ACC" not in page.texts
    assert "Typical samples" not in page.text
    assert "predictions of the model from each view" not in page.text
    assert "Clusters and classes" in page.section_titles
    assert page.attributes("canvas")
    assert checked(model, None).sample_ids[5] == "s5"
    ids = [f"t{row}" for row in range(90)]
    assert checked(model, None, sample_ids=ids).sample_ids[5] == "t5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": 50}, "X has 50 samples"),
        ({"target": np.zeros(5)}, "5 in target"),
        ({"target": np.zeros((90, 1))}, r"target must have one value per sample; .*\(90, 1\)"),
        ({"sample_ids": ["a"]}, "1 in sample_ids"),
        ({"texts": ["a"]}, "1 in texts"),
        ({"thumbnails": ["a.png"] * 91}, "91 in thumbnails"),
    ],
)
def test_inconsistent_samples_raise(problem, tmp_path, options, message):
    views, _, model = problem
    X = MultiViewData(views)[: options.pop("X", 90)]
    with pytest.raises(ValueError, match=message):
        write_fit_report(tmp_path / "a.html", model, X, **options)
    assert not list(tmp_path.iterdir())


def test_unfitted_model_and_missing_folder_raise(problem, tmp_path):
    views, _, model = problem
    with pytest.raises(ValueError, match="DALMC instance is not fitted yet"):
        write_fit_report(tmp_path / "a.html", DALMC(), views)
    with pytest.raises(OutputFileError, match="there is no folder"):
        write_fit_report(tmp_path / "none" / "a.html", model, views)


def test_numbers_of_the_clusters(incomplete_fit):
    model, data, *_ = incomplete_fit
    fit = checked(model, data)
    table = cluster_table(fit, inspect_fit(fit)).frame
    assert table["Samples"].tolist() == np.bincount(model.labels_).tolist()
    assert table["Share of samples (%)"].sum() == pytest.approx(100)
    for cluster, row in table.iterrows():
        confidence = model.confidence_[model.labels_ == cluster]
        assert row["Mean confidence (%)"] == pytest.approx(100 * confidence.mean())
        assert row["Doubtful samples"] == (confidence < 0.5).sum()


SUMMARIZED = ["size", "share", "confidence", "nearest_cluster", "separation"]


@pytest.mark.parametrize("estimator", [DALMC, OPMC])
def test_clusters_and_samples_are_those_of_inspection(framed, estimator):
    frames, *_ = framed
    model = estimator(n_clusters=4, random_state=0).fit(frames)
    found, expected = inspect_fit(checked(model, frames)), cluster_summary(model, frames)
    columns = [*SUMMARIZED, *(f"view:{name}" for name in frames)]
    pd.testing.assert_frame_equal(
        found.clusters[columns], expected[columns], check_index_type=False, check_dtype=False
    )
    typical = representatives(model, frames, n_samples=3)
    assert [f"s{row}" for row in found.representatives["row"]] == typical["sample"].tolist()
    assert found.representatives["cluster"].tolist() == typical["cluster"].tolist()
    if estimator is DALMC:
        two = np.sort(memberships(model, frames).to_numpy(), axis=1)[:, -2:]
        np.testing.assert_array_equal(found.certainty.doubtful, two[:, 0] > two[:, 1] / 2)
        stored = inspect_fit(checked(model, None))
        pd.testing.assert_frame_equal(stored.clusters[SUMMARIZED], expected[SUMMARIZED])
        np.testing.assert_array_equal(stored.certainty.doubtful, found.certainty.doubtful)


def test_doubtful_samples_are_those_of_the_lowest_confidence(incomplete_fit):
    model, data, target, sample_ids = incomplete_fit
    fit = checked(model, data, target, sample_ids)
    contents = SampleContents(sample_ids, None, None, on_map=True)
    found = inspect_fit(fit)
    found.certainty.doubtful[:] = False
    assert doubtful_parts(fit, found, contents) == []
    found.certainty.doubtful[np.argsort(model.confidence_)[:35]] = True
    (folded,) = doubtful_parts(fit, found, contents)
    (table,) = folded.parts
    rows = [link.row for link in table.frame["Sample"]]
    assert len(rows) == len(set(rows)) == 30
    assert "30 most doubtful of 35" in table.caption
    rest = np.delete(model.confidence_, rows)
    assert model.confidence_[rows].max() <= rest.min()
    assert [link.id for link in table.frame["Sample"]] == [sample_ids[row] for row in rows]
    assert table.frame["Cluster"].tolist() == [found.titles[model.labels_[row]] for row in rows]
    assert (table.frame["Cluster"] != table.frame["Next cluster"]).all()


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (DALMC(n_clusters=3, random_state=0), "The number of clusters, 3, was given."),
        (AutoDALMC([2, 3], budget="fast"), "3 was chosen (dashed)"),
    ],
)
def test_named_and_merged_clusters(problem, report, estimator, sentence):
    views, y, _ = problem
    model = clone(estimator).fit(views)
    planted = [int(model.labels_[np.flatnonzero(y == c)[0]]) for c in range(3)]
    model.relabel({planted[0]: EVIL, planted[1]: EVIL, planted[2]: "rest"})
    page = report(model, views, target=y)
    (listed,) = (attrs for attrs in page.attributes("ul") if attrs.get("id") == "cards")
    assert json.loads(listed["data-mapping"]) == mapping_header(model)
    assert sorted(card["data-name"] for card in page.cards) == sorted([EVIL, "rest"])
    sizes = {card["data-name"]: int(card["data-size"]) for card in page.cards}
    assert sizes == {EVIL: 60, "rest": 30}
    assert sentence in page.text
    # Both clusters have typical samples, and the other as the nearest.
    assert page.text.count("Typical samples") == page.text.count("Nearest cluster") - 1 == 2


def test_changes_since_a_reference(problem, report):
    views, _, old = problem
    names = {0: f"{EVIL} 0", 1: "one"}
    reference = DALMC(3, random_state=1).fit(views, reference=old).relabel(names)
    fewer = {name: view[reference.labels_ != 1] for name, view in views.items()}
    for model in (DALMC(2, random_state=0), AutoDALMC([2, 3], budget="fast", random_state=0)):
        page = report(model.fit(fewer, reference=reference), fewer)
        assert "Changes" in page.section_titles
        assert "2 of 3 clusters of reference continue; one vanished" in page.text
        assert f"{EVIL} 0" in page.text
        assert not any("hacked" in script for _, script in page.scripts)


def test_planted_feature_is_on_the_card_of_its_cluster(problem):
    views, y, _ = problem
    frames = {name: pd.DataFrame(view).add_prefix(f"{name} ") for name, view in views.items()}
    first = next(iter(frames))
    frames[first]["planted"] = 50.0 * (y == 1) + np.random.RandomState(0).rand(90)
    model = DALMC(n_clusters=3, random_state=0).fit(frames)
    fit = checked(model, frames)
    contents = SampleContents(None, None, None, on_map=True)
    cards = cluster_cards(fit, inspect_fit(fit), contents)
    planted = cards[model.labels_[np.flatnonzero(y == 1)[0]]]
    leading = planted["differences"][0]
    assert leading["feature"] == "planted"
    assert 50 <= float(leading["inside"]) <= 51
    assert 0 <= float(leading["outside"]) <= 1
    assert planted["title"].startswith("planted 50.")
    names, shares, differences = zip(*planted["views"], strict=True)
    assert sum(shares) == pytest.approx(1)
    assert leading in differences[names.index(first)]
    for card in cards:
        assert {model.labels_[link.row] for link, _ in card["samples"]} == {card["cluster"]}
        # Values of the typical samples in the columns that set their cluster apart.
        assert all(card["differences"][0]["feature"] in values for _, values in card["samples"])


@pytest.mark.parametrize("kind", ["dalmc", "auto", "labels"])
def test_tables_with_categories(report, kind):
    views, y = customer_views()
    views["customers"] = views["customers"].drop(columns="name")
    model = {"dalmc": DALMC(3, random_state=0), "auto": AutoDALMC(3, random_state=0)}.get(kind)
    model = SimpleNamespace(labels_=y) if model is None else model.fit(views)
    page = report(model, views)
    markers = cluster_markers(model, views)
    first = markers[markers["kind"] == "level"].drop_duplicates("cluster")
    assert kind == "auto" or set(first["feature"]) == {"plan=free", "plan=pro", "plan=team"}
    for row in first.to_dict("records"):
        shares = f"{percent(row['mean_in'])} {percent(row['mean_out'])}"
        assert f"{row['feature'].replace('=', ': ')} {shares}" in page.text
    described = "customers: 1 number, 3 categories (9 levels), 1 date." in page.text
    assert described == (kind != "labels")
    assert re.search(r"since 202\d-\d\d 202\d-\d\d", page.text)


def test_texts_and_metadata_that_were_not_clustered_are_in_titles(problem, report):
    views, y, model = problem
    words = np.array(["stereo sound", "garden hose", "puzzle game"])
    texts = [f"new {words[c]} {row}" for row, c in enumerate(y)]
    metadata = pd.DataFrame({"shop": np.array(["Rome", "Oslo", "Lima"])[y], "id": np.arange(90)})
    page = report(model, views, texts=texts, metadata=metadata)
    titles = {card["data-title"] for card in page.cards}
    assert len(titles) == 3
    for shop, pair in zip(("Rome", "Oslo", "Lima"), words, strict=True):
        (title,) = (title for title in titles if title.startswith(f"{shop}: "))
        assert set(pair.split()) & set(title.replace(",", "").split())


def test_every_level_has_cards_and_is_a_branch_of_the_tree(report, nested_fit):
    views, model = nested_fit
    page = report(model, views)
    levels = [attrs for attrs in page.attributes("ul") if attrs.get("class") == "cards"]
    assert [level["data-level"] for level in levels] == ["Coarse", "Fine"]
    assert ["hidden" in level for level in levels] == [False, True]
    sizes = [*np.bincount(model.labels_), *np.bincount(model.labels_at(9))]
    assert [int(card["data-size"]) for card in page.cards] == sizes
    assert "three groups (clusters) among 180 samples (or nine finer ones)" in page.text.lower()


def test_views_and_expensive_fits_without_one(problem, report, set_constants):
    views, _, model = problem
    fit = checked(model, views)
    found = inspect_fit(fit)
    section = view_section(fit, found)
    assert section.text == ""
    table, folded = section.parts
    # By what the views contribute.
    assert table.frame["View"].tolist() == found.shares.index.tolist()
    assert found.shares.is_monotonic_decreasing
    assert set(table.frame["Without it, the result would be"]) == {"the same"}
    (table,) = [part for part in folded.parts if isinstance(part, Table)]
    assert table.frame["Weight"].tolist() == pytest.approx(model.views_["weight"].tolist())
    assert table.frame["Samples"].tolist() == [90] * len(views)
    assert len(set(table.frame.columns)) == len(table.frame.columns)
    assert {"Result without it", "Others with it", "Others without it"} <= set(table.frame)
    found.without_view.loc["view_1", "disagrees"] = True
    section = view_section(fit, found)
    assert section.text.startswith("view_1 disagrees with the other views. Such a view may be")
    set_constants(findings, MAX_REFIT_COST=1.0)
    page = report(model, views)
    assert "The results without each view are left out" in page.text
    assert "Others with it" not in page.text


def test_samples_are_matched_by_id(framed):
    frames, y, model = framed
    order = np.random.RandomState(0).permutation(len(y))
    shuffled = {name: view.iloc[order] for name, view in frames.items()}
    expected, fit = checked(model, frames, y), checked(model, shuffled, y.iloc[order])
    assert fit.scores == expected.scores
    for view, expected_view in zip(fit.data.views, expected.data.views, strict=True):
        np.testing.assert_array_equal(view, expected_view)
    texts = pd.Series({f"s{row}": f"text {row}" for row in reversed(range(120))})
    assert CheckedFit(model, frames, texts=texts).texts.tolist() == [f"text {i}" for i in range(90)]
    fewer = CheckedFit(model, frames, texts=texts.drop("s0"))
    assert fewer.texts.tolist() == [None, *(f"text {i}" for i in range(1, 90))]
    unknown = [f"z{row}" for row in range(len(y))]
    with pytest.raises(ValueError, match="not in X: 's0'"):
        checked(model, {name: view.set_axis(unknown) for name, view in frames.items()})
    classes = checked(model, frames, y.set_axis([*y.index[:1], *unknown[1:]])).classes
    assert np.flatnonzero(pd.notna(classes)).tolist() == [0]
    with pytest.raises(ValueError, match=r"not in target.*'s0'.*'z0'"):
        checked(model, frames, y.set_axis(unknown))
    assert checked(model, frames, y.reset_index(drop=True)).scores["ACC"] == 1


def test_association_with_other_variables(problem, report):
    views, y, model = problem
    table = pd.DataFrame({EVIL: np.asarray(y, dtype=str), "noise": np.arange(90) % 7})
    found = associate(model, table)
    page = report(model, views, associations=found)
    assert "Other variables" in page.section_titles
    assert EVIL in page.text
    assert "1 of 2 variables differ between clusters" in page.text
    assert not any("hacked" in script for _, script in page.scripts)
    with pytest.raises(ValueError, match="associations lacks the column 'variable'"):
        report(model, views, associations=table)
    assert "1 of 2 variables differ" in report(model, views, metadata=table).text


def sentences(doubtful_by_cluster, disagreeing=(), shares=(), **attributes):
    """Verdict on clusters of 20 samples, of which so many are doubtful."""
    k = len(doubtful_by_cluster)
    labels = np.repeat(np.arange(k), 20)
    doubtful = np.concatenate([np.arange(20) < count for count in doubtful_by_cluster])
    without = pd.DataFrame({"disagrees": [view in disagreeing for view in "abc"]}, index=[*"abc"])
    if attributes:
        attributes |= {"candidates_": None}
    fit = CheckedFit(SimpleNamespace(labels_=labels, **attributes))
    frame = pd.DataFrame({"size": [20] * k, "doubtful": doubtful_by_cluster})
    for view, share in zip("abc", shares, strict=False):
        frame[f"view:{view}"] = share
    if "borders_" in attributes:
        frame["border"] = attributes["borders_"]
    certainty = Certainty(1.0 - doubtful, np.full(20 * k, -1), doubtful, None)
    titles = [f"title {c}" for c in range(k)]
    return verdict(fit, Findings(frame, titles, certainty, without_view=without))


def test_verdict_says_what_there_is_what_decides_and_what_to_be_careful_about():
    there, decides = sentences([0, 0, 0], shares=(0.6, 0.3, 0.1), structure_=0.9)
    assert there.startswith("Three groups (clusters) among 60 samples, clearly different")
    assert decides == "What sets the groups apart: mostly “a”, then “b”."
    there, decides, care = sentences(
        [0, 15, 1], "b", (0.34, 0.33, 0.33), structure_=0.3, borders_=("strong", "weak", "strong")
    )
    assert "without sharp borders; 27 of 100 samples stand between groups" in there
    assert "“a”, “b” and “c” about equally" in decides
    assert care.startswith("Be careful: “title 1” is less clearly apart than the rest; “b” does")
    there, care = sentences([20, 20], structure_=0.0)
    assert there.startswith("No real groups: the two that are shown divide 40 samples arbitrarily")
    assert "do not treat these groups as if they existed" in care
    assert sentences([20], structure_=0.0) == [
        "No groups: nothing sets some of the 20 samples apart from the others."
    ]
    # No decimals, no scales, no numbers of clusters.
    _, care = sentences([0, 0])
    assert "whether the groups are real was not tested" in care
    (_, care) = sentences([9] * 6, structure_=0.6)
    assert "none of the groups is clearly apart" in care


def test_map_and_cards_of_data_without_clusters_say_so(problem, report):
    views, y, _ = problem
    for structure, count in ((0.0, 2), (0.9, 0)):
        model = SimpleNamespace(
            labels_=y, n_clusters_=3, structure_=structure, borders_=["weak"] * 3
        )
        assert report(model, views).text.count("These groups are arbitrary") == count


def test_samples_to_label_have_fields(incomplete_fit):
    model, data, _, sample_ids = incomplete_fit
    fit = checked(model, data, None, sample_ids)
    found = inspect_fit(fit)
    section = labeling_section(fit, found, SampleContents(sample_ids, None, None, on_map=True))
    samples = section.parts[0].values["samples"]
    asked = ask(model, data, len(samples))
    titles = [found.titles[cluster] for cluster in asked["cluster"]]
    assert [sample["cluster"] for sample in samples] == titles
    assert [sample["key"] for sample in samples] == asked["sample"].astype(str).tolist()
    assert [sample["link"].id for sample in samples] == [
        sample_ids[sample["link"].row] for sample in samples
    ]


def test_chart_of_the_levels(nested_fit):
    _, model = nested_fit
    (chart,) = model_sections.number_parts(CheckedFit(model))
    np.testing.assert_array_equal(chart.table["Agreement between families"], model.curve_)
    np.testing.assert_array_equal(chart.table["By chance"], model.chance_curve_)
    assert "chosen: 3" in chart.svg
    assert "other level: 9" in chart.svg
    assert "3 was chosen (dashed)" in chart.description
    assert "Dotted: other levels, 9;" in chart.description
    levels = chart.table.dropna(subset="Support of the level")
    assert levels["Clusters"].tolist() == [3, 9]
    np.testing.assert_array_equal(levels["Support of the level"], model.levels_["support"])


def test_tree_has_the_sizes_of_the_clusters_and_their_parts(nested_fit):
    _, model = nested_fit
    titles = {3: ["a", "b", "c"]}
    branches = split_tree(model, titles)
    assert [branch["title"] for branch in branches] == titles[3]
    assert [branch["size"] for branch in branches] == np.bincount(model.labels_at(3)).tolist()
    sizes = np.bincount(model.labels_at(9))
    for cluster, branch in enumerate(branches):
        parts = model.tree_.loc[model.tree_["parent"] == cluster, "cluster"]
        assert [part["size"] for part in branch["parts"]] == sizes[parts].tolist()
        assert [part["title"] for part in branch["parts"]] == [f"cluster {c}" for c in parts]
    assert split_tree(CheckedFit, {}) == []
