"""Pages of the repository that are outside of ``docs`` become pages of the site.

They stay where readers of the repository look for them, and are copied at the start of a build.
Links between all pages are those that work in the repository, and are translated here.
"""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIED = {
    ROOT / "CONTRIBUTING.md": DOCS / "contributing.md",
    ROOT / "CHANGELOG.md": DOCS / "changelog.md",
    ROOT / "SECURITY.md": DOCS / "security.md",
    **{
        page: DOCS / "measurements" / page.name
        for page in sorted((ROOT / "benchmarks").glob("*.md"))
    },
}
MOVED = {
    **COPIED,
    ROOT / "README.md": DOCS / "index.md",
    ROOT / "benchmarks": DOCS / "measurements/index.md",
}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")


def translated(text: str, original: Path, page: Path) -> str:
    """The text with links from the original place that hold at the place of the page."""

    def link(match: re.Match[str]) -> str:
        target = (original.parent / match[1]).resolve()
        target = MOVED.get(target, target)
        return f"]({os.path.relpath(target, page.parent)}{match[2] or ''})"

    return LINK.sub(link, text)


def copy_pages(app: Sphinx) -> None:
    """Write the pages into ``docs``, each with a title."""
    for original, page in COPIED.items():
        text = original.read_text(encoding="utf-8")
        if not text.startswith("# "):
            title = original.stem.replace("_", " ").capitalize()
            text = f"# {title}\n\n{text}"
        page.parent.mkdir(exist_ok=True)
        text = translated(text, original, page)
        # Pages that did not change are not rendered again.
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def translate_links(app: Sphinx, docname: str, content: list[str]) -> None:
    """Translate the links of pages that are written in ``docs``."""
    page = DOCS / f"{docname}.md"
    if page.exists() and page not in COPIED.values():
        content[0] = translated(content[0], page, page)
    # Summaries that experiments write are reached by links only.
    if docname.startswith("experiments/"):
        content[0] = f"---\norphan: true\n---\n{content[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", translate_links)
    return {"parallel_read_safe": True}
