"""Damaged and forged model files, for the harness of damaged files."""

from functools import cache, partial
from io import BytesIO
from pathlib import Path

import numpy as np

from anchorview import DALMC, AutoDALMC
from anchorview.estimators.persistence import ModelFileError, load_model
from helpers.data import clustered_views
from helpers.model_files import archive_bytes, members_of, sealed, with_a_wrong_value
from helpers.mutated_files import Reader, mutated


def _dalmc(folder: Path, missing: bool) -> Path:
    views, _ = clustered_views(12, 2, (2, 3))
    if missing:
        views["view_1"][0] = np.nan
    model = DALMC(2, n_components=1, max_iter=2, tol=0, random_state=0).fit(views)
    model.save(folder / "model")
    return folder / "model"


@cache
def _auto_model() -> AutoDALMC:
    views, _ = clustered_views(40, 3, (3, 4))
    return AutoDALMC([2, 3], budget="fast", random_state=0).fit(views)


def _auto(folder: Path) -> Path:
    _auto_model().save(folder / "model")
    return folder / "model"


def _load(path: Path) -> None:
    model = load_model(path)
    assert model.labels_.ndim == 1
    assert model.embedding_.ndim == 2
    assert len(repr(model)) < 10_000


def _anywhere(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage with a correct checksum."""
    return sealed(mutated(content[:-64], rng) + bytes(64))


def _in_a_member(content: bytes, rng: np.random.Generator) -> bytes:
    members = members_of(BytesIO(content))
    names = [*members, *["anchorview.json"] * len(members)]
    name = names[rng.integers(len(names))]
    return archive_bytes({**members, name: mutated(members[name], rng)})


def _in_the_document(content: bytes, rng: np.random.Generator) -> bytes:
    return archive_bytes(with_a_wrong_value(members_of(BytesIO(content)), rng))


WRITERS = {
    "DALMC": partial(_dalmc, missing=False),
    "DALMC with missing views": partial(_dalmc, missing=True),
    "AutoDALMC": _auto,
}
MUTATIONS = {
    "damaged": mutated,
    "damaged under a new checksum": _anywhere,
    "a damaged member": _in_a_member,
    "a wrong value": _in_the_document,
}

MODEL_READERS = tuple(
    Reader(f"{model}, {damage}", write, _load, (ModelFileError,), mutate)
    for model, write in WRITERS.items()
    for damage, mutate in MUTATIONS.items()
)
"""Loading of model files with every kind of damage."""
