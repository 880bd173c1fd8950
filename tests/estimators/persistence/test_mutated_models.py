"""Damaged model files are loaded in child processes with limits of memory and time."""

import pytest

from helpers.mutated_files import run_cases
from helpers.mutated_models import MODEL_READERS


@pytest.mark.parametrize(
    ("readers", "cases"),
    [(MODEL_READERS[:3], 5), pytest.param(MODEL_READERS, 2000, marks=pytest.mark.slow)],
    ids=["DALMC", "all"],
)
def test_damaged_models_give_the_documented_error_or_a_model(readers, cases):
    outcomes = run_cases(readers, range(cases), n_processes=1 if cases == 5 else 2)
    assert not outcomes.failures, "\n".join(outcomes.failures[:3])
    assert sum(outcomes.counts.values()) == cases * len(readers)
    refused = {name for name, kind in outcomes.counts if kind == "ModelFileError"}
    assert {name for name in refused if name.endswith(", damaged")} == {
        reader.name for reader in readers if reader.name.endswith(", damaged")
    }
