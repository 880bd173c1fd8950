"""Decorator of the displays, and docstring fragments that they share."""

from dataclasses import dataclass
from textwrap import indent
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
    "drawing": """\
ax : matplotlib Axes, default=None
    Axes to draw on; if None, new ones.
**plot_kw : dict
    Other parameters of :meth:`plot`.""",
}


@dataclass_transform(eq_default=False)
def display(cls: type[Display]) -> type[Display]:
    """Make annotated attributes parameters, and fill in docstrings of a display and its methods.

    Methods that draw return the display, as their docstrings then say.
    """
    fill = docstring_filler(FRAGMENTS)
    cls = dataclass(eq=False, repr=False)(cls)
    for name, member in (("", cls), *vars(cls).items()):
        documented = getattr(member, "__func__", member)
        if name == "plot" or name.startswith("from_"):
            text = documented.__doc__.rstrip()
            # Python dedents docstrings from version 3.13 on.
            margin = text.partition("Parameters\n")[0].rpartition("\n")[2]
            returns = f"\n\nReturns\n-------\ndisplay : {cls.__name__}\n"
            documented.__doc__ = text + indent(returns, margin) + margin
        if callable(documented):
            fill(documented)
    return cls
