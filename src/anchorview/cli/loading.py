"""Data of the commands: options on how to read files, and what is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview._utils.errors import DataFileError
from anchorview._utils.progress import report_progress
from anchorview.cli.options import option, parse_pairs

if TYPE_CHECKING:
    import pandas as pd

    from anchorview.views.container import MultiViewData
    from anchorview.views.stored_view import ViewFile

DATA_SHARE = 0.25
"""Share of the memory budget that data in memory may take; a fit needs several times their size."""


@dataclass(frozen=True, eq=False)
class LoadedData:
    """A file of views, in memory or opened on disk, and what is known about its samples."""

    file: "ViewFile"
    batch: Any = None
    known: Any = None
    weights: Any = None
    shown: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the report with what is known about the samples."""

    @property
    def on_disk(self) -> bool:
        """Whether the views are on disk."""
        from anchorview.views.stored_view import StoredView

        return any(isinstance(view, StoredView) for view in self.file.views.values())

    @property
    def views(self) -> "MultiViewData | ViewFile":
        """Views on disk, or in memory with batches and weights."""
        from anchorview.views.container import MultiViewData

        if self.on_disk:
            return self.file
        return MultiViewData(self.file, batch=self.batch, sample_weight=self.weights)

    @property
    def ids(self) -> "pd.Index[Any] | None":
        """Sample ids; those of tables on disk are read."""
        ids = self.file.sample_ids
        stored: Any = self.file.views.values() if self.on_disk else ()
        read = (view.ids(slice(None)) for view in stored)
        return next((each for each in read if each is not None), None) if ids is None else ids

    def __len__(self) -> int:
        return int(next(iter(self.file.views.values())).shape[0])

    def scores(self, labels: Any) -> dict[str, float]:
        """Scores of labels, if classes are known."""
        from anchorview.metrics import clustering_scores

        target = self.file.target
        return {} if target is None else clustering_scores(target, labels)

    def write_report(self, path: Path, model: Any, **details: Any) -> None:
        """Write a report on a model of these data."""
        from anchorview.report import write_fit_report

        report_progress("drawing", 0, 1)
        # Views that are too large for memory are not drawn.
        views = None if self.on_disk else self.views
        details |= {"target": self.file.target, "sample_ids": self.ids, **self.shown}
        write_fit_report(path, model, views, name=self.file.path.name, **details)


def _table(description: str, *names: str, **rest: Any) -> Any:
    return option(description, *names, panel="Tables", **rest)


def _report(description: str, *names: str, **rest: Any) -> Any:
    return option(description, *names, panel="Report", **rest)


@dataclass(frozen=True)
class TableOptions:
    """Options on which views are read, on the layout of tables, and on missing rows."""

    views: list[str] | None = option(
        "Matrix of an .h5ad or .h5mu file that is a view: X, layer:NAME or obsm:NAME, and features "
        "selected by a column of var (rna=X:highly_variable); or a table of a folder "
        "(rna=rna.csv), or columns of a single table (price=p1,p2 and rest=...). Repeat for each "
        "view.",
        "--view",
        metavar="VIEW=MATRIX",
        panel="Views",
    )
    drop: list[str] | None = _table("Column to leave out.", metavar="[TABLE:]COLUMN")
    no_id_column: bool = _table(
        "Tables have no sample ids in the first column; match rows by position.",
        "--no-id-column",
        default=False,
    )
    no_header: bool = _table("CSV files have no names of columns.", "--no-header", default=False)
    sep: str | None = _table("Separator in CSV files; detected by default.", metavar="TEXT")
    decimal: str | None = _table("Decimal mark in CSV files; detected by default.", metavar="TEXT")
    encoding: str | None = _table("Encoding of CSV files; detected by default.")
    dates: str | None = _table(
        "Form of dates in CSV files, such as %d.%m.%Y; detected by default.", metavar="FORMAT"
    )
    na_values: list[str] | None = _table("Text in CSV files for missing values.", metavar="TEXT")
    zero_rows_missing: bool = _table(
        "A row of zeros is a sample without this view.", "--zero-rows-missing", default=False
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `read_views`, apart from those on missing rows."""
        names = ("sep", "decimal", "encoding", "dates", "na_values")
        given = {name: value for name in names if (value := getattr(self, name))}
        return {
            "id_column": not self.no_id_column,
            "header": not self.no_header,
            "csv": given or None,
            "views": parse_pairs(self.views, "--view", _matrix_or_columns),
            "drop": tuple(self.drop or ()),
        }


def _matrix_or_columns(text: str) -> str | tuple[str, ...]:
    return tuple(text.split(",")) if "," in text else text


@dataclass(frozen=True)
class ReadingOptions(TableOptions):
    """Options on how data with classes are read."""

    labels: str | None = option(
        "Name of the known classes, for scores only; y, gt, labels or a similar one by default."
    )
    categorical: list[str] | None = _table("Column of numbers that are codes.", metavar="COLUMN")

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `read_views`, apart from those on missing rows."""
        categorical = tuple(self.categorical or ())
        return {**super().arguments, "labels": self.labels, "categorical": categorical}

    def load(
        self,
        path: Path,
        batch: Path | None = None,
        memory_limit: str | None = None,
        *,
        weights: str | None = None,
        on_disk: bool = False,
    ) -> LoadedData:
        """Read data, or open large ones on disk; `weights` is a file, or the name of a column."""
        if weights is not None and not Path(weights).is_file():
            column, reading = self._column(path, weights, on_disk=on_disk)
            data = reading.load(path, batch, memory_limit, on_disk=on_disk)
            return replace(data, weights=column)
        from anchorview._utils.memory import memory_budget
        from anchorview.datasets import open_views
        from anchorview.datasets.file_contents import ReadOptions
        from anchorview.datasets.reading import read_or_open

        zeros = self.zero_rows_missing
        if on_disk:
            file = open_views(path, **self.arguments)
        else:
            given, budget = ReadOptions(**self.arguments), DATA_SHARE * memory_budget(memory_limit)
            file = read_or_open(path, given, budget, zero_rows_missing=zeros)
        data = LoadedData(file)
        if zeros and data.on_disk:
            raise ValueError(
                "--zero-rows-missing needs the data in memory. Convert them with 'anchorview "
                "convert --zero-rows-missing' first, and pass the new folder."
            )
        if weights is not None:
            data = replace(data, weights=_read_column(Path(weights), data, "weights"))
        return data if batch is None else replace(data, batch=_read_column(batch, data, "batches"))

    def _column(self, path: Path, name: str, *, on_disk: bool) -> "tuple[Any, ReadingOptions]":
        """Column of obs or of a table, and options by which it is no feature."""
        if Path(path).suffix.lower() not in (".h5ad", ".h5mu"):
            column = replace(self, labels=name).load(path, on_disk=on_disk).file.target
            return column, replace(self, drop=[*(self.drop or ()), name])
        from anchorview.views.stored_anndata import StoredCells

        cells = StoredCells(Path(path))
        if name not in cells.obs_columns:
            known = ", ".join(cells.obs_columns)
            raise ValueError(f"{path}: obs has no column {name!r}, only {known}.")
        return cells.obs_column(name), self

    def load_for(self, model: Any, path: Path, batch: Path | None = None) -> LoadedData:
        """Load data for a fitted model, with the matrices on which it was fitted."""
        from anchorview.views.stored_anndata import modality_names

        fitted, suffix = model.view_selection_, Path(path).suffix.lower()
        if self.views or fitted is None or suffix not in (".h5ad", ".h5mu"):
            return self.load(path, batch)
        known = fitted if suffix == ".h5ad" else modality_names(path)
        pairs = [f"{name}={matrix}" for name, matrix in fitted.items() if name in known]
        return replace(self, views=pairs).load(path, batch)


@dataclass(frozen=True)
class MetadataOptions:
    """Options on a table with what is known about the samples, for the report."""

    metadata: Path | None = _report(
        "Table of other variables (.csv, .tsv, .parquet or .xlsx): which of them differ between "
        "clusters. Its first column has the sample ids, if the data have any."
    )
    texts: str | None = _report("Column of --metadata with texts.")
    thumbnails: str | None = _report(
        "Column of --metadata with image files, relative to its folder."
    )

    def require_report(self, report: Path | None) -> None:
        """Raise if nothing would be done with the options."""
        given = [name for name, value in vars(self).items() if value is not None]
        if given and (report is None or self.metadata is None):
            needed = "--report" if self.metadata is not None else "--metadata"
            raise ValueError(f"--{given[0]} needs {needed} FILE.")

    def added_to(self, data: LoadedData) -> LoadedData:
        """Data with what the report shows of their samples."""
        if self.metadata is None:
            return data
        table = _rows_by_sample(self.metadata, data, data.ids, self.metadata.stem)
        named = {"texts": self.texts, "thumbnails": self.thumbnails}
        given = {name: column for name, column in named.items() if column is not None}
        for name, column in given.items():
            if column not in table:
                known = ", ".join(table.columns)
                raise ValueError(
                    f"--{name}: {self.metadata} has no column {column!r}, but {known}."
                )
        shown: dict[str, Any] = {name: table[column] for name, column in given.items()}
        if self.thumbnails is not None:
            folder = self.metadata.resolve().parent
            shown["thumbnails"] = shown["thumbnails"].map(folder.joinpath, na_action="ignore")
        variables = table.drop(columns=list(given.values()))
        return replace(data, shown=shown | ({"metadata": variables} if variables.size else {}))


def load_model(path: Path) -> Any:
    """Load a saved model that can label samples."""
    from anchorview import load

    model = load(path)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is an ablation, which cannot label new samples.")
    return model


def _rows_by_sample(
    path: Path, data: LoadedData, ids: "pd.Index[Any] | None", name: str | None = None
) -> "pd.DataFrame":
    """Rows by the ids in the first column or, without ids, by position; without a name, texts."""
    import pandas as pd

    from anchorview.datasets.file_contents import ReadOptions
    from anchorview.datasets.formats.table_files import read_table

    table = read_table(path, ReadOptions(id_column=ids is not None), name)
    if ids is None:
        if len(table) != len(data):
            raise DataFileError(
                f"{path} has {len(table)} rows, but there are {len(data)} samples. Give a row per "
                "sample, in the same order."
            )
        return table
    # Ids that are numbers in the data are numbers here too.
    if pd.api.types.is_integer_dtype(ids.dtype):
        keys: Any = table.index
        table.index = pd.to_numeric(keys, errors="coerce")
    if not table.index.isin(ids).any():
        raise DataFileError(
            f"{path}: the first column has none of the sample ids of the data, but "
            f"{table.index[0]!r}, for example; the data have {ids[0]!r}."
        )
    return table


def read_known(path: Path, data: LoadedData) -> Any:
    """Classes in a file, by sample id or position; as numbers if all of them are."""
    import pandas as pd

    known = pd.Series(_read_column(path, data, "classes", positions=True))
    numbers = pd.to_numeric(known, errors="coerce")
    return numbers if numbers.notna().equals(known.notna()) else known


def _read_column(path: Path, data: LoadedData, what: str, *, positions: bool = False) -> Any:
    """Values by position, or by the ids before them, which may be `positions` if there are none."""
    import pandas as pd

    from anchorview.datasets.file_contents import ReadOptions
    from anchorview.datasets.formats.table_files import read_table

    alone = read_table(path, ReadOptions(id_column=False)).shape[1] == 1
    ids = pd.RangeIndex(len(data)) if positions and data.ids is None else data.ids
    table = _rows_by_sample(path, data, None if alone else ids)
    if table.shape[1] != 1:
        known = "no sample ids" if ids is None else "sample ids"
        raise DataFileError(
            f"{path} has {table.shape[1]} columns with {what}, and the data have {known}. Give a "
            f"header and one column with the {what} in the order of the samples, or sample ids and "
            f"{what}."
        )
    return table.iloc[:, 0].to_numpy() if alone else table.iloc[:, 0]
