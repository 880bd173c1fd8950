"""Multi-view data: a built-in data set, generated data, and files of views in many formats.

Imports ``_utils`` and ``views``; ``formats`` has a module per kind of file.
"""

from anchorview._utils.errors import DataFileError
from anchorview.datasets.conversion import convert
from anchorview.datasets.data_sets import (
    PAPER_SETS,
    PaperSet,
    load_digits,
    make_multiview,
    paper_set,
)
from anchorview.datasets.reading import open_views, read_views, stays_on_disk
from anchorview.views.stored_view import ViewFile

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
