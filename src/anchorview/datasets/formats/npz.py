"""NumPy archives, read without ever unpickling objects."""

from pathlib import Path

import numpy as np

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_arrays import all_matrices, views_among
from anchorview.views.view_file import ViewFile


def read_npz(path: Path) -> ViewFile:
    """Read all matrices of an archive as views."""
    variables: dict[str, object] = {}
    with path.open("rb") as stream:
        # Otherwise the error about a single array or a pickle with this suffix would be less clear.
        if stream.read(2) != b"PK":
            raise DataFileError("not an .npz archive. Save the views with numpy.savez.")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            for name in archive.files:
                try:
                    variables[name] = archive[name]
                except ValueError as error:
                    raise DataFileError(
                        f"array {name!r} cannot be read ({error}). Save it again as a plain "
                        "numeric array; pickled objects are never loaded."
                    ) from error
    return views_among(variables, path, all_matrices)
