"""Docstring fragments that the displays share."""

from typing import TypeVar

from anchorview._utils.docstring_fragments import docstring_filler

Display = TypeVar("Display", bound=type)

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


def fill_docstrings(display: Display) -> Display:
    """Replace each line ``%(name)s`` in the docstrings of a display and its methods."""
    fragments = {
        name: text.replace("{display}", display.__name__) for name, text in FRAGMENTS.items()
    }
    fill = docstring_filler(fragments)
    for member in (display, *vars(display).values()):
        documented = getattr(member, "__func__", member)
        if callable(documented):
            fill(documented)
    return display
