"""Excel workbooks with a table per sheet. Needs python-calamine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview.datasets.file_contents import ReadOptions
from anchorview.datasets.formats.table import CODE, Table

EXCEL_SUFFIX = ".xlsx"


class SheetTable(Table):
    """A sheet of a workbook."""

    def __init__(self, path: Path, name: str, options: ReadOptions, cells: pd.DataFrame) -> None:
        super().__init__(path, name, options)
        self.title, self.subject = f"{path.name}, sheet {name!r}", f"{path}: sheet {name!r}"
        self._cells = cells.dropna(how="all", ignore_index=True)

    @property
    def columns(self) -> list[Any]:
        """Names of all columns."""
        return list(self._cells.columns)

    def _frames(self, view: str | None, block_bytes: int | None) -> Iterator[pd.DataFrame]:
        position = self.options.id_position(self.columns)
        cells = self._cells if view is None else self._cells.infer_objects()
        frame = cells if position is None else cells.set_index(self.columns[position])
        frame = frame.set_axis(self.features, axis=1)
        for name, column in frame.items() if view is not None else ():
            texts = column.reset_index(drop=True)
            is_text = pd.api.types.infer_dtype(texts) == "string"
            if is_text and not texts.str.fullmatch(CODE).any():
                self.converted(str(name), texts, pd.to_numeric(texts, errors="coerce"), "numbers")
        yield frame


def sheets_of(path: Path, options: ReadOptions) -> dict[str, SheetTable]:
    """Sheets of a workbook that are not empty, by name."""
    optional_import("python_calamine", "Excel files", "excel")
    sheets = pd.read_excel(
        path,
        sheet_name=None,
        header=0 if options.header else None,
        engine="calamine",
        # Cells keep their types, so that a text such as 0012 stays one.
        dtype=object,
        keep_default_na=False,
        na_values=[""],
    )
    return {
        str(name): SheetTable(path, str(name), options, cells)
        for name, cells in sheets.items()
        if len(cells.columns)
    }
