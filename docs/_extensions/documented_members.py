"""Pages of classes list the methods that users call, and no internals.

Methods without a description of parameters or results are for other modules of the package.
Properties are in the section Attributes of the class.
"""

import re
from typing import Any

from sphinx.application import Sphinx

SECTION = re.compile(r"^\s*(Parameters|Returns|Yields|Examples)\n\s*-", re.MULTILINE)
PROPERTIES = {"labels_series"}
"""Properties that have an entry of their own."""


def skip_member(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip members of classes that are not for users; None leaves the decision to autodoc."""
    if what != "class":
        return None
    if callable(member) or isinstance(member, classmethod | staticmethod):
        return None if SECTION.search(member.__doc__ or "") else True
    return None if name in PROPERTIES else True


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("autodoc-skip-member", skip_member)
    return {"parallel_read_safe": True}
