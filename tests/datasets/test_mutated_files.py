"""Every reader on damaged files: a right result or a documented error, within limits."""

import pytest

from anchorview.datasets.reading import FORMATS
from helpers.mutated_data import DATA_READERS, formats_written
from helpers.mutated_files import run_cases


def test_all_formats_are_mutated(tmp_path):
    assert formats_written(tmp_path) == {entry.name for entry in FORMATS}


@pytest.mark.parametrize("n_cases", [5, pytest.param(840, marks=pytest.mark.slow)])
def test_damaged_files_give_a_result_or_a_documented_error(n_cases):
    outcomes = run_cases(DATA_READERS, range(n_cases))
    assert outcomes.failures == []
    assert sum(outcomes.counts.values()) == n_cases * len(DATA_READERS)
    # Most damage is noticed; a changed value in an array without a checksum cannot be.
    assert sum(outcomes.counts[reader.name, "read"] for reader in DATA_READERS) < 0.3 * sum(
        outcomes.counts.values()
    )
