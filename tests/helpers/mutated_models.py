"""Damaged and forged model files, for the harness of damaged files."""

from functools import cache, partial
from io import BytesIO
from pathlib import Path

import numpy as np

from anchorview import DALMC, AutoDALMC
from anchorview.estimators.persistence import ModelFileError, load_model
from helpers.data import clustered_views
from helpers.model_files import archive_of, members_of, with_a_wrong_value
from helpers.mutated_files import Reader, mutated


def _write(name: str, folder: Path) -> Path:
    _fitted(name).save(folder / "model")
    return folder / "model"


@cache
def _fitted(name: str) -> DALMC | AutoDALMC:
    views, _ = clustered_views(40, 3, (3, 4), missing=0.2)
    return ESTIMATORS[name].fit(views)


def _load(path: Path) -> None:
    model = load_model(path)
    assert model.labels_.ndim == 1
    assert model.embedding_.ndim == 2
    assert len(repr(model)) < 10_000


def _in_a_member(content: bytes, rng: np.random.Generator) -> bytes:
    members = members_of(BytesIO(content))
    names = [*members, *["anchorview.json"] * len(members)]
    name = names[rng.integers(len(names))]
    return archive_of({**members, name: mutated(members[name], rng)})


def _in_the_document(content: bytes, rng: np.random.Generator) -> bytes:
    return archive_of(with_a_wrong_value(members_of(BytesIO(content)), rng))


ESTIMATORS = {
    "DALMC": DALMC(2, max_iter=2, random_state=0),
    "AutoDALMC": AutoDALMC([2, 3], budget="fast", random_state=0),
}
MUTATIONS = {
    "damaged": mutated,
    "a damaged member": _in_a_member,
    "a wrong value": _in_the_document,
}

MODEL_READERS = tuple(
    Reader(f"{model}, {damage}", partial(_write, model), _load, (ModelFileError,), mutate)
    for model in ESTIMATORS
    for damage, mutate in MUTATIONS.items()
)
"""Loading of model files with every kind of damage."""
