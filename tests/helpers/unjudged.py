"""Fits of AutoDALMC without the judgment of structure, which takes most of the time of small ones.

For tests of other things; tests/estimators/auto/test_structure.py has those of structure.
"""

from contextlib import contextmanager

import pytest


@contextmanager
def structure_not_judged():
    """Leave the structure unknown, as it is if there are too few families, in the block."""
    from anchorview import AutoDALMC

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoDALMC, "_judges_structure", False)
        yield
