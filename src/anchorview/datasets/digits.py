"""The built-in data set: handwritten digits in six views."""

from importlib import resources
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

VIEWS = ("pixels", "fourier", "profiles", "zernike", "karhunen_loeve", "morphology")
LabeledViews = tuple[dict[str, NDArray[Any]], NDArray[np.int64]]


@overload
def load_digits(*, return_X_y: Literal[False] = False) -> Bunch: ...


@overload
def load_digits(*, return_X_y: Literal[True]) -> LabeledViews: ...


def load_digits(*, return_X_y: bool = False) -> Bunch | LabeledViews:
    """Load 2000 handwritten digits in six views (UCI "Multiple Features").

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(views, target)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``views`` (dict of six arrays of shape (2000, n_features), in the types in which they
        are stored), ``target`` (the digits, int64), ``target_names`` (the digits as strings) and
        ``DESCR`` (description of the views, license and attribution).

    Examples
    --------
    >>> digits = load_digits()
    >>> for name, view in digits.views.items():
    ...     print(name, view.shape, view.dtype)
    pixels (2000, 240) uint8
    fourier (2000, 76) float32
    profiles (2000, 216) uint16
    zernike (2000, 47) float32
    karhunen_loeve (2000, 64) float32
    morphology (2000, 6) float32
    >>> views, y = load_digits(return_X_y=True)
    >>> y.shape
    (2000,)
    """
    data = resources.files("anchorview.datasets") / "data"
    with (data / "digits.npz").open("rb") as stream, np.load(stream) as archive:
        views = {name: archive[name] for name in VIEWS}
        target = archive["y"].astype(np.int64)
    if return_X_y:
        return views, target
    return Bunch(
        views=views,
        target=target,
        target_names=[str(digit) for digit in range(10)],
        DESCR=(data / "digits.md").read_text(encoding="utf-8"),
    )
