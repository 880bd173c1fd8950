"""Row blocks of a given size."""

from contextlib import contextmanager

import pytest

from anchorview.views import schema


@contextmanager
def rows_per_block(data, rows):
    """Process a container in blocks of so many rows; None leaves the default."""
    with pytest.MonkeyPatch.context() as patch:
        if rows is not None:
            row_bytes = data.shape[1] * data.dtype.itemsize
            patch.setattr(schema, "LARGEST_BLOCK", rows * row_bytes)
        yield
