"""Batches of samples from a CSV file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview.cli.clustering import Samples

if TYPE_CHECKING:
    import pandas as pd


def with_batch(samples: Samples, path: Path | None) -> Samples:
    """Samples with the batches of a CSV file, if there is one."""
    if path is None:
        return samples
    from anchorview.views.container import MultiViewData

    batch = read_batch(path, samples.ids)
    try:
        if isinstance(samples.data, MultiViewData):
            return replace(samples, data=MultiViewData(samples.data, batch=batch))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return replace(samples, by_sample={"batch": batch})


def read_batch(path: Path, ids: "pd.Index[Any] | None") -> Any:
    """Batches in a file: a column of them in the order of the samples, or after one of ids."""
    import pandas as pd

    from anchorview._utils.errors import DataFileError

    try:
        table = pd.read_csv(path, dtype=str)
    except (OSError, ValueError) as error:
        raise DataFileError(f"{path}: cannot be read as CSV ({error}).") from error
    if table.shape[1] not in (1, 2):
        raise DataFileError(
            f"{path} has {table.shape[1]} columns. Give a header and one column with the batches "
            "in the order of the samples, or two, of which the first has the sample ids."
        )
    if table.shape[1] == 1:
        return table.iloc[:, 0].to_numpy()
    if ids is None:
        raise DataFileError(
            f"{path} has sample ids, but the data have none. Give one column with the batches in "
            "the order of the samples."
        )
    keys = table.iloc[:, 0]
    # Ids that are numbers in the data are numbers here too.
    index = pd.Index(pd.to_numeric(keys) if pd.api.types.is_integer_dtype(ids.dtype) else keys)
    return pd.Series(table.iloc[:, 1].to_numpy(), index=index)
