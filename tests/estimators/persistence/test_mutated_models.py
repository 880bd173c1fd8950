"""Damaged model files are loaded in child processes with limits of memory and time."""

import pytest

from helpers.mutated_files import run_cases
from helpers.mutated_models import MODEL_READERS


@pytest.mark.parametrize("cases", [5, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_models_give_the_documented_error_or_a_model(cases):
    outcomes = run_cases(MODEL_READERS, range(cases))
    assert not outcomes.failures, "\n".join(outcomes.failures[:3])
    assert sum(outcomes.counts.values()) == cases * len(MODEL_READERS)
    refused = {name for name, kind in outcomes.counts if kind == "ModelFileError"}
    assert {name for name in refused if name.endswith(", damaged")} == {
        reader.name for reader in MODEL_READERS if reader.name.endswith(", damaged")
    }
