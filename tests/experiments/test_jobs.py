import json
from dataclasses import asdict

from anchorview.experiments.jobs import METRICS, Job, Result


def test_key_depends_on_the_contents_of_the_data_but_not_on_the_order_of_settings():
    job = Job.of("digits", "dalmc", {"beta": 0.1, "n_anchors": 20, "n_components": (4, 5)})
    same = Job.of("digits", "dalmc", {"n_components": (4, 5), "n_anchors": 20, "beta": 0.1})
    assert job == same
    assert job.key("abc") == same.key("abc")
    job = Job("digits", "dalmc")
    assert job.key("abc") != job.key("abd")
    key = Job.of("digits", "dalmc", {"n_components": (4, 5), "beta": 0.1}).key("abc")
    assert key == "a1c78830d3ab3db140dc4fa5ab4be38e09b71e529c1b1c465251ec59485911e1"


def test_results_round_trip_through_json():
    result = Result(
        "done",
        scores=dict.fromkeys(METRICS, (0.5, 0.25)),
        returned={"ACC": 0.5},
        fit_seconds=1.5,
        seconds=2.5,
        peak_bytes=100,
        n_iter=3,
        objective=(3.0, 1.0),
        view_weights=(0.25, 0.75),
    )
    assert Result.from_json(json.loads(json.dumps(asdict(result)))) == result
