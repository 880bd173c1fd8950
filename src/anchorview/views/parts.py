"""How the stages see samples: as parts, wherever these are."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from anchorview._utils.typing import Array
from anchorview.views.schema import ViewsSchema

if TYPE_CHECKING:
    from anchorview.views.container import MultiViewData

Result = TypeVar("Result")


class Parts(ViewsSchema):
    """Samples that are processed part by part; a container in memory has one part.

    A stage is a function of a part, which returns a few numbers, and a way to merge these.
    """

    @abstractmethod
    def reduce(
        self,
        function: "Callable[[MultiViewData], Result]",
        merge: Callable[[Result, Result], Result],
        stage: str,
    ) -> Result:
        """``function`` of all parts, merged in order; progress is reported under `stage`."""

    def reduce_as_is(
        self,
        function: "Callable[[MultiViewData], Result]",
        merge: Callable[[Result, Result], Result],
        stage: str,
    ) -> Result:
        """As `reduce`, of samples that need not be fit for a fit: views may be constant."""
        return self.reduce(function, merge, stage)


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Finds some rows of a source in its parts; can be pickled."""

    rows: Array
    """Ascending positions in the source."""

    def __call__(self, part: "MultiViewData") -> "list[MultiViewData]":
        """Those of a part, as a list with one container or without any."""
        first, last = np.searchsorted(self.rows, [part.first_row, part.first_row + len(part)])
        return [part[self.rows[first:last] - part.first_row]] if last > first else []
