"""MuData and AnnData objects and files: views from them."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from anchorview import MultiViewData
from anchorview.views.input_grammar import views_from_mudata

# They announce changes, and use deprecated functions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:::(mudata|anndata)\\b"),
    pytest.mark.filterwarnings("ignore:Observation names are not unique"),
]

RNA = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
PROTEIN = sparse.csr_matrix(np.array([[0, 1.5], [2.5, 0]]))
IDS = ["0012", "NA", "c", "d"]
AVAILABLE = np.array([[1, 0], [1, 0], [1, 1], [0, 1]], dtype=bool)


def modality(X, ids, features="g"):
    names = [f"{features}{i}" for i in range(X.shape[1])]
    obs, var = pd.DataFrame(index=ids), pd.DataFrame(index=names)
    return anndata.AnnData(X, obs=obs, var=var)


def example():
    """Two modalities with one sample in common, in different rows."""
    return mudata.MuData(
        {"rna": modality(RNA, IDS[:3]), "protein": modality(PROTEIN, IDS[2:], "p")}
    )


def test_samples_are_those_of_the_mudata_object():
    views, available = views_from_mudata(example())
    assert list(views) == ["rna", "protein"]
    np.testing.assert_array_equal(available, AVAILABLE)
    assert list(views["rna"].index) == IDS
    assert list(views["rna"].columns) == ["g0", "g1", "g2"]
    assert (views["rna"].dtypes == np.float32).all()
    np.testing.assert_array_equal(views["rna"], [*RNA, [np.nan] * 3])
    assert isinstance(views["protein"], sparse.csr_array)
    np.testing.assert_array_equal(views["protein"].toarray(), [[0, 0], [0, 0], [0, 1.5], [2.5, 0]])
    data = MultiViewData(example())
    assert data.names == ("rna", "protein")
    assert list(data.sample_ids) == IDS
    np.testing.assert_array_equal(data.available, AVAILABLE)


def test_only_modalities_that_lack_samples_are_copied_or_become_floats():
    data = mudata.MuData({"a": modality(RNA, IDS[:3]), "b": modality(PROTEIN[[0, 1, 1]], IDS[:3])})
    views, _ = views_from_mudata(data)
    assert np.shares_memory(views["a"].to_numpy(), data["a"].X)
    assert np.shares_memory(views["b"].data, data["b"].X.data)
    counts = modality(RNA.astype(np.uint8), IDS[:3])
    alone, _ = views_from_mudata(mudata.MuData({"rna": counts}))
    assert (alone["rna"].dtypes == np.uint8).all()
    beside, _ = views_from_mudata(mudata.MuData({"rna": counts, "b": modality(RNA, IDS[1:])}))
    assert (beside["rna"].dtypes == np.float16).all()
    np.testing.assert_array_equal(beside["rna"][:3], RNA)


def test_part_of_an_object_and_anndata():
    part = example()[["d", "0012"]]
    views, available = views_from_mudata(part)
    np.testing.assert_array_equal(available, AVAILABLE[[3, 0]])
    np.testing.assert_array_equal(views["rna"], [[np.nan] * 3, RNA[0]])
    np.testing.assert_array_equal(views["protein"].toarray(), [[2.5, 0], [0, 0]])
    views, available = views_from_mudata(modality(RNA, IDS[:3]))
    assert list(views) == ["view_0"]
    assert list(views["view_0"].index) == IDS[:3]
    np.testing.assert_array_equal(available, np.ones((3, 1), bool))


def rich():
    data = example()
    data["rna"].layers["log"] = np.log(RNA)
    data["protein"].layers["log"] = PROTEIN * 2
    data["rna"].obsm["X_pca"] = RNA[:, :2] + 10
    data["protein"].obsm["X_pca"] = pd.DataFrame({"one": [1.0, 2.0]}, index=IDS[2:])
    data["rna"].var["highly_variable"] = [True, False, True]
    data["rna"].var["none"] = False
    data["rna"].var["text"] = ["a", "b", "c"]
    return data


PCA, VARIABLE = RNA[:, :2] + 10, RNA[:, [0, 2]]
TWO = PROTEIN.toarray()
HV = "highly_variable"


@pytest.mark.parametrize(
    ("chosen", "rna", "names", "protein"),
    [
        ({"rna": "layer:log", "protein": "layer:log"}, np.log(RNA), "g0 g1 g2", 2 * TWO),
        ({"rna": "obsm:X_pca", "protein": "obsm:X_pca"}, PCA, "X_pca_0 X_pca_1", [[1], [2]]),
        ({"rna": f"X:{HV}", "protein": "X"}, VARIABLE, "g0 g2", TWO),
        ({"rna": f"layer:log:{HV}", "protein": "X"}, np.log(VARIABLE), "g0 g2", TWO),
    ],
)
def test_layers_representations_and_selected_features(chosen, rna, names, protein):
    views, available = views_from_mudata(rich(), chosen)
    np.testing.assert_array_equal(available, AVAILABLE)
    np.testing.assert_array_equal(views["rna"][:3], rna)
    assert list(views["rna"].columns) == names.split()
    found = views["protein"]
    found = found.to_numpy() if isinstance(found, pd.DataFrame) else found.toarray()
    np.testing.assert_array_equal(found[2:], protein)


NO_X = anndata.AnnData(obs=pd.DataFrame(index=IDS))
REFUSED = {
    "'rna' has no X": lambda: mudata.MuData({"rna": NO_X}),
    r"'rna': X has shape \(4, 0\)": lambda: mudata.MuData({"rna": modality(np.ones((4, 0)), IDS)}),
    "the sample id 'a'": lambda: modality(RNA, ["a", "b", "a"]),
    "share features, not samples": lambda: mudata.MuData(
        {"a": modality(RNA, list("abc")), "b": modality(RNA, list("def"))}, axis=1
    ),
    "no modalities": lambda: mudata.MuData({}),
    "'inner' is itself": lambda: mudata.MuData({"inner": example()}),
}


@pytest.mark.filterwarnings("ignore:Transforming to str index")
@pytest.mark.parametrize("message", REFUSED)
def test_refused_objects(message):
    with pytest.raises(ValueError, match=message):
        views_from_mudata(REFUSED[message]())


RAGGED = {"rna": (RNA, ["x", "y", "z"]), "protein": (RNA[:2] + 1, ["z", "x"])}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("other", ["AnnData", "frame"])
def test_anndata_is_aligned_by_its_names(form, other):
    views = {name: modality(form(X), ids, name) for name, (X, ids) in RAGGED.items()}
    if other == "frame":
        views["protein"] = views["protein"].to_df()
    data = MultiViewData(views)
    assert data.names == ("rna", "protein")
    assert list(data.sample_ids) == ["x", "y", "z"]
    np.testing.assert_array_equal(data.available, [[1, 1], [1, 0], [1, 1]])
    stays_sparse = form is not np.asarray
    for p, expected in enumerate((RNA, RNA[[1, 0, 0]] + 1)):
        view = data.views[p]
        assert sparse.issparse(view) == (stays_sparse and (p == 0 or other == "AnnData"))
        view = view.toarray() if sparse.issparse(view) else view
        np.testing.assert_array_equal(view[data.available[:, p]], expected[data.available[:, p]])
    unnamed = MultiViewData(list(views.values()))
    assert unnamed.names == ("view_0", "view_1")
    assert list(unnamed.sample_ids) == ["x", "y", "z"]


def test_containers_and_texts_that_are_no_views_are_refused():
    with pytest.raises(TypeError, match=r"view 1 \('b'\) is of type MuData.* passed alone"):
        MultiViewData({"a": RNA, "b": example()})
    with pytest.raises(ValueError, match=r"view 0 has no X\. Give another matrix of it"):
        MultiViewData([anndata.AnnData(obs=pd.DataFrame(index=IDS)), np.eye(4)])
    with pytest.raises(TypeError, match=r"view 0 is of type MultiViewData"):
        MultiViewData([MultiViewData(RNA), RNA])
    data = modality(RNA, IDS[:3])
    data.obsm["names"] = pd.DataFrame({"one": ["u", "v", "w"]}, index=IDS[:3])
    with pytest.raises(ValueError, match=r"names has shape .* at least one numeric column"):
        views_from_mudata(data, {"x": "obsm:names"})
