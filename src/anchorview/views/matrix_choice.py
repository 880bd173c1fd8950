"""Which matrix of an AnnData object is a view, as users write it: ``obsm:X_pca``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GRAMMAR = (
    "Give 'X', 'layer:NAME' or 'obsm:NAME'; a column of var that selects features follows X or a "
    "layer, as in 'X:highly_variable' or 'layer:NAME:highly_variable'"
)

ViewSelection = Mapping[str, str]
"""By name of a view, the matrix that it is."""


@dataclass(frozen=True)
class MatrixChoice:
    """A matrix of an AnnData object, and the features of it that are used."""

    place: Literal["X", "layer", "obsm"] = "X"
    name: str | None = None
    """Name of the layer or of the entry of obsm."""
    mask: str | None = None
    """Column of var that is True for the features that are used; None if all are."""

    @classmethod
    def parse(cls, text: object, view: str) -> "MatrixChoice":
        """Choice that a text describes; `view` is the name of the view, for messages."""
        if isinstance(text, str):
            place, *rest = text.split(":")
            if all(rest) and place == "X" and len(rest) <= 1:
                return cls("X", None, rest[0] if rest else None)
            if all(rest) and place == "layer" and 1 <= len(rest) <= 2:
                return cls("layer", rest[0], rest[1] if len(rest) == 2 else None)
            if all(rest) and place == "obsm" and len(rest) == 1:
                return cls("obsm", rest[0])
        raise ValueError(f"View {view!r} cannot be {text!r}. {GRAMMAR}.")


def parse_selection(selection: object) -> dict[str, MatrixChoice]:
    """Choices by name of the view; raises if the argument `views` is not such a dict."""
    if not isinstance(selection, Mapping) or not selection:
        raise TypeError(
            "views must be a dict of at least one view, such as {'rna': 'obsm:X_pca', 'protein': "
            f"'X'}}; got {selection!r}. {GRAMMAR}."
        )
    unnamed = [name for name in selection if not isinstance(name, str)]
    if unnamed:
        raise TypeError(f"views must have names (strings) as keys; got {unnamed[0]!r}.")
    return {name: MatrixChoice.parse(text, name) for name, text in selection.items()}
