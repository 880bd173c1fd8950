"""Suites: every job is possible, has its place once, and is shared where it is the same."""

from collections import Counter
from dataclasses import replace

import pytest

from anchorview.datasets import make_multiview
from anchorview.estimators.methods import method_class
from anchorview.experiments.plan.grids import BETAS, crossed, oracle_grid, shared
from anchorview.experiments.plan.jobs import Job
from anchorview.experiments.plan.plan_file import COLUMNS, Plan
from anchorview.experiments.plan.suites import MODES, SUITES, entries
from anchorview.experiments.run.data_sets import DataSet

COMPLETE = DataSet("complete", None, 300, 5, (20, 10, 8, 6), "0")
PARTIAL = DataSet("partial", None, 300, 4, (20, 10), "1", complete=False)
NINE = ["AMGL", "BMVC", "SMVSC", "OPMC", "UOMVSC", "FPMVS-CAG", "OMSC", "AWMVC", "DALMC"]


def columns(found):
    return list(dict.fromkeys(entry.column for entry in found))


def by_column(found, column):
    return [entry for entry in found if entry.column == column]


@pytest.fixture(scope="module")
def everything():
    return entries("all", [COMPLETE, PARTIAL])


def test_every_job_makes_a_valid_estimator(everything):
    for entry in everything:
        job = entry.job
        model = method_class(job.method)(n_clusters=5, random_state=job.seed, **dict(job.settings))
        model._validate_params()


def test_every_place_and_job_is_there_once(everything):
    assert max(Counter(everything).values()) == 1
    assert {entry.suite for entry in everything} == set(SUITES)
    assert {entry.mode for entry in everything} == set(MODES)


def test_only_oracle_columns_have_several_jobs_at_a_place(everything):
    places = Counter(replace(entry, job=None) for entry in everything)
    assert {place.mode for place, count in places.items() if count > 1} == {"oracle"}


def test_oracle_and_auto_are_named(everything):
    for entry in everything:
        assert ("(oracle)" in entry.column) == (entry.mode == "oracle")
        assert ("(auto)" in entry.column) == (entry.mode == "auto")
        assert (entry.job.method == "auto") == (entry.mode == "auto")


def test_all_is_the_seven_together(everything):
    parts = [entry for suite in SUITES for entry in entries(suite, [COMPLETE, PARTIAL])]
    assert parts == everything


def test_compare_has_the_papers_columns_in_each_mode():
    found = entries("compare", [COMPLETE])
    assert columns(found) == [*NINE, "DALMC (auto)", *(f"{name} (oracle)" for name in NINE)]
    counts = Counter(entry.column for entry in found if entry.mode == "oracle")
    assert counts["DALMC (oracle)"] == 18
    assert counts["FPMVS-CAG (oracle)"] == 1
    assert counts["OMSC (oracle)"] == 12
    assert all(1 <= counts[f"{name} (oracle)"] <= 12 for name in NINE[:-1])
    assert {entry.job.runs for entry in found} == {20}


def test_the_oracle_tries_the_default_too():
    found = entries("compare", [COMPLETE])
    for name in NINE:
        (default,) = by_column(found, name)
        assert default.job.settings == ()
        assert default.job in [entry.job for entry in by_column(found, f"{name} (oracle)")]


def test_ablation_compares_like_with_like():
    found = entries("ablation", [COMPLETE])
    assert columns(found) == [
        *("DALMC", "ablation-1", "ablation-2"),
        *("DALMC (oracle)", "ablation-1 (oracle)", "ablation-2 (oracle)"),
    ]
    variants = {"DALMC": "dalmc", "ablation-1": "sampled-anchors", "ablation-2": "box-graph"}
    for column, variant in variants.items():
        (default,) = by_column(found, column)
        tried = [dict(entry.job.settings) for entry in by_column(found, f"{column} (oracle)")]
        assert dict(default.job.settings).get("variant", "dalmc") == variant
        assert {settings.get("variant", "dalmc") for settings in tried} == {variant}
        assert [settings.get("beta", 0.1) for settings in tried] == list(BETAS)


def test_runtime_runs_once_and_alone():
    found = entries("runtime", [COMPLETE])
    assert columns(found) == [*NINE, "DALMC (auto)"]
    assert {(entry.job.runs, entry.job.alone) for entry in found} == {(1, True)}


def test_curves_have_their_points():
    betas = entries("beta", [COMPLETE])
    assert [entry.point for entry in betas] == [1e-4, 1e-3, 1e-2, 0.1, 1, 10]
    anchors = entries("anchors", [COMPLETE])
    assert [entry.point for entry in anchors] == [5, 10, 15, 20, 25]
    assert dict(anchors[1].job.settings) == {"n_anchors": 10}
    missing = entries("incomplete", [COMPLETE])
    assert columns(missing) == ["DALMC", "DALMC on imputed means", "DALMC (auto)"]
    for column in columns(missing):
        points = [entry.point for entry in by_column(missing, column)]
        assert points == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
        assert points == [entry.job.missing for entry in by_column(missing, column)]
    assert {entry.job.impute for entry in by_column(missing, "DALMC")} == {False}
    assert all(entry.job.impute for entry in by_column(missing, "DALMC on imputed means")[1:])
    assert {entry.job.runs for entry in by_column(missing, "DALMC (auto)")} == {4}


def test_convergence_goes_on_beyond_the_default_stop():
    (entry,) = entries("convergence", [COMPLETE])
    assert (entry.column, entry.mode, entry.point) == ("DALMC", "default", None)
    settings = dict(entry.job.settings)
    usual = method_class("dalmc")()
    assert settings["tol"] < usual.tol
    assert settings["max_iter"] > usual.max_iter


def test_equal_work_is_one_job(everything):
    default = Job("complete", "dalmc")
    sharing = [(entry.suite, entry.point) for entry in everything if entry.job == default]
    assert Counter(sharing) == {
        ("compare", None): 2,
        ("ablation", None): 2,
        ("beta", 0.1): 1,
        ("anchors", 5.0): 1,
        ("incomplete", 0.0): 2,
    }


def test_incomplete_sets_go_to_the_methods_that_take_them():
    found = entries("all", [PARTIAL])
    assert {entry.job.method for entry in found} == {"dalmc", "auto"}
    assert {entry.suite for entry in found} == set(SUITES) - {"incomplete"}


def test_a_sample_must_be_able_to_keep_a_view():
    two_views = replace(COMPLETE, n_features_per_view=(20, 10))
    found = by_column(entries("incomplete", [two_views]), "DALMC")
    assert [entry.point for entry in found] == [0, 0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize("mode", MODES)
def test_modes_restrict_the_columns(everything, mode):
    found = entries("all", [COMPLETE, PARTIAL], modes=[mode])
    assert found == [entry for entry in everything if entry.mode == mode]


def test_runs_and_seed():
    found = entries("all", [COMPLETE], runs=3, seed=7)
    assert {entry.job.runs for entry in found} == {1, 3}
    assert {entry.job.seed for entry in found} == {7}


def test_unknown_suites_and_modes():
    with pytest.raises(ValueError, match=r"suites must be .* compare, .*, all; got \['tables'\]"):
        entries("tables", [COMPLETE])
    with pytest.raises(ValueError, match=r"modes must be .* oracle; got \['best'\]"):
        entries("compare", [COMPLETE], modes=["best"])


def test_a_plan_says_what_is_run():
    plan = Plan(
        suites=("compare", "beta", "anchors", "incomplete", "runtime"),
        methods=("dalmc", "opmc"),
        modes=("default", "oracle"),
        runs=2,
        seed=3,
        betas=(0.1, 1),
        anchors=(2,),
        missing=(0.5,),
        grids={"opmc": {"scaling": ["rows", "none"], "tol": [1, 1e-5]}},
    )
    found = entries(plan, [COMPLETE])
    of = {suite: [entry for entry in found if entry.suite == suite] for suite in plan.suites}
    oracle = ["DALMC (oracle)", "OPMC (oracle)"]
    assert columns(of["compare"]) == ["DALMC", "OPMC", *oracle]
    assert [dict(entry.job.settings) for entry in by_column(found, "OPMC (oracle)")] == [
        {"tol": 1.0},
        {},
        {"scaling": "none", "tol": 1.0},
        {"scaling": "none"},
    ]
    assert [entry.point for entry in of["beta"]] == [0.1, 1]
    assert [entry.point for entry in of["anchors"]] == [10]
    assert [entry.point for entry in of["incomplete"]] == [0.5, 0.5]
    assert columns(of["runtime"]) == ["DALMC", "OPMC"]
    assert {(entry.job.runs, entry.job.seed) for entry in of["compare"]} == {(2, 3)}
    assert {entry.job.runs for entry in entries(plan, [COMPLETE], runs=9)} == {1, 9}


@pytest.mark.parametrize("method", COLUMNS)
@pytest.mark.parametrize("n_clusters", [2, 17])
@pytest.mark.parametrize("n_samples", [300, 10_000])
def test_grids_have_each_point_once(method, n_clusters, n_samples):
    grid = oracle_grid(method, n_clusters, n_samples)
    assert all(point not in grid[:place] for place, point in enumerate(grid))


def test_settings_that_change_nothing_are_left_out():
    assert shared("dalmc", 5, 300, {"n_anchors": 5, "beta": 0.1, "scaling": "zscore-unit"}) == {}
    assert shared("dalmc", 6, 300, {"n_anchors": 5}) == {"n_anchors": 5}
    assert shared("bmvc", 5, 300, {"n_anchors": 5}) == {"n_anchors": 5}
    assert repr(shared("dalmc", 5, 300, {"beta": 1})) == "{'beta': 1.0}"
    assert crossed("dalmc", 5, 300, {"beta": [1, 1.0, 0.1]}) == [{"beta": 1.0}, {}]


@pytest.mark.parametrize(
    ("n_samples", "lengths"), [(300, {20}), (1200, {64, 80}), (2000, {64, 128, 133})]
)
def test_codes_longer_than_there_are_anchors_are_tried_once(n_samples, lengths):
    grid = oracle_grid("bmvc", 5, n_samples)
    assert len(grid) == 2 * len(lengths)
    assert {} in grid
    views, _ = make_multiview(n_samples, n_clusters=5, n_features=(4, 3), random_state=0)
    used = {
        method_class("bmvc")(5, random_state=0, max_iter=1, n_init=1, **settings)
        .fit(views)
        .code_length_
        for settings in grid
        if "lambda_" not in settings
    }
    assert used == lengths


def test_code_lengths_of_anchors_of_ones_own():
    own = {"n_anchors": [70], "code_length": [64, 70, 128, 500]}
    assert crossed("bmvc", 5, 2000, own) == [
        {"n_anchors": 70, "code_length": 64},
        {"n_anchors": 70},
    ]


def test_the_oracle_has_no_grid_for_what_chooses_by_itself():
    with pytest.raises(ValueError, match="no grid for 'auto'; it has dalmc, amgl"):
        oracle_grid("auto", 5, 300)
