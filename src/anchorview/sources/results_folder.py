"""The folder of results of a fit: embedding, sample ids and labels as ``.npy`` files.

The files have the names of a folder of views, so that :func:`anchorview.open_views` opens them.
"""

from collections.abc import Iterator
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
from anchorview.datasets.formats.npy_folder import LABELS, SAMPLE_IDS, without_objects

EMBEDDING = "embedding"


def result_paths(folder: Path) -> tuple[Path, Path, Path]:
    """Files of the embedding, the sample ids and the labels, in the order of their appearance."""
    embedding, ids, labels = (folder / f"{name}.npy" for name in (EMBEDDING, SAMPLE_IDS, LABELS))
    return embedding, ids, labels


def require_results_folder(folder: Path) -> None:
    """Raise if results cannot be written to a folder."""
    require_writable_folder(folder)
    if folder.is_dir():
        for path in result_paths(folder):
            require_writable(path)


@contextmanager
def writing_results(
    folder: Path, sample_ids: "pd.Index[Any] | None", n_samples: int
) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Write the sample ids, or positions if there are none; yields streams for the other files.

    These are the embedding and the labels, in the format of ``.npy``. All files appear together,
    after the block; ``labels.npy`` is the last, so that where it exists the folder is complete.
    """
    paths = result_paths(folder)
    with created_folder(folder), atomic_write_binary(*paths) as (embedding, ids, labels):
        values = np.arange(n_samples) if sample_ids is None else without_objects(sample_ids)
        np.save(ids, values, allow_pickle=False)
        yield embedding, labels


def save_results(
    folder: Path, embedding: Array, labels: Array, sample_ids: "pd.Index[Any] | None"
) -> None:
    """Write results that are in memory."""
    with writing_results(folder, sample_ids, len(labels)) as streams:
        for stream, values in zip(streams, (embedding, labels), strict=True):
            np.save(stream, values, allow_pickle=False)
