"""Data of the commands: options on how to read files, and what is read."""

# Imported by ``--help``: light modules only.
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from anchorview._utils.progress import report_progress
from anchorview.cli.options import option, parse_pairs

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
    shown: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the report with what is known about the samples."""

    @property
    def in_memory(self) -> "MultiViewData | None":
        """The views, unless they are on disk."""
        views: Any = self.views
        return views if hasattr(views, "names") else None

    @property
    def by_name(self) -> dict[str, Any]:
        """The views by name."""
        data = self.in_memory
        if data is None:
            return dict(self.views.views)
        return dict(zip(data.names, data.views, strict=True))

    def __len__(self) -> int:
        return int(next(iter(self.by_name.values())).shape[0])

    def write_report(self, path: Path, model: Any, **details: Any) -> None:
        """Write a report on a model of these data."""
        from anchorview.report import write_fit_report

        report_progress("drawing", 0, 1)
        # Views that are too large for memory are not drawn.
        details |= {"target": self.target, "sample_ids": self.ids, "name": self.name, **self.shown}
        write_fit_report(path, model, self.in_memory, **details)


@dataclass(frozen=True)
class TableOptions:
    """Options on which views are read, on the layout of tables, and on missing rows."""

    zero_rows_missing: Annotated[
        bool, option("Treat a row of zeros as a sample without this view.", "--zero-rows-missing")
    ] = False
    no_id_column: Annotated[
        bool,
        option(
            "CSV and Parquet files have no sample ids in the first column; match rows by position.",
            "--no-id-column",
        ),
    ] = False
    no_header: Annotated[
        bool, option("CSV files have no header with the names of the columns.", "--no-header")
    ] = False
    view: Annotated[
        list[str] | None,
        option(
            "Matrix of an .h5ad or .h5mu file that is a view: X, layer:NAME or obsm:NAME, and "
            "features selected by a column of var, as in rna=X:highly_variable; or table of a "
            "folder, as in rna=rna.csv. Repeat for each view.",
            metavar="NAME=MATRIX",
            default="X of each modality, all tables",
        ),
    ] = None

    drop: Annotated[
        list[str] | None,
        option(
            "Column of a table that is left out, in all tables or as table:column. Repeat for each "
            "column.",
            metavar="COLUMN",
            default=False,
        ),
    ] = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `read_views` and `open_views`."""
        views = parse_pairs(self.view, "--view")
        layout = {"id_column": not self.no_id_column, "header": not self.no_header}
        return {**layout, "views": views, "drop": tuple(self.drop or ())}


@dataclass(frozen=True)
class ReadingOptions(TableOptions):
    """Options on how data with classes are read."""

    class_labels: Annotated[
        str | None,
        option(
            "Variable, column or key of obs with the known classes, used only for scores.",
            "--labels",
            metavar="NAME",
            default="y, gt, labels or a similar name",
        ),
    ] = None

    categorical: Annotated[
        list[str] | None,
        option(
            "Column of a table that is a category, such as a code that is a number; named as for "
            "--drop.",
            metavar="COLUMN",
            default=False,
        ),
    ] = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `read_views` and `open_views`."""
        categorical = tuple(self.categorical or ())
        return {**super().arguments, "labels": self.class_labels, "categorical": categorical}

    def is_large(self, path: Path, memory_limit: str | None = None) -> bool:
        """Whether data can be read in parts, and are too large to be read as a whole.

        Tables that have the class labels in a column are read as a whole.
        """
        from anchorview._utils.memory import memory_budget
        from anchorview.datasets import open_views
        from anchorview.datasets.file_contents import data_file_errors
        from anchorview.datasets.reading import find_format

        budget = memory_budget(memory_limit)
        with data_file_errors(path):
            format_ = find_format(path)
        if format_ is None or format_.open is None or (self.class_labels and format_.by_id):
            return False
        views: Any = open_views(path, **self.arguments).views.values()
        return bool(sum(view.nbytes for view in views) > DATA_SHARE * budget)

    def load(self, path: Path, batch: Path | None = None, *, on_disk: bool) -> LoadedData:
        """Read data into memory, or open them on disk."""
        from anchorview.datasets import open_views, read_views
        from anchorview.views.container import MultiViewData

        views: Any
        if on_disk:
            if self.zero_rows_missing:
                raise ValueError(
                    "--zero-rows-missing needs the data in memory. Convert them with 'anchorview "
                    "convert --zero-rows-missing' first, and pass the new folder."
                )
            views = file = open_views(path.resolve(), **self.arguments)
            ids = file.sample_ids
            for view in views.views.values():
                ids = view.ids(slice(None)) if ids is None else ids
        else:
            file = read_views(path, zero_rows_missing=self.zero_rows_missing, **self.arguments)
            views = MultiViewData(file)
            ids = file.sample_ids
        by_sample = {}
        if batch is not None:
            batches = _read_batch(batch, ids)
            if on_disk:
                by_sample = {"batch": batches}
            else:
                try:
                    views = MultiViewData(views, batch=batches)
                except ValueError as error:
                    raise ValueError(f"{batch}: {error}") from error
        # Tables have names by which a model finds its views.
        selection = None if path.is_dir() else self.arguments["views"]
        return LoadedData(views, file.target, ids, path.name, selection, by_sample)

    def load_for(self, path: Path, model: Any, batch: Path | None = None) -> LoadedData:
        """Load data for a fitted model, with the matrices on which it was fitted."""
        from anchorview.datasets.reading import find_format
        from anchorview.views.stored_anndata import modality_names

        reading, selection = self, model.view_selection_
        format_ = find_format(path)
        if not self.view and selection is not None and format_ is not None and format_.selects:
            known = selection if path.suffix.lower() == ".h5ad" else modality_names(path)
            pairs = [f"{name}={matrix}" for name, matrix in selection.items() if name in known]
            reading = replace(self, view=pairs)
        return reading.load(path, batch, on_disk=reading.is_large(path))


@dataclass(frozen=True)
class MetadataOptions:
    """Options on a table with what is known about the samples, for the report."""

    metadata: Annotated[
        Path | None,
        option(
            "Table of other variables (.csv, .tsv or .parquet), for --report: which of them differ "
            "between clusters. Its first column has the sample ids, if the data have any.",
            metavar="FILE",
            default=False,
        ),
    ] = None
    texts: Annotated[
        str | None,
        option("Column of --metadata with texts for the report.", metavar="COLUMN", default=False),
    ] = None
    thumbnails: Annotated[
        str | None,
        option(
            "Column of --metadata with image files for the report, relative to its folder.",
            metavar="COLUMN",
            default=False,
        ),
    ] = None

    @property
    def inputs(self) -> dict[str, Path]:
        """The file, which outputs may not replace."""
        return {} if self.metadata is None else {"--metadata": self.metadata}

    def require_report(self, report: Path | None) -> None:
        """Raise if nothing would be done with the options."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if given and (report is None or self.metadata is None):
            needed = "--report" if self.metadata is not None else "--metadata"
            raise ValueError(f"--{next(iter(given))} needs {needed} FILE.")

    def added_to(self, data: LoadedData) -> LoadedData:
        """Data with what the report shows of their samples."""
        if self.metadata is None:
            return data
        from anchorview._utils.errors import DataFileError
        from anchorview.datasets.file_contents import ReadOptions
        from anchorview.datasets.formats.table_folder import read_table

        path = self.metadata
        table = read_table(path, ReadOptions(id_column=data.ids is not None), path.stem)
        if data.ids is not None:
            table.index = _ids_like(table.index, data.ids)
            if not table.index.isin(data.ids).any():
                raise DataFileError(
                    f"{path}: the first column has none of the sample ids of the data, but "
                    f"{table.index[0]!r}, for example; the data have {data.ids[0]!r}."
                )
        elif len(table) != len(data):
            raise DataFileError(
                f"{path} has {len(table)} rows, but there are {len(data)} samples, which have no "
                "ids. Give a row per sample, in the same order."
            )
        shown: dict[str, Any] = {}
        for name, column in {"texts": self.texts, "thumbnails": self.thumbnails}.items():
            if column is None:
                continue
            if column not in table:
                raise ValueError(
                    f"--{name}: {path} has no column {column!r}, but {', '.join(table.columns)}."
                )
            shown[name] = table[column]
        if self.thumbnails is not None:
            folder = path.resolve().parent
            shown["thumbnails"] = shown["thumbnails"].map(folder.joinpath, na_action="ignore")
        variables = table.drop(columns=list({self.texts, self.thumbnails} - {None}))
        shown |= {"metadata": variables} if variables.shape[1] else {}
        return replace(data, shown=shown)


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
    from anchorview.datasets.file_contents import ReadOptions
    from anchorview.datasets.formats.table_folder import read_table

    table = read_table(path, ReadOptions(id_column=False))
    if table.shape[1] == 1:
        return table.iloc[:, 0].to_numpy()
    if table.shape[1] != 2 or ids is None:
        known = "no sample ids" if ids is None else "sample ids"
        raise DataFileError(
            f"{path} has {table.shape[1]} columns, and the data have {known}. Give a header and "
            "one column with the batches in the order of the samples, or two, of which the first "
            "has the sample ids of the data."
        )
    return pd.Series(table.iloc[:, 1].to_numpy(), index=_ids_like(table.iloc[:, 0], ids))


def _ids_like(keys: Any, ids: "pd.Index[Any]") -> "pd.Index[Any]":
    """Ids of a table; those that are numbers in the data are numbers here too."""
    import pandas as pd

    numbers = pd.api.types.is_integer_dtype(ids.dtype)
    return pd.Index(pd.to_numeric(keys, errors="coerce") if numbers else keys.astype(str))
