"""Data sets: handwritten digits, which are built in, generated ones, and the seven of the paper.

Of those, there are the sizes, how to recognize and how to obtain them.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from math import inf
from typing import Any, Literal, overload

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

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
        views = dict(archive)
    target = views.pop("y").astype(np.int64)
    if return_X_y:
        return views, target
    return Bunch(
        views=views,
        target=target,
        target_names=[str(digit) for digit in range(10)],
        DESCR=(data / "digits.md").read_text(encoding="utf-8"),
    )


def make_multiview(
    n_samples: int = 500,
    *,
    n_clusters: int = 5,
    n_features: Sequence[int] = (20, 30, 40),
    separation: float = 3.0,
    noise: float = 1.0,
    n_noise_views: int = 0,
    missing: float = 0.0,
    random_state: int | RandomState | None = None,
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Generate clusters in a latent space, observed through several views.

    Each sample is a latent point: its cluster's center plus standard normal spread. Each
    informative view is a random linear map of the latent points plus noise.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, in random order; the sizes of any two clusters differ by at most one.
    n_clusters : int, default=5
        Number of clusters.
    n_features : sequence of int, default=(20, 30, 40)
        Number of features of each informative view.
    separation : float, default=3.0
        Distance of the centers from the origin, in orthogonal directions. The spread within a
        cluster is 1.
    noise : float, default=1.0
        Standard deviation of the noise added to each feature. The spread within a cluster
        contributes about 1.
    n_noise_views : int, default=0
        Number of extra views of pure noise, as wide as the last informative view.
    missing : float, default=0.0
        Fraction of the (sample, view) pairs to remove, in [0, 1): that row of that view becomes
        NaN. Every sample keeps at least one informative view, so the fraction removed is at most
        ``1 - 1 / n_views``.
    random_state : int, RandomState or None, default=None
        Seed; pass an int for reproducible data.

    Returns
    -------
    views : dict of str to array of shape (n_samples, n_features)
        "view_0", "view_1", ..., then "noise_0", "noise_1", ...
    y : array of shape (n_samples,)
        The cluster of each sample, numbered from 0.

    Examples
    --------
    >>> views, y = make_multiview(60, n_clusters=3, n_noise_views=1, random_state=0)
    >>> {name: view.shape for name, view in views.items()}
    {'view_0': (60, 20), 'view_1': (60, 30), 'view_2': (60, 40), 'noise_0': (60, 40)}
    >>> np.bincount(y)
    array([20, 20, 20])
    """
    _check_number("n_samples", n_samples, int, 1, inf)
    _check_number("n_clusters", n_clusters, int, 1, n_samples + 1)
    if not isinstance(n_features, Sequence) or not n_features:
        raise ValueError(f"n_features must list the widths of the views; got {n_features!r}.")
    for width in n_features:
        _check_number("each of n_features", width, int, 1, inf)
    _check_number("separation", separation, float, 0, inf)
    _check_number("noise", noise, float, 0, inf)
    _check_number("n_noise_views", n_noise_views, int, 0, inf)
    _check_number("missing", missing, float, 0, 1)
    rng: RandomState = check_random_state(random_state)

    y = rng.permutation(np.arange(n_samples, dtype=np.int64) % n_clusters)
    latent = separation * np.eye(n_clusters)[y] + rng.standard_normal((n_samples, n_clusters))
    views = {}
    for i, width in enumerate(n_features):
        to_features = rng.standard_normal((n_clusters, width)) / np.sqrt(n_clusters)
        views[f"view_{i}"] = latent @ to_features + noise * rng.standard_normal((n_samples, width))
    for i in range(n_noise_views):
        views[f"noise_{i}"] = rng.standard_normal((n_samples, n_features[-1]))

    available = random_availability(n_samples, len(views), missing, rng, among=len(n_features))
    for i, view in enumerate(views.values()):
        view[~available[:, i]] = np.nan
    return views, y


def random_availability(
    n_samples: int, n_views: int, missing: float, rng: RandomState, among: int
) -> NDArray[np.bool_]:
    """Views of each sample without a random fraction; one of the first `among` is always kept."""
    removable = np.ones((n_samples, n_views), dtype=bool)
    removable[np.arange(n_samples), rng.randint(among, size=n_samples)] = False
    candidates = np.flatnonzero(removable)
    n_removed = min(round(missing * removable.size), len(candidates))
    available = np.ones((n_samples, n_views), dtype=bool)
    available.flat[rng.permutation(candidates)[:n_removed]] = False
    return available


def _check_number(name: str, value: object, kind: type, low: float, below: float) -> None:
    """Raise unless a value is an int or float, as `kind` says, in [low, below)."""
    types = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, types) or not low <= value < below:
        what = "an integer" if kind is int else "a number"
        raise ValueError(f"{name} must be {what} in [{low}, {below}); got {value!r}.")


OBTAIN = (
    "The paper's data sets are not ours to redistribute. Files of their multi-view features "
    "circulate among authors of multi-view clustering papers; look in the repositories of such "
    "papers. Most are MATLAB files with a cell array X, one matrix per view with samples in rows "
    "or columns, and the labels Y. Put the file into the data folder under the name of the data "
    "set, in any format that anchorview.read_views reads."
)
"""How to obtain any of them."""


@dataclass(frozen=True)
class PaperSet:
    """One of the data sets in Table I of the paper.

    Attributes
    ----------
    name : str
        Its name in the paper.
    n_samples, n_clusters, n_views : int
        The sizes by which a file is recognized.
    content : str
        What the samples are.
    """

    name: str
    n_samples: int
    n_clusters: int
    n_views: int
    content: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of samples, clusters and views."""
        return self.n_samples, self.n_clusters, self.n_views

    @property
    def obtain(self) -> str:
        """How to obtain it, where to put it, and what is checked."""
        stem = re.sub(r"\W", "", self.name)
        return (
            f"{OBTAIN} For {self.name} ({self.content}) that is {stem}.mat or {stem}.npz; the name "
            f"may go on, as in {stem}_fea.mat. It counts as {self.name} if it has "
            f"{_shape_text(self.shape)}."
        )

    def may_be(self, stem: str) -> bool:
        """Whether a file name without suffix starts with the name of the data set."""
        return normalized(stem).startswith(normalized(self.name))


PAPER_SETS = (
    PaperSet("AWA", 30475, 50, 6, "Animals with Attributes: photographs of 50 kinds of animals"),
    PaperSet("Caltech-256", 30607, 257, 4, "photographs of objects in 256 categories, and others"),
    PaperSet("Flower17", 1360, 17, 7, "Oxford Flowers 17: photographs of 17 kinds of flowers"),
    PaperSet("MNIST", 60000, 10, 3, "images of handwritten digits"),
    PaperSet("TinyImageNet", 100000, 200, 4, "small photographs in 200 classes"),
    PaperSet("VGGFace2", 72283, 200, 4, "photographs of faces, here of 200 persons"),
    PaperSet("YoutubeFace-50", 126054, 50, 4, "YouTube Faces: faces in videos, here of 50 persons"),
)
"""The data sets in Table I of the paper, in its order."""


def paper_set(name: str) -> PaperSet:
    """Return the data set of the paper with this name; case and punctuation do not matter.

    Parameters
    ----------
    name : str
        For example ``"Caltech-256"`` or ``"caltech256"``.

    Returns
    -------
    PaperSet
        With ``name``, ``n_samples``, ``n_clusters``, ``n_views``, ``content`` and ``obtain``.

    Raises
    ------
    ValueError
        If the paper has no such data set.

    Examples
    --------
    >>> from anchorview.datasets import paper_set
    >>> flowers = paper_set("flower17")
    >>> flowers.name, flowers.n_samples, flowers.n_clusters, flowers.n_views
    ('Flower17', 1360, 17, 7)
    >>> flowers.obtain
    "The paper's data sets are not ours to redistribute. ... that is Flower17.mat or ..."
    """
    for known in PAPER_SETS:
        if normalized(known.name) == normalized(name):
            return known
    raise ValueError(
        f"{name!r} is not a data set of the paper; there are "
        f"{', '.join(known.name for known in PAPER_SETS)}."
    )


def recognized(stem: str, shape: tuple[int, int, int]) -> PaperSet | None:
    """Return the paper's data set in a file; if only its name is that of one, warn."""
    for known in PAPER_SETS:
        if known.may_be(stem) and shape == known.shape:
            return known
        if normalized(known.name) == normalized(stem):
            warnings.warn(
                f"{stem} has the name of the paper's {known.name} but {_shape_text(shape)} instead "
                f"of {_shape_text(known.shape)}. It is not compared with the published numbers.",
                stacklevel=2,
            )
    return None


def normalized(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _shape_text(shape: tuple[int, int, int]) -> str:
    return f"{shape[0]} samples, {shape[1]} classes and {shape[2]} views"
