"""Suites have valid jobs at unique positions; equal jobs are shared."""

from collections import Counter
from dataclasses import replace

import pytest

from anchorview.estimators.methods import BETAS, PUBLISHED_SETTINGS, find_method, method_class
from anchorview.experiments.inputs import DataSet
from anchorview.experiments.plan import (
    LABEL_MODES,
    MODES,
    SUITES,
    ExperimentPlan,
    canonical_settings,
    entries,
    left_out,
)
from helpers.installed import INSTALLED

COMPLETE = DataSet("complete", None, 300, 5, (20, 10, 8, 6), "0")
PARTIAL = DataSet("partial", None, 300, 4, (20, 10), "1", complete=False)
COLUMNS = [find_method(name).display_name for name in INSTALLED if name != "auto"]
PUBLISHED = "DALMC (as published, oracle)"


def suite_entries(suite, *sets, **attributes):
    return entries(ExperimentPlan(suites=(suite,), **attributes), sets or [COMPLETE])


def columns(found):
    return list(dict.fromkeys(entry.column for entry in found))


def by_column(found, column):
    return [entry for entry in found if entry.column == column]


@pytest.fixture(scope="module")
def everything():
    return suite_entries("all", COMPLETE, PARTIAL)


def test_all_is_the_union_of_the_suites_whose_column_names_tell_the_mode(everything):
    parts = [entry for suite in SUITES for entry in suite_entries(suite, COMPLETE, PARTIAL)]
    assert parts == everything
    assert {entry.suite for entry in everything} == set(SUITES)
    assert {entry.mode for entry in everything} == set(MODES)
    for entry in everything:
        assert ("oracle)" in entry.column) == (entry.mode in LABEL_MODES)
        assert ("as published" in entry.column) == (entry.mode == "published")
        assert ("(auto)" in entry.column) == (entry.mode == "auto") == (entry.job.method == "auto")


def test_settings_are_valid_and_only_oracle_columns_have_several_jobs_per_position(everything):
    for job in {entry.job for entry in everything}:
        method_class(job.method)(5, **dict(job.settings))._validate_params()
    assert max(Counter(everything).values()) == 1
    positions = Counter(replace(entry, job=None) for entry in everything)
    assert {position.mode for position, count in positions.items() if count > 1} == set(LABEL_MODES)


def test_compare_has_the_columns_of_the_paper_in_each_mode():
    found = suite_entries("compare")
    oracles = [f"{name} (oracle)" for name in COLUMNS]
    assert columns(found) == [*COLUMNS, "DALMC (auto)", *oracles, PUBLISHED]
    assert {entry.job.runs for entry in found} == {20}
    sizes = {}
    for name in COLUMNS:
        (default,) = by_column(found, name)
        tried = [entry.job for entry in by_column(found, f"{name} (oracle)")]
        assert default.job.settings == ()
        assert default.job in tried
        sizes[name] = len(tried)
    assert (sizes["DALMC"], sizes["FPMVS-CAG"], sizes["OMSC"]) == (18, 1, 12)
    assert max(sizes[name] for name in COLUMNS[:-1]) == 12


def test_published_settings_are_those_of_as_published_in_the_grid_of_the_oracle():
    found = [entry.job for entry in suite_entries("compare") if entry.mode == "published"]
    tried = {entry.job.settings for entry in by_column(suite_entries("compare"), "DALMC (oracle)")}
    assert len(found) == len(tried) == 18
    defaults = method_class("dalmc")().get_params()
    for job in found:
        settings = dict(job.settings)
        model = method_class("dalmc").as_published(
            5, beta=settings.get("beta", 0.1), n_anchors=settings.get("n_anchors")
        )
        assert {**defaults, "n_clusters": 5, **settings} == model.get_params()


def test_ablation_searches_the_same_grid_for_all_variants():
    found = suite_entries("ablation")
    variants = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
    searched = {"oracle": {}, "as published, oracle": PUBLISHED_SETTINGS}
    assert columns(found) == [
        *variants,
        *(f"{name} ({shown})" for shown in searched for name in variants),
    ]
    for column, variant in variants.items():
        (default,) = by_column(found, column)
        assert dict(default.job.settings).get("variant", "dalmc") == variant
        for shown, common in searched.items():
            tried = [dict(entry.job.settings) for entry in by_column(found, f"{column} ({shown})")]
            assert [settings.pop("beta", 0.1) for settings in tried] == list(BETAS)
            assert {settings.pop("variant", "dalmc") for settings in tried} == {variant}
            assert all(settings == common for settings in tried)


def test_runtime_jobs_run_once_and_alone_and_missing_views_need_methods_that_accept_them():
    found = suite_entries("runtime")
    assert columns(found) == [*COLUMNS, "DALMC (auto)"]
    assert {(entry.job.runs, entry.job.alone) for entry in found} == {(1, True)}
    assert {entry.job.method for entry in suite_entries("all", PARTIAL)} == {"dalmc", "auto"}


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"methods": ("auto", "dalmc"), "modes": ("default",)}, ("auto", "mode but auto")),
        (
            {"methods": ("auto", "sklearn.cluster:KMeans"), "modes": ("auto",)},
            ("KMeans", "default"),
        ),
        ({"methods": ("amgl", "dalmc")}, ("amgl", "partial")),
        ({"methods": ("amgl",), "suites": ("beta",)}, ("amgl", "compare")),
    ],
)
def test_methods_that_do_not_run_are_named_with_the_reason(asked, named):
    (reason,) = left_out(ExperimentPlan(**asked), [COMPLETE, PARTIAL])
    assert all(word in reason for word in named)


def test_attributes_of_a_plan_determine_the_jobs():
    plan = ExperimentPlan(
        suites=("compare", "beta", "anchors", "runtime"),
        methods=("dalmc", "opmc"),
        modes=("default", "oracle"),
        runs=2,
        seed=3,
        betas=(0.1, 1),
        anchors=(2,),
        grids={"opmc": {"scaling": ["rows", "none"], "tol": [1, 1e-5]}},
    )
    found = entries(plan, [COMPLETE])
    of = {suite: [entry for entry in found if entry.suite == suite] for suite in plan.suites}
    assert columns(of["compare"]) == ["DALMC", "OPMC", "DALMC (oracle)", "OPMC (oracle)"]
    assert [dict(entry.job.settings) for entry in by_column(found, "OPMC (oracle)")] == [
        {"tol": 1.0},
        {},
        {"scaling": "none", "tol": 1.0},
        {"scaling": "none"},
    ]
    assert [entry.point for entry in of["beta"]] == [0.1, 1]
    assert [entry.point for entry in of["anchors"]] == [10]
    assert columns(of["runtime"]) == ["DALMC", "OPMC"]
    assert {(entry.job.runs, entry.job.seed) for entry in found} == {(1, 3), (2, 3)}


@pytest.mark.parametrize(
    ("method", "n_clusters", "settings", "expected"),
    [
        ("dalmc", 5, {"n_anchors": 5, "beta": 0.1, "scaling": "zscore-unit"}, "{}"),
        ("dalmc", 6, {"n_anchors": 5}, "{'n_anchors': 5}"),
        ("bmvc", 5, {"n_anchors": 5}, "{'n_anchors': 5}"),
        ("dalmc", 5, {"beta": 1}, "{'beta': 1.0}"),
    ],
)
def test_settings_equal_to_the_defaults_are_left_out(method, n_clusters, settings, expected):
    assert repr(canonical_settings(method, n_clusters, settings)) == expected
