"""Escaping of text for LaTeX, Markdown, spreadsheets and file names."""

import html
import re
from collections.abc import Iterable

from anchorview._utils.text import may_be_formula

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    # At the start of a row they would be parsed as an argument of the preceding line break.
    "[": "{[}",
    "*": "{*}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")


def latex_escaped(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(mark, mark) for mark in " ".join(text.split()))


def markdown_escaped(text: str) -> str:
    """Escape text for GitHub's Markdown, including cells of tables."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return _MARKDOWN.sub(r"\\\1", safe)


def spreadsheet_escaped(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> spreadsheet_escaped("=1+1"), spreadsheet_escaped("digits"), spreadsheet_escaped("-")
    ("'=1+1", 'digits', '-')
    """
    return f"'{text}" if may_be_formula(text) else text


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Map names to unique parts of file names, of safe characters only."""
    result: dict[str, str] = {}
    for name in dict.fromkeys(names):
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "data"
        taken, number, unique = set(result.values()), 2, stem
        while unique in taken:
            unique, number = f"{stem}-{number}", number + 1
        result[name] = unique
    return result
