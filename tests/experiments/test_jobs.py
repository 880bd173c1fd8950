import json
import subprocess
import sys

import pytest

from anchorview.experiments.plan.jobs import METRICS, Job, Result
from anchorview.metrics import clustering_scores


def test_key_does_not_depend_on_the_order_of_settings_or_the_process():
    job = Job.of("digits", "dalmc", {"beta": 0.1, "n_anchors": 20, "n_components": [4, 5]})
    same = Job.of("digits", "dalmc", {"n_components": (4, 5), "n_anchors": 20, "beta": 0.1})
    script = (
        "from anchorview.experiments.plan.jobs import Job; print(Job.of('digits', 'dalmc', "
        "{'n_anchors': 20, 'beta': 0.1, 'n_components': [4, 5]}).key('abc'))"
    )
    elsewhere = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert job == same
    assert job.key("abc") == same.key("abc") == elsewhere.stdout.strip()


def test_key_stays_the_same_in_later_versions():
    # Stores of earlier versions would not be found otherwise.
    key = Job.of("digits", "dalmc", {"beta": 0.1}).key("abc")
    assert key == "4afb296ccc28921387334eafc9fccca1dcba009a2116236f1fe419a09a1e74e3"


@pytest.mark.parametrize(
    "other",
    [
        Job.of("synthetic", "dalmc", {"beta": 0.1}),
        Job.of("digits", "amgl", {"beta": 0.1}),
        Job.of("digits", "dalmc", {"beta": 0.2}),
        Job.of("digits", "dalmc"),
        Job.of("digits", "dalmc", {"beta": 0.1}, missing=0.1),
        Job.of("digits", "dalmc", {"beta": 0.1}, impute=True),
        Job.of("digits", "dalmc", {"beta": 0.1}, runs=3),
        Job.of("digits", "dalmc", {"beta": 0.1}, seed=1),
        Job.of("digits", "dalmc", {"beta": 0.1}, alone=True),
    ],
)
def test_every_part_of_a_job_changes_its_key(other):
    assert other.key("abc") != Job.of("digits", "dalmc", {"beta": 0.1}).key("abc")


def test_other_contents_of_the_data_change_the_key():
    job = Job("digits", "dalmc")
    assert job.key("abc") != job.key("abd")


def test_no_missing_entries_are_one_job_however_written():
    assert Job("digits", "dalmc", missing=0).key("abc") == Job("digits", "dalmc").key("abc")


def test_jobs_and_results_survive_json():
    job = Job.of("digits", "dalmc", {"n_components": [4, 5], "init": "gcca"}, missing=0.3)
    scores = dict.fromkeys(METRICS, (0.5, 0.25))
    result = Result(
        "done",
        scores=scores,
        own={"ACC": 0.5},
        fit_seconds=1.5,
        seconds=2.5,
        peak_bytes=100,
        n_iter=3,
        objective=(3.0, 1.0),
        view_weights=(0.25, 0.75),
    )
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert hash(Job.from_json(job.to_json())) == hash(job)


def test_metrics_are_those_of_the_scores():
    assert tuple(clustering_scores([0, 1], [0, 1])) == METRICS


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Job("digits", "magic"), "'magic' is unknown"),
        (lambda: Job("digits", "dalmc", missing=1.0), "missing"),
        (lambda: Job("digits", "dalmc", runs=0), "runs"),
        (lambda: Job("digits", "dalmc", seed=-1), "seed"),
        (lambda: Job("digits", "dalmc", (("tol", 1), ("beta", 1))), "sorted"),
        (lambda: Job.of("digits", "dalmc", {"n_clusters": 3}), "n_clusters is not a setting"),
        (lambda: Job.of("digits", "dalmc", {"beta": object()}), "beta"),
    ],
)
def test_impossible_jobs_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
