"""Samples that are never in memory as a whole: work is brought to parts of them."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anchorview._utils.typing import Array
from anchorview.core.embedded_rows import EmbeddedRows, Result
from anchorview.views.container import MultiViewData, ViewsSchema, require_width

if TYPE_CHECKING:
    import pandas as pd


class Results(EmbeddedRows, Protocol):
    """The embedding of all samples, and a place for their labels."""

    def label(self, function: Callable[[Array], Array]) -> None:
        """Label all rows by a function of a block of them."""

    embedding: Any
    """The embedding in the form that the source gives it back; complete after the context."""
    labels: Any
    """The labels, likewise."""


class RowSource(ViewsSchema):
    """Views whose samples come in parts, each a small container in memory.

    Attributes
    ----------
    sample_ids : pandas.Index or None
    budget : float
        Bytes that this process may use.
    complete : bool
        Whether a pass found all views of all samples, so that later ones need not look again.
    """

    sample_ids: "pd.Index[Any] | None" = None
    budget: float
    complete: bool = False

    def __repr__(self) -> str:
        widths = zip(self.names, self.n_features_per_view, strict=True)
        parts = ", ".join(f"{name}: {width} features" for name, width in widths)
        return f"{type(self).__name__}({len(self)} samples, {parts})"

    @abstractmethod
    def memory_needed(self, columns: int | None) -> float:
        """Bytes that a fit takes in this process; raises if they may not be used.

        Results have so many columns (None: they are written to files).
        """

    @abstractmethod
    def reduce(
        self,
        function: Callable[[MultiViewData], Result],
        merge: Callable[[Result, Result], Result],
        stage: str,
    ) -> Result:
        """``function`` of all parts, merged; `stage` names the work in progress reports."""

    @abstractmethod
    def mapped(
        self,
        function: Callable[[MultiViewData], Array],
        width: int | None,
        dtype: Any,
        stage: str,
        out: Path | None,
    ) -> Any:
        """Rows that a function makes of the samples, `width` columns each (None: a vector).

        In the form that the source gives them back, or in the file `out`.
        """

    @abstractmethod
    def embedded(
        self, embed: Callable[[MultiViewData], Array], width: int, out: Path | None
    ) -> AbstractContextManager[Results]:
        """Embed all samples; what is in the folder `out` is replaced at the end of the context."""

    @abstractmethod
    def require_place(self, out: Path) -> None:
        """Raise if results cannot be written to a folder, or would replace what is read."""

    @abstractmethod
    def in_memory(self) -> MultiViewData:
        """All samples, read; raises if they do not fit."""

    def require_like(self, names: tuple[str, ...], widths: tuple[int, ...], estimator: str) -> None:
        """Raise unless the views are those that an estimator was fitted on, or some of them."""
        for p, own in enumerate(self.positions_of(names, estimator)):
            if own is not None and (width := self.n_features_per_view[own]):
                require_width(p, names, width, widths[p], estimator)
