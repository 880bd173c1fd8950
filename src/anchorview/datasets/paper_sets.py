"""The seven data sets of the paper: their sizes, how to recognize and how to obtain them."""

import re
import warnings
from dataclasses import dataclass

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
