"""Docstrings with fragments that several classes or methods share."""

import re
from collections.abc import Callable, Mapping
from inspect import getdoc, signature
from textwrap import indent
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])


def section_of(documented: Any, title: str) -> str:
    """Entries of a section of a docstring, which others share."""
    text = (getdoc(documented) or "").partition(f"{title}\n{'-' * len(title)}\n")[2]
    return re.split(r"\n\n.*\n---", text)[0]


def docstring_filler(fragments: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Return a decorator that replaces lines ``%(name)s`` of a docstring by fragments.

    In a fragment, ``{default}`` is the default value of the parameter that it describes, and
    ``{class}`` the name of the class.
    """

    def fill(documented: Documented) -> Documented:
        parameters = signature(documented).parameters

        def fragment(match: re.Match[str]) -> str:
            text = fragments[match["name"]].replace("{class}", documented.__name__)
            described = parameters.get(text.partition(" : ")[0])
            if described is not None:
                text = text.replace("{default}", repr(described.default).replace("e-0", "e-"))
            return indent(text, match["indent"])

        if documented.__doc__:
            lines = r"(?m)^(?P<indent> *)%\((?P<name>\w+)\)s$"
            documented.__doc__ = re.sub(lines, fragment, documented.__doc__)
        return documented

    return fill
