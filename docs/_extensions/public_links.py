"""Public names in the text link to the reference: `DALMC` in any page, without markup."""

import ast
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import anchorview
from anchorview import compared, inspection, metrics, plotting

MODULES = (anchorview, compared, inspection, metrics, plotting)
NAMES = {name: f"{module.__name__}.{name}" for module in MODULES for name in module.__all__}
"""Where each name is in the reference. Longer names, with their module, need no entry."""
UNLINKED = (nodes.title, nodes.reference, nodes.term, addnodes.pending_xref, addnodes.desc)


def target_of(code: str) -> str | None:
    """Name in the reference of an expression such as ``DALMC`` or ``anchorview.metrics.purity``."""
    try:
        expression = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    match expression:
        case ast.Name(name) if name != "load":
            return NAMES.get(name)
        case ast.Attribute() if code.startswith("anchorview."):
            return code
        case _:
            return None


class PublicLinks(SphinxTransform):
    """Wrap inline code that is a public name into a reference to it."""

    default_priority = 400

    def apply(self, **options: Any) -> None:
        """Look at the pages of the guide; the reference is linked already."""
        if self.env.docname.startswith(("reference/", "gallery/", "changelog")):
            return
        for literal in list(self.document.findall(nodes.literal)):
            target = target_of(literal.astext())
            if target is None or any(isinstance(node, UNLINKED) for node in ancestors(literal)):
                continue
            link = addnodes.pending_xref(
                refdomain="py", reftype="obj", reftarget=target, refdoc=self.env.docname
            )
            literal.replace_self(link)
            link += literal


def ancestors(node: nodes.Node) -> Any:
    """Parents of a node, from the nearest."""
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.add_transform(PublicLinks)
    return {"parallel_read_safe": True}
