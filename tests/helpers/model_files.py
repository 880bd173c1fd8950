"""Model files that are compared, taken apart and forged."""

import json
import zipfile
from dataclasses import fields, is_dataclass
from io import BytesIO
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from anchorview.core.embed import Embedder
from anchorview.estimators.persistence import ModelFileError, load_model, save_model

WRONG_VALUES = (None, True, -1, 1e999, float("nan"), 10**400, "x" * 9999, [], {"a": {}})


def same(a, b):
    """Whether two values are equal, arrays bit by bit."""
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (pd.Index, pd.Series, pd.DataFrame)):
        indexes = isinstance(a, pd.Index) or same(a.index, b.index)
        named = isinstance(a, pd.DataFrame) or a.name == b.name
        return a.equals(b) and indexes and named
    if isinstance(a, (list, tuple, np.ndarray)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Embedder):
        return same(a.scalings, b.scalings) and same(maps_of(a), maps_of(b))
    if type(a).__module__.startswith("anchorview"):
        return type(a) is type(b) and same(_contents(a), _contents(b))
    if isinstance(a, dict):
        # Sums over batches are not saved.
        keys = a.keys() - {"_running_sums"}
        return keys == b.keys() - {"_running_sums"} and all(same(a[k], b[k]) for k in keys)
    return bool(a == b)


def _contents(value):
    """Attributes of an object; those of a dataclass that is no estimator without cached ones."""
    if not is_dataclass(value) or hasattr(value, "get_params"):
        return vars(value)
    return {field.name: getattr(value, field.name) for field in fields(value)}


def maps_of(embedder):
    """Maps of an embedder in single precision, in which files may hold them; by pattern."""
    views = range(len(embedder.scalings))
    patterns = [own for count in views for own in combinations(views, count + 1)]
    return {str(own): embedder.map_from(own).astype(np.float32) for own in patterns}


def round_trip(model, folder):
    """Return the model as it was saved and loaded; saving it again gives the same file."""
    first, second = folder / "first.anchorview", folder / "second.anchorview"
    save_model(model, first)
    loaded = load_model(first)
    assert same(model, loaded)
    assert clone(loaded).get_params() == model.get_params()
    loaded.save(str(second))
    assert first.read_bytes() == second.read_bytes()
    return loaded


def require_same_predictions(model, loaded, views):
    """Check results for samples that have any combination of the views."""
    methods = ("transform", "predict", "predict_with_confidence")
    for has in product([True, False], repeat=len(views)):
        some = [view if there else None for view, there in zip(views, has, strict=True)]
        for name in methods:
            if any(has) and hasattr(model, name):
                expected, found = (getattr(own, name)(some) for own in (model, loaded))
                if name == "transform":
                    # Rows that the model replays are multiplied by a map after loading.
                    atol = 1e-4 if model.embedding_.dtype == np.float32 else 1e-10
                    np.testing.assert_allclose(found, expected, atol=atol)
                else:
                    assert same(found, expected), name


def error_of(path):
    """Message of the error that loading a file raises."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400
    return message


def members_of(file):
    """Members of an archive that is a path or a stream."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def document_of(members):
    return json.loads(members["anchorview.json"])


def forge(path, members):
    path.write_bytes(archive_of(members))


def archive_of(members):
    """Content of a file with correct checksums."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def with_values(members, changes):
    """Members with other values in the document, given by their places in it."""
    document = document_of(members)
    for place, value in changes.items():
        *outer, last = (int(key) if key.isdigit() else key for key in place.split("/"))
        tree = document
        for key in outer:
            tree = tree[key]
        tree[last] = value
    return {**members, "anchorview.json": json.dumps(document).encode()}


def forge_document(path, changes):
    forge(path, with_values(members_of(path), changes))


def forge_array(path, name, change):
    members = members_of(path)
    stream = BytesIO()
    np.save(stream, change(np.load(BytesIO(members[f"{name}.npy"]))))
    forge(path, {**members, f"{name}.npy": stream.getvalue()})


def places_in(tree, place=""):
    """Yield the places of all values in a JSON document."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield f"{place}{key}"
        if isinstance(value, (dict, list)):
            yield from places_in(value, f"{place}{key}/")


def with_a_wrong_value(members, rng):
    """Members with one wrong value in the document."""
    places = list(places_in(document_of(members)))
    place, value = rng.integers(len(places)), rng.integers(len(WRONG_VALUES))
    return with_values(members, {places[place]: WRONG_VALUES[value]})
