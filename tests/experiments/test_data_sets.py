"""Data sets are found and described; errors tell what to do."""

import pickle

import numpy as np
import pytest

from anchorview import DALMC
from anchorview.datasets import PAPER_SETS, convert
from anchorview.experiments.inputs import data_sets
from anchorview.metrics import clustering_accuracy
from helpers.view_files import save_matlab5

RNG = np.random.default_rng(0)
CLASSES = np.repeat([3, 1, 2], 4)
VIEWS = {"a": RNG.normal(size=(12, 5)), "b": RNG.normal(size=(12, 4))}


def save(path, views=VIEWS, y=CLASSES):
    np.savez(path, **views, y=y)


def save_shape(path, n_samples, n_clusters, n_views):
    """Write a data set of a given shape, with one feature per view."""
    view = np.arange(n_samples, dtype=np.float32)[:, None]
    save(path, {f"v{i}": view for i in range(n_views)}, np.arange(n_samples) % n_clusters)


def names(found):
    return [data.name for data in found]


def test_built_in_data_sets():
    digits, synthetic = data_sets(None, None)
    assert (digits.name, digits.n_samples, digits.n_clusters) == ("digits", 2000, 10)
    assert synthetic.name == "synthetic"
    assert digits.digest != synthetic.digest
    for data in (digits, synthetic):
        views, classes = data.load()
        assert (data.path, data.published_as, data.complete) == (None, None, True)
        assert views.n_features_per_view == data.n_features_per_view
        assert len(views) == len(classes) == data.n_samples
        assert len(np.unique(classes)) == data.n_clusters
    # The synthetic data set is neither trivial nor hopeless.
    model = DALMC(synthetic.n_clusters, random_state=0).fit(views)
    assert 0.85 < clustering_accuracy(classes, model.labels_) < 0.97


def test_all_formats_in_a_folder_are_found(tmp_path):
    save(tmp_path / "one.npz")
    save_matlab5(tmp_path / "Two.mat", {"X": list(VIEWS.values()), "Y": CLASSES[:, None]})
    convert(tmp_path / "one.npz", tmp_path / "three.dots")
    for folder in ("tables", "notes"):
        (tmp_path / folder).mkdir()
    for name, text in {
        "tables/image.csv": "id,w,h\na,4,3\nb,2,1\nc,1,9\n",
        "tables/text.csv": "id,words\nb,120\nc,80\n",
        "tables/labels.csv": "id,class\na,cat\nb,dog\nc,dog\n",
        **dict.fromkeys(["README.md", "notes/plan.txt", ".hidden.npz"], "not data"),
    }.items():
        (tmp_path / name).write_text(text)

    found = {data.name: data for data in data_sets(tmp_path, None)}
    assert sorted(found) == ["Two", "one", "tables", "three.dots"]
    for name in ("one", "Two", "three.dots"):
        data = found[name]
        assert (data.n_samples, data.n_clusters, data.n_features_per_view) == (12, 3, (5, 4))
        assert data.complete
        views, classes = data.load()
        np.testing.assert_allclose(views.views[0], VIEWS["a"])
        np.testing.assert_array_equal(classes, CLASSES)
    assert found["tables"].n_clusters == 2
    assert not found["tables"].complete
    views, classes = found["tables"].load()
    assert classes.tolist() == ["cat", "dog", "dog"]
    assert views.available.tolist() == [[True, False], [True, True], [True, True]]


def test_names_select_and_order_and_files_take_precedence(tmp_path):
    save(tmp_path / "one.npz")
    save(tmp_path / "two.npz")
    (tmp_path / "damaged.mat").write_bytes(b"not MATLAB")
    found = data_sets(tmp_path, ["two", "synthetic", "one", "two"])
    assert names(found) == ["two", "synthetic", "one"]
    save(tmp_path / "digits.npz")
    (data,) = data_sets(tmp_path, ["digits"])
    assert (data.path, data.n_samples) == (tmp_path / "digits.npz", 12)
    assert len(pickle.loads(pickle.dumps(data)).load()[1]) == 12


def test_unusable_files_are_skipped_with_one_warning_unless_named(tmp_path):
    save(tmp_path / "good.npz")
    np.savez(tmp_path / "unlabeled.npz", **VIEWS)
    save(tmp_path / "single.npz", y=np.zeros(12))
    (tmp_path / "damaged.mat").write_bytes(b"not MATLAB")
    with pytest.warns(UserWarning, match="Skipped: ") as caught:
        assert names(data_sets(tmp_path, None)) == ["good"]
    # The command line shows one warning per line of code.
    (warning,) = caught
    for name, reason in {
        "unlabeled": "unlabeled.npz: has no classes",
        "single": "single.npz: all samples are of the same class",
        "damaged": "damaged.mat",
    }.items():
        assert reason in str(warning.message)
        with pytest.raises(ValueError, match=reason):
            data_sets(tmp_path, [name])


def test_the_digest_depends_on_contents_and_names_in_folders(tmp_path):
    save(tmp_path / "one.npz")
    save(tmp_path / "other.npz", y=CLASSES[::-1])
    (tmp_path / "copy.npz").write_bytes((tmp_path / "one.npz").read_bytes())
    convert(tmp_path / "one.npz", tmp_path / "folder")
    digests = {data.name: data.digest for data in data_sets(tmp_path, None)}
    assert digests["copy"] == digests["one"]
    assert len(set(digests.values())) == 3
    (tmp_path / "folder" / "a.npy").rename(tmp_path / "folder" / "z.npy")
    (renamed,) = data_sets(tmp_path, ["folder"])
    assert renamed.digest != digests["folder"]


def test_data_sets_of_the_paper_are_recognized(tmp_path):
    save_shape(tmp_path / "flower17_fea.npz", 1360, 17, 7)
    save_shape(tmp_path / "mnist_usps.npz", 5000, 10, 2)
    found = {data.name: data.published_as for data in data_sets(tmp_path, None)}
    assert found == {"flower17_fea": "Flower17", "mnist_usps": None}
    (data,) = data_sets(tmp_path, ["Flower17", "flower17_fea"])
    assert data.name == "flower17_fea"
    with pytest.raises(ValueError, match="MNIST: not available in"):
        data_sets(tmp_path, ["MNIST"])
    save_shape(tmp_path / "Flower17_b.npz", 1360, 17, 7)
    with pytest.raises(ValueError, match=r"Flower17 is found in Flower17_b and flower17_fea\."):
        data_sets(tmp_path, ["Flower17"])


def test_errors_tell_how_to_get_the_data_sets_of_the_paper(tmp_path):
    for known in PAPER_SETS:
        with pytest.raises(ValueError, match=f"^{known.name}.*{tmp_path.name}") as raised:
            data_sets(tmp_path, [known.name])
        assert known.obtain in str(raised.value)


def test_invalid_folders_and_names(tmp_path):
    with pytest.raises(ValueError, match="none"):
        data_sets(tmp_path / "none", None)
    with pytest.raises(ValueError, match="classes"):
        data_sets(tmp_path, None)
    save(tmp_path / "one.npz")
    with pytest.raises(ValueError, match=r"'two'.*one.*digits"):
        data_sets(tmp_path, ["two"])
    (tmp_path / "one.mat").write_bytes(b"")
    with pytest.raises(ValueError, match=r"one\.mat.*one\.npz"):
        data_sets(tmp_path, None)
