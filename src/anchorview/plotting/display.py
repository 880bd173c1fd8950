"""Decorator of the displays, and docstring fragments that they share."""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

from anchorview._utils.docstring_fragments import docstring_filler

Display = TypeVar("Display")

FRAGMENTS = {
    "ax": """\
ax : matplotlib Axes, default=None
    Axes to draw on; if None, new ones.""",
    "axes": """\
ax_ : matplotlib Axes
    Axes that were drawn on.
figure_ : matplotlib Figure
    Figure of the axes.""",
    "display": """\
Returns
-------
display : {display}""",
    "drawing": """\
ax : matplotlib Axes, default=None
    Axes to draw on; if None, new ones.
**plot_kw : dict
    Other parameters of :meth:`plot`.

Returns
-------
display : {display}""",
}


@dataclass_transform(eq_default=False)
def display(cls: type[Display]) -> type[Display]:
    """Make annotated attributes parameters, and fill in docstrings of a display and its methods."""
    fragments = {name: text.replace("{display}", cls.__name__) for name, text in FRAGMENTS.items()}
    fill = docstring_filler(fragments)
    cls = dataclass(eq=False, repr=False)(cls)
    for member in (cls, *vars(cls).values()):
        documented = getattr(member, "__func__", member)
        if callable(documented):
            fill(documented)
    return cls
