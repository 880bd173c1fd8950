"""Data of the commands: options on how to read files, and what is read."""

# Imported by ``--help``: light modules only.
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anchorview.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from anchorview.views.container import MultiViewData
    from anchorview.views.stored_view import Target, ViewFile

DATA_SHARE = 0.25
"""Share of the memory budget that data in memory may take; a fit needs several times their size."""


@dataclass(frozen=True, eq=False)
class LoadedData:
    """Multi-view data with their classes, if known, and sample ids."""

    views: "MultiViewData | ViewFile"
    """In memory, or opened on disk."""
    target: "Target"
    ids: "pd.Index[Any] | None"
    name: str
    """Name of the data set."""
    selection: Mapping[str, str] | None = None
    """Which matrices of the file are the views, if they were selected."""
    by_sample: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `fit` with one value per sample."""

    def __len__(self) -> int:
        views: Any = self.views.views
        first = next(iter(views.values() if isinstance(views, Mapping) else views))
        return int(first.shape[0])

    @property
    def in_memory(self) -> "MultiViewData | None":
        """The views, unless they are on disk."""
        from anchorview.views.container import MultiViewData

        return self.views if isinstance(self.views, MultiViewData) else None


@dataclass(frozen=True)
class TableOptions:
    """Options on the layout of tables, and on missing rows."""

    zero_rows_missing: options.ZeroRowsMissing = False
    no_id_column: options.NoIdColumn = False
    no_header: options.NoHeader = False

    @property
    def layout(self) -> dict[str, Any]:
        """Arguments of `read_views` and `open_views`."""
        return {"id_column": not self.no_id_column, "header": not self.no_header}


@dataclass(frozen=True)
class ReadingOptions(TableOptions):
    """Options on how data with classes are read."""

    class_labels: options.Labels = None

    def of(
        self, path: Path, views: Mapping[str, str] | None = None, batch: Path | None = None
    ) -> "DataReader":
        """Data at a path that are read with these options."""
        return DataReader(path, self, views, batch)


@dataclass(frozen=True)
class DataReader:
    """Data at a path, and how to read them."""

    path: Path
    options: ReadingOptions
    selection: Mapping[str, str] | None = None
    """Which matrices of the file are the views."""
    batch: Path | None = None
    """CSV file with the batch of each sample."""

    @property
    def _layout(self) -> dict[str, Any]:
        labels = self.options.class_labels
        return {**self.options.layout, "labels": labels, "views": self.selection}

    def selected_like(self, model: Any) -> Self:
        """The same data, with the matrices on which a model was fitted, if they can be selected."""
        from anchorview.datasets.reading import find_format
        from anchorview.views.stored_anndata import modality_names

        format_, selection = find_format(self.path), model.view_selection_
        if self.selection or selection is None or format_ is None or not format_.selects:
            return self
        if self.path.suffix.lower() != ".h5ad":
            names = modality_names(self.path)
            selection = {name: matrix for name, matrix in selection.items() if name in names}
        return replace(self, selection=dict(selection) or None)

    def is_large(self, memory_limit: str | None = None) -> bool:
        """Whether the data can be read in parts, and are too large to be read as a whole.

        Tables that have the class labels in a column are read as a whole.
        """
        from anchorview._utils.memory import memory_budget
        from anchorview.datasets import open_views, stays_on_disk
        from anchorview.datasets.file_contents import data_file_errors
        from anchorview.datasets.reading import find_format

        budget = memory_budget(memory_limit)
        if not stays_on_disk(self.path):
            return False
        with data_file_errors(self.path):
            format_ = find_format(self.path)
        has_labels = self.options.class_labels is not None
        if format_ is not None and (format_.open is None or (has_labels and format_.by_id)):
            return False
        views: Any = open_views(self.path, **self._layout).views.values()
        return bool(sum(view.nbytes for view in views) > DATA_SHARE * budget)

    def load(self, *, on_disk: bool = False, nan_cells: bool = False) -> LoadedData:
        """Read the data into memory, or open them on disk.

        With `nan_cells`, single values may be NaN: they will be imputed.
        """
        from anchorview.datasets import open_views, read_views
        from anchorview.views.container import MultiViewData, container_with_nan

        views: Any
        if on_disk:
            if self.options.zero_rows_missing:
                raise ValueError(
                    "--zero-rows-missing needs the data in memory. Convert them with 'anchorview "
                    "convert --zero-rows-missing' first, and pass the new folder."
                )
            views = file = open_views(self.path.resolve(), **self._layout)
            ids = file.sample_ids
            for view in views.views.values():
                ids = view.ids(slice(None)) if ids is None else ids
        else:
            missing = self.options.zero_rows_missing
            file = read_views(self.path, zero_rows_missing=missing, **self._layout)
            views = container_with_nan(file) if nan_cells else MultiViewData(file)
            ids = file.sample_ids
        by_sample = {}
        if self.batch is not None:
            batch = _read_batch(self.batch, ids)
            if on_disk:
                by_sample = {"batch": batch}
            else:
                try:
                    views = MultiViewData(views, batch=batch)
                except ValueError as error:
                    raise ValueError(f"{self.batch}: {error}") from error
        # Tables have names by which a model finds its views.
        selection = None if self.path.is_dir() else self.selection
        return LoadedData(views, file.target, ids, self.path.name, selection, by_sample)

    def load_for(self, model: Any) -> LoadedData:
        """Load the data for a fitted model, with the matrices on which it was fitted."""
        source = self.selected_like(model)
        return source.load(on_disk=source.is_large(), nan_cells=model.imputation_ is not None)


def load_model(path: Path) -> Any:
    """Load a saved model that can label samples."""
    from anchorview import load

    model = load(path)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is an ablation, which cannot label new samples.")
    return model


def _read_batch(path: Path, ids: "pd.Index[Any] | None") -> Any:
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
