"""The paper's data sets are recognized by both name and shape."""

import pytest

from anchorview.datasets import paper_set
from anchorview.datasets.data_sets import recognized


@pytest.mark.parametrize("name", ["Caltech-256", "caltech256", "CALTECH_256"])
def test_spelling_does_not_matter(name):
    assert paper_set(name).name == "Caltech-256"


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("AWA_fea", "AWA"),
        ("awa", "AWA"),
        ("flower17", "Flower17"),
        ("Caltech256_fea", "Caltech-256"),
        ("YoutubeFace50_fea_4Views", "YoutubeFace-50"),
        ("mnist-3views", "MNIST"),
    ],
)
def test_common_file_names_are_recognized(stem, name):
    assert recognized(stem, paper_set(name).shape) is paper_set(name)


def test_other_names_and_shapes_are_other_data_sets():
    assert recognized("mnist_usps", (5000, 10, 2)) is None
    assert recognized("AWA_fea", (30475, 50, 5)) is None
    assert recognized("handwritten", paper_set("MNIST").shape) is None
    # The same name warns.
    expected = r"awa has the name of the paper's AWA but 500 samples, 10 .* 30475 samples, 50 "
    with pytest.warns(UserWarning, match=expected):
        assert recognized("awa", (500, 10, 3)) is None
    with pytest.raises(ValueError, match="'iris' is not a data set of the paper; there are AWA, "):
        paper_set("iris")
