"""Data sets are found, described as they are, and refused with what to do."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import io

from anchorview import DALMC
from anchorview.datasets import PAPER_SETS, convert
from anchorview.experiments.run.data_sets import data_sets
from anchorview.metrics import clustering_accuracy

RNG = np.random.default_rng(0)
LABELS = np.repeat([3, 1, 2], 4)
VIEWS = {"a": RNG.normal(size=(12, 5)), "b": RNG.normal(size=(12, 4))}


def save(path, views=VIEWS, **more):
    np.savez(path, **views, **({"y": LABELS} | more))
    return path


def save_like(path, n_samples, n_clusters, n_views):
    """Write a file with the shape of a data set, one feature a view."""
    views = {f"v{i}": np.arange(n_samples, dtype=np.float32)[:, None] for i in range(n_views)}
    np.savez(path, **views, y=np.arange(n_samples) % n_clusters)


def names(found):
    return [data.name for data in found]


def test_built_in_sets_are_always_there():
    digits, synthetic = data_sets(None, None)
    assert (digits.name, synthetic.name) == ("digits", "synthetic")
    assert (digits.n_samples, digits.n_clusters) == (2000, 10)
    for data in (digits, synthetic):
        views, labels = data.load()
        assert data.path is None
        assert data.published_as is None
        assert data.complete
        assert views.n_features_per_view == data.n_features_per_view
        assert len(views) == len(labels) == data.n_samples
        assert len(np.unique(labels)) == data.n_clusters
    assert digits.digest != synthetic.digest


def test_the_synthetic_set_is_neither_trivial_nor_hopeless():
    (synthetic,) = data_sets(None, ["synthetic"])
    views, labels = synthetic.load()
    model = DALMC(synthetic.n_clusters, random_state=0).fit(views)
    assert 0.85 < clustering_accuracy(labels, model.labels_) < 0.97


def test_every_kind_of_data_in_a_folder_is_found(tmp_path):
    save(tmp_path / "one.npz")
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = list(VIEWS.values())
    io.savemat(tmp_path / "Two.mat", {"X": cells, "Y": LABELS[:, None]})
    convert(tmp_path / "one.npz", tmp_path / "three.dots")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "image.csv").write_text("id,w,h\na,4,3\nb,2,1\nc,1,9\n")
    (tables / "text.csv").write_text("id,words\nb,120\nc,80\n")
    (tables / "labels.csv").write_text("id,class\na,cat\nb,dog\nc,dog\n")
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.txt").write_text("not data either")
    (tmp_path / ".hidden.npz").write_bytes(b"nor this")

    found = {data.name: data for data in data_sets(tmp_path, None)}
    assert sorted(found) == ["Two", "one", "tables", "three.dots"]
    for name in ("one", "Two", "three.dots"):
        assert found[name].n_samples == 12
        assert found[name].n_clusters == 3
        assert found[name].n_features_per_view == (5, 4)
        assert found[name].complete
        views, labels = found[name].load()
        np.testing.assert_allclose(views.views[0], VIEWS["a"])
        np.testing.assert_array_equal(labels, LABELS)
    assert found["tables"].n_clusters == 2
    assert not found["tables"].complete
    views, labels = found["tables"].load()
    assert labels.tolist() == ["cat", "dog", "dog"]
    assert views.available.tolist() == [[True, False], [True, True], [True, True]]


def test_rows_of_zeros_are_not_missing(tmp_path):
    zeros = VIEWS["b"].copy()
    zeros[:3] = 0
    save(tmp_path / "zeros.npz", {"a": VIEWS["a"], "b": zeros})
    gaps = VIEWS["b"].copy()
    gaps[:3] = np.nan
    save(tmp_path / "gaps.npz", {"a": VIEWS["a"], "b": gaps})
    complete = {data.name: data.complete for data in data_sets(tmp_path, None)}
    assert complete == {"zeros": True, "gaps": False}


def test_names_choose_and_order(tmp_path):
    save(tmp_path / "one.npz")
    save(tmp_path / "two.npz")
    (tmp_path / "damaged.mat").write_bytes(b"no matter")
    assert names(data_sets(tmp_path, ["two", "synthetic", "one", "two"])) == [
        "two",
        "synthetic",
        "one",
    ]


def test_a_file_comes_before_a_built_in_set_of_its_name(tmp_path):
    save(tmp_path / "digits.npz")
    with pytest.warns(UserWarning, match=r"digits\.npz: taken instead of the built-in") as told:
        (data,) = data_sets(tmp_path, ["digits"])
    assert len(told) == 1
    assert (data.path, data.n_samples) == (tmp_path / "digits.npz", 12)
    assert len(pickle.loads(pickle.dumps(data)).load()[1]) == 12


def test_without_such_a_file_nothing_is_said(tmp_path):
    save(tmp_path / "digits.npz")
    save(tmp_path / "one.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data_sets(tmp_path, ["synthetic", "one"])
        data_sets(tmp_path, None)


def test_what_cannot_be_used_is_left_out_with_a_warning_unless_named(tmp_path):
    save(tmp_path / "good.npz")
    np.savez(tmp_path / "unlabeled.npz", **VIEWS)
    save(tmp_path / "single.npz", y=np.zeros(12))
    (tmp_path / "damaged.mat").write_bytes(b"not MATLAB")
    with pytest.warns(UserWarning, match="Left out: ") as told:
        assert names(data_sets(tmp_path, None)) == ["good"]
    # The command line shows one warning of a place.
    (only,) = told
    for file in ("unlabeled.npz: there are no", "single.npz: all labels", "damaged.mat"):
        assert file in str(only.message)
    for name, why in {
        "unlabeled": "there are no labels, which scores need",
        "single": "all labels are the same",
        "damaged": r"damaged\.mat",
    }.items():
        with pytest.raises(ValueError, match=why):
            data_sets(tmp_path, [name])


def test_contents_and_names_of_files_make_the_digest(tmp_path):
    save(tmp_path / "one.npz")
    save(tmp_path / "other.npz", y=LABELS[::-1])
    (tmp_path / "copy.npz").write_bytes((tmp_path / "one.npz").read_bytes())
    convert(tmp_path / "one.npz", tmp_path / "folder")
    digests = {data.name: data.digest for data in data_sets(tmp_path, None)}
    assert digests["copy"] == digests["one"]
    assert len(set(digests.values())) == 3
    (tmp_path / "folder" / "a.npy").rename(tmp_path / "folder" / "z.npy")
    (renamed,) = data_sets(tmp_path, ["folder"])
    assert renamed.digest != digests["folder"]


def test_the_papers_sets_are_found_by_their_names(tmp_path):
    save_like(tmp_path / "flower17_fea.npz", 1360, 17, 7)
    save_like(tmp_path / "mnist_usps.npz", 5000, 10, 2)
    found = {data.name: data.published_as for data in data_sets(tmp_path, None)}
    assert found == {"flower17_fea": "Flower17", "mnist_usps": None}
    (data,) = data_sets(tmp_path, ["Flower17", "flower17_fea"])
    assert data.name == "flower17_fea"
    with pytest.raises(ValueError, match="mnist_usps has 5000 samples, 10 classes and 2 views"):
        data_sets(tmp_path, ["MNIST"])


@pytest.mark.parametrize("known", PAPER_SETS, ids=lambda known: known.name)
def test_absent_sets_of_the_paper_are_explained(tmp_path, known):
    for folder, place in ((None, "no data folder is given"), (tmp_path, "it is not in ")):
        with pytest.raises(ValueError, match=f"^{known.name}: {place}") as told:
            data_sets(folder, [known.name])
        assert known.obtain in str(told.value)


def test_a_set_with_the_papers_name_and_another_shape(tmp_path):
    save(tmp_path / "AWA.npz")
    with pytest.warns(UserWarning, match="AWA has the name of the paper's AWA but 12 samples"):
        (data,) = data_sets(tmp_path, ["AWA"])
    assert data.published_as is None


def test_two_files_of_one_set_of_the_paper_need_a_choice(tmp_path):
    save_like(tmp_path / "Flower17_a.npz", 1360, 17, 7)
    save_like(tmp_path / "Flower17_b.npz", 1360, 17, 7)
    with pytest.raises(ValueError, match=r"Flower17 is in Flower17_a and in Flower17_b\. Name"):
        data_sets(tmp_path, ["Flower17"])


def test_folders_and_names_that_do_not_work(tmp_path):
    with pytest.raises(ValueError, match="none: there is no such folder"):
        data_sets(tmp_path / "none", None)
    with pytest.raises(ValueError, match="there is no data set with labels inside"):
        data_sets(tmp_path, None)
    save(tmp_path / "one.npz")
    with pytest.raises(ValueError, match=r"'two' is unknown; .* there are one, digits, synthetic"):
        data_sets(tmp_path, ["two"])
    (tmp_path / "one.mat").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"one\.mat and one\.npz would be data sets of the same name"
    ):
        data_sets(tmp_path, None)
