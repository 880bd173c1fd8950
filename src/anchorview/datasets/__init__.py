"""Multi-view data: an embedded real set, generated sets, and files of views."""

from anchorview.datasets._converting import convert
from anchorview.datasets._digits import load_digits
from anchorview.datasets._files import read_views
from anchorview.datasets._opening import open_views, stays_on_disk
from anchorview.datasets._registry import PAPER_SETS, PaperSet, paper_set
from anchorview.datasets._synthetic import make_multiview
from anchorview.datasets._viewfile import DataFileError, ViewFile

__all__ = [
    "PAPER_SETS",
    "DataFileError",
    "PaperSet",
    "ViewFile",
    "convert",
    "load_digits",
    "make_multiview",
    "open_views",
    "paper_set",
    "read_views",
    "stays_on_disk",
]
