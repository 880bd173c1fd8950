"""How the stages see samples: as parts, wherever these are."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

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
