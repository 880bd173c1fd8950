"""Commands on data that stay on disk: memory limits, results in files, workers, conversion."""

from unittest.mock import Mock

import numpy as np
import pytest
from distributed import KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from anchorview import DALMC, load, make_multiview, open_views
from anchorview.cli import loading
from anchorview.estimators.auto import model_fit
from anchorview.sources import disk_source
from anchorview.sources.dask import part_graph
from helpers.command_line import error_of, output_of, read_confident_labels, read_labels, run

N = 2000
LIMIT = ("--method", "dalmc", "--memory-limit", "400kB")
"""Less than four times the data, more than a fit of DALMC from disk needs."""


@pytest.fixture(scope="module")
def views_and_y():
    views, y = make_multiview(N, n_clusters=4, n_features=(12, 20), missing=0.2, random_state=0)
    return {name: view.astype(np.float32) for name, view in views.items()}, y


@pytest.fixture
def folder(tmp_path, views_and_y):
    views, y = views_and_y
    folder = tmp_path / "data"
    folder.mkdir()
    for name, view in views.items():
        np.save(folder / f"{name}.npy", np.repeat(view, 2, axis=0))
    np.save(folder / "labels.npy", np.repeat(y, 2))
    return folder


@pytest.mark.parametrize("method", ["auto", "dalmc"])
def test_data_above_the_limit_are_clustered_from_disk(
    folder, tmp_path, monkeypatch, set_constants, method
):
    limit = LIMIT
    if method == "auto":
        limit = ("--budget", "fast", "--memory-limit", "20MB")
        # Half of it with the fast budget.
        set_constants(model_fit, SAMPLE_SIZE=600)
        set_constants(loading, DATA_SHARE=1e-9)
        # Opened data are never read as a whole.
        monkeypatch.setattr(disk_source.DiskSource, "read", None)
    set_constants(disk_source, PART=40_000)
    results, out, saved = tmp_path / "results", tmp_path / "labels.csv", tmp_path / "m.anchorview"
    outputs = ("--out", out, "--save", saved, "--results", results)
    shown = output_of("fit", folder, "-k", 4, *limit, *outputs)
    assert f"{2 * N} samples in 4 clusters" in shown
    assert {"auto": "AutoDALMC: ", "dalmc": "DALMC: "}[method] in shown
    assert "ACC" in shown
    labels = np.load(results / "labels.npy")
    assert len(np.load(results / "embedding.npy")) == 2 * N
    if method == "auto":
        assert "doubtful samples" in shown
        written, confidence = read_confident_labels(out)
        np.testing.assert_allclose(np.load(results / "confidence.npy"), confidence, atol=5e-4)
        assert np.load(results / "second_labels.npy").shape == (2 * N,)
    else:
        written = read_labels(out)
        assert (written == DALMC(4, random_state=0).fit(open_views(folder)).labels_).all()
    assert (labels == written).all()

    assert "labels are in files" in output_of("info", saved)
    assert load(saved).labels_.shape == (0,)
    again = tmp_path / "again.csv"
    output_of("predict", saved, folder, "--out", again)
    assert again.read_bytes() == out.read_bytes()


WORKERS = ("-k", 4, "--method", "dalmc", "--scheduler", "tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("-k", 4, "--memory-limit=much"), "much"),
        (("-k", 4, "--memory-limit=-1GB"), "'1.5GB'"),
        ((*WORKERS, "--results", "r"), "--results"),
        ((*WORKERS, "--report", "r.html"), "--report"),
        (("-k", 4, *LIMIT, "--zero-rows-missing"), "anchorview convert --zero-rows-missing"),
    ],
)
def test_options_that_do_not_fit_together(folder, arguments, part):
    assert part in error_of("fit", folder, *arguments)


def test_a_limit_that_is_too_low_is_reported_with_both_sizes(folder):
    for method in ("auto", "dalmc"):
        done = run("fit", folder, "-k", 4, "--method", method, "--memory-limit", "20kB")
        assert done.exit_code == 1
        assert "needs" in done.stderr and "20 kB may be used" in done.stderr


def test_a_scheduler_that_does_not_answer_is_named(folder, set_constants):
    set_constants(part_graph, PATIENCE="500ms")
    message = error_of("fit", folder, *WORKERS)
    assert message.startswith("tcp://127.0.0.1:1: ")


class StubClient:
    """Client of a scheduler without workers, or with workers that are lost."""

    def __init__(self, address, timeout):
        self.lost = address.endswith("lost")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def scheduler_info(self):
        return {"workers": {"one": {}} if self.lost else {}}

    def wait_for_workers(self, count, timeout):
        raise TimeoutError


@pytest.mark.parametrize(
    "error",
    [FutureCancelledError("key", "lost"), CommClosedError("closed"), KilledWorker("a", "b", 3)],
    ids=lambda each: type(each).__name__,
)
def test_a_lost_cluster_has_an_exit_code(folder, set_constants, monkeypatch, error):
    set_constants(part_graph, Client=StubClient)
    monkeypatch.setattr(DALMC, "fit", Mock(side_effect=error))
    done = run("fit", folder, "-k", 4, "--method", "dalmc", "--scheduler", "lost")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("anchorview: error: lost: ")
