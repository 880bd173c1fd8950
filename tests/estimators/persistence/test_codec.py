"""Anything but the values of a type is refused; models test that these survive encoding."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from anchorview._utils.typing import Array, FeatureNames
from anchorview.estimators.persistence.codec import decode, encode, require, validate

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


def test_identifiers_that_are_neither_integers_nor_strings_become_strings():
    ids = pd.Index([0.5, 1.0], name=7)
    assert encode(ids) == {"name": None, "data": ["0.5", "1.0"]}


@pytest.mark.parametrize(
    ("annotation", "tree", "reason"),
    [
        (bool, 1, "'v' is not of type bool"),
        (int, True, "'v' is not of type int"),
        (int, 1.0, "'v' is not of type int"),
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
        (Point, {"y": 1.0}, "'v/x' is missing"),
        (Point, {"x": 1, "y": 0.0, "z": 0}, "'v/z' is unknown"),
        (Point, [1, 0.0], "'v' is not an object"),
        (Point, {"x": 13, "y": 0.0}, "in 'v', 'x' is unlucky"),
    ],
)
def test_anything_else_is_refused(annotation, tree, reason):
    with pytest.raises(ValueError, match=reason):
        decode(tree, annotation, "v")
