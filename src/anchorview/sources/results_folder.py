"""The folder of results of a fit: one ``.npy`` file for each, such as embedding and labels.

The files have the names of a folder of views, so that :func:`anchorview.open_views` opens them.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from anchorview._utils.atomic_files import (
    atomic_write_binary,
    created_folder,
    require_writable,
    require_writable_folder,
)
from anchorview._utils.typing import Array
from anchorview.datasets.formats.arrays import (
    LABELS,
    LEVEL_LABELS,
    RESULT_VECTORS,
    SAMPLE_IDS,
    without_objects,
)

EMBEDDING = "embedding"

RESULTS = (EMBEDDING, *RESULT_VECTORS, LEVEL_LABELS, SAMPLE_IDS, LABELS)
"""Names of all results that a fit may have, in the order in which their files appear."""


def result_path(folder: Path, name: str) -> Path:
    """File of a result."""
    return folder / f"{name}.npy"


def require_results_folder(folder: Path) -> None:
    """Raise if results cannot be written to a folder."""
    require_writable_folder(folder)
    if folder.is_dir():
        for name in RESULTS:
            require_writable(result_path(folder, name))


@contextmanager
def writing_results(
    folder: Path, sample_ids: "pd.Index[Any] | None", n_samples: int, names: Collection[str]
) -> Iterator[dict[str, BinaryIO]]:
    """Write the sample ids, or positions if there are none; yields streams for the other files.

    These are the results in `names`, in the format of ``.npy``. All files appear together, after
    the block; ``labels.npy`` is the last, so that where it exists the folder is complete. Other
    results of an earlier fit are removed.
    """
    written = [name for name in RESULTS if name in names or name == SAMPLE_IDS]
    paths = [result_path(folder, name) for name in written]
    with created_folder(folder), atomic_write_binary(*paths) as opened:
        streams = dict(zip(written, opened, strict=True))
        values = np.arange(n_samples) if sample_ids is None else without_objects(sample_ids)
        np.save(streams.pop(SAMPLE_IDS), values, allow_pickle=False)
        yield streams
        for name in set(RESULTS) - set(written):
            result_path(folder, name).unlink(missing_ok=True)


def save_results(
    folder: Path, results: Mapping[str, Array], sample_ids: "pd.Index[Any] | None"
) -> None:
    """Write results that are in memory, by name."""
    with writing_results(folder, sample_ids, len(results[LABELS]), results) as streams:
        for name, stream in streams.items():
            np.save(stream, results[name], allow_pickle=False)
