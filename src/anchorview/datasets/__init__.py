"""Multi-view data: an embedded real set, generated sets, and files of views."""

from anchorview.datasets._digits import load_digits
from anchorview.datasets._files import read_views
from anchorview.datasets._synthetic import make_multiview
from anchorview.datasets._viewfile import DataFileError, ViewFile

__all__ = ["DataFileError", "ViewFile", "load_digits", "make_multiview", "read_views"]
