"""Row blocks of given sizes."""

from contextlib import contextmanager
from functools import reduce
from itertools import pairwise

import pytest

from anchorview.core.centers import EmbeddedRows


@contextmanager
def rows_per_block(data, rows):
    """Process a container in blocks of this many rows; None leaves the default."""
    with pytest.MonkeyPatch.context() as patch:
        if rows is not None:
            patch.setattr(data, "rows_per_block", rows)
        yield


class BlockedRows(EmbeddedRows):
    """Rows that are processed in blocks of `step` rows, or with the given bounds; counts passes."""

    def __init__(self, rows, step=None, bounds=(), weights=None):
        super().__init__(rows, weights)
        inner = range(step, len(rows), step) if step else sorted(bounds)
        self.bounds = [0, *inner, len(rows)]
        self.passes = 0

    def reduce(self, function, merge):
        self.passes += 1
        blocks = [slice(*ends) for ends in pairwise(self.bounds)]
        parts = (function(self.embedding[b], b.start, self.weights_of(b)) for b in blocks)
        return reduce(merge, parts)
