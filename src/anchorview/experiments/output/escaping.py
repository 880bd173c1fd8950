"""Names of data sets and other words in files of several kinds, and in names of files."""

import re
from collections.abc import Iterable

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    # At the start of a row they would be taken as arguments of the end of the row before.
    "[": "{[}",
    "*": "{*}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    Examples
    --------
    >>> print(latex_escaped("50 % of a_b & c"))
    50 \% of a\_b \& c
    """
    return "".join(_LATEX.get(mark, mark) for mark in _one_line(text))


def markdown_escaped(text: str) -> str:
    r"""Text that GitHub's Markdown shows as it is, in cells of tables too.

    Examples
    --------
    >>> print(markdown_escaped("<b> a|b_c"))
    &lt;b&gt; a\|b\_c
    """
    safe = _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", safe)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Part of a file's name for each name, of safe characters only and no two alike.

    Examples
    --------
    >>> file_names(["digits", "my data", "my/data"])
    {'digits': 'digits', 'my data': 'my-data', 'my/data': 'my-data-2'}
    """
    result: dict[str, str] = {}
    for name in dict.fromkeys(names):
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "data"
        taken, number, unique = set(result.values()), 2, stem
        while unique in taken:
            unique, number = f"{stem}-{number}", number + 1
        result[name] = unique
    return result


def _one_line(text: str) -> str:
    return " ".join(text.split())
