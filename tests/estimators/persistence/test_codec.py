"""Typed values survive encoding, and anything else is refused."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from anchorview._utils.typing import Array, ExtendedArray, FeatureNames
from anchorview.estimators.persistence.codec import (
    decode,
    encode,
    insert_arrays,
    require,
    split_arrays,
    validate,
)
from helpers.model_files import same

Letter = Literal["a", "b"]
INDEX = {"data": [1], "name": None}


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0


@validate.register
def _(point: Point) -> Point:
    require(point.x != 13, "'x' is unlucky")
    return point


class Plain:
    """A class that is no dataclass; what it derives is not stored."""

    def __init__(self, points: tuple[Point, ...]) -> None:
        self.points = points
        self.derived = len(points)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (bool, True),
        (int, -3),
        (float, 0.1),
        (str, "é"),
        (Letter, "b"),
        (int | None, None),
        (int | None, 3),
        (Array, np.eye(3)[:, ::2]),
        (Array | None, None),
        (npt.NDArray[np.int32], np.arange(3, dtype=np.int32)),
        (npt.NDArray[np.floating[Any]], np.ones((2, 1, 2), np.float32)),
        (ExtendedArray | None, np.array([np.inf, 1])),
        (Array, np.empty((0, 3))),
        (FeatureNames, np.array(["a", "ä"], dtype=object)),
        (list[Array], [np.ones(1), np.zeros(2)]),
        (tuple[int, ...], ()),
        (tuple[Point, str], (Point(1), "one")),
        (dict[Letter, float], {"b": 1.0, "a": 2.0}),
        (dict[Point, list[Array]], {Point(1): [np.ones(1)], Point(2): []}),
        (pd.Index, pd.Index([1, 2], name="n")),
        (pd.Index, pd.Index(["é", 1], dtype=object)),
        (pd.Series, pd.Series([0.5, np.nan], pd.Index([2, 3], name="n"), name="score")),
        (pd.Series, pd.Series([np.nan], pd.Index([2]))),
        (Point, Point(1, 2.5)),
    ],
)
def test_round_trip(annotation, value):
    document, arrays = split_arrays({"value": encode(value)})
    document = json.loads(json.dumps(document, allow_nan=False))
    insert_arrays(document, arrays)
    decoded = decode(document["value"], annotation, "value")
    assert type(decoded) is type(value)
    assert same(decoded, value)


def test_identifiers_that_are_neither_integers_nor_strings_become_strings():
    ids = pd.Index([0.5, 1.0], name=7)
    assert encode(ids) == {"name": None, "data": ["0.5", "1.0"]}


def test_classes_are_stored_by_the_parameters_of_their_constructor():
    tree = encode(Plain((Point(1), Point(2))))
    assert tree == {"points": [{"x": 1, "y": 0.0}, {"x": 2, "y": 0.0}]}
    assert decode(tree, Plain, "plain").derived == 2


@pytest.mark.parametrize(
    ("annotation", "tree", "reason"),
    [
        (bool, 1, "'v' is not of type bool"),
        (int, True, "'v' is not of type int"),
        (int, 1.0, "'v' is not of type int"),
        (int, 2**40, "'v' is too large"),
        (float, 1e999, "'v' is not finite"),
        (str, None, "'v' is not of type str"),
        (Letter, "c", "'v' is not one of"),
        (Array, None, "the array 'v' is missing"),
        (Array, np.ones(2, np.float32), "'v' has dtype float32"),
        (Array, np.array(1.0), r"'v' has shape \(\)"),
        (Array, np.array([np.nan]), "'v' contains NaN"),
        (Array, np.array([np.inf]), "'v' contains infinity"),
        (FeatureNames, ["a", 1], "'v/1' is not of type str"),
        (list[int], [1, None], "'v/1' is not of type int"),
        (tuple[int, str], [1], "'v' has 1 items"),
        (dict[Letter, float], {"c": 1.0}, "'v/0/0' is not one of"),
        (dict[Point, int], [[{"x": 1, "y": 0.0}, 1]] * 2, "'v' has an entry twice"),
        (pd.Index, {"name": None, "data": [1.5]}, "'v/data/0' is not of type"),
        (pd.Series, {"data": [], "index": INDEX, "name": None}, "in 'v', Length of values"),
        (Point, {"x": 1}, "'v/y' is missing"),
        (Point, {"x": 1, "y": 0.0, "z": 0}, "'v/z' is unknown"),
        (Point, [1, 0.0], "'v' is not an object"),
        (Point, {"x": 13, "y": 0.0}, "in 'v', 'x' is unlucky"),
        (Plain, {"points": [{"x": 13, "y": 0.0}]}, "in 'v/points/0', 'x' is unlucky"),
    ],
)
def test_anything_else_is_refused(annotation, tree, reason):
    with pytest.raises(ValueError, match=reason):
        decode(tree, annotation, "v")


@pytest.mark.parametrize("name", ["b", "a/2", "a/x", "a/0/0", "c", "c/0", "d/0", "a/-3", "a/0"])
def test_arrays_without_a_place_are_refused(name):
    document = {"a": [1, None], "c": 0, "d": "text"}
    insert_arrays(document, {"a/1": np.ones(1)})
    with pytest.raises(ValueError, match=f"the array '{name}' is unknown"):
        insert_arrays(document, {name: np.ones(1)})
