"""The documentation holds: code blocks run, commands and options exist, links lead to files."""

import re
import runpy
import shlex
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer.main
import yaml

import anchorview
from anchorview.cli import commands

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
# A build copies pages into the documentation, and experiments write their summaries there.
WRITTEN = ("_build", "experiments", "gallery", "generated")
COPIED = ("contributing.md", "changelog.md", "security.md")
GUIDE = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if not {*page.relative_to(DOCS).parent.parts} & {*WRITTEN}
    and page.name not in COPIED
    and (page.parent.name != "measurements" or page.stem == "index")
]
PAGES = [*sorted(ROOT.glob("*.md")), *GUIDE]

# A block after this comment, which gives the reason, is not run.
NOT_RUN = re.compile(r"<!-- not run: \w.* -->\n+$")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROGRAMS = {"pre-commit", "pytest", "ruff", "mypy"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page, language):
    """Pairs of first line number and code of the blocks to run in a language."""
    text = page.read_text()
    return [
        (text.count("\n", 0, match.start(2)), match[2])
        for match in FENCE.finditer(text)
        if match[1] == language and not NOT_RUN.search(text[: match.start()])
    ]


def inline_code(page):
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text()))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
@pytest.mark.filterwarnings("ignore:::(mudata|anndata|scanpy)\\b")
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for line, code in blocks(page, "python"):
        # The empty lines make tracebacks point to the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


@every_page
def test_commands_exist(page):
    lines = [line for _, code in blocks(page, "sh") for line in code.splitlines()]
    lines += [code for code in inline_code(page) if re.match(r"(anchorview|python3?|pip) ", code)]
    for line in lines:
        require_command(shlex.split(line, comments=True))


def require_command(words):
    match words:
        case []:
            pass
        case ["anchorview", *arguments]:
            require_anchorview_command(arguments)
        case ["python", "-m", "anchorview", *arguments]:
            require_anchorview_command(arguments)
        case ["python3", "dev.py", job]:
            assert job in runpy.run_path(str(ROOT / "dev.py"))["JOBS"]
        case ["python" | "python3", script, *_]:
            assert (ROOT / script).is_file(), script
        case ["pip", "install", *_, target]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            extras = re.findall(r"\w+", target.removeprefix(project["name"]))
            assert set(extras) <= project["optional-dependencies"].keys(), target
        case [program, *_]:
            assert program in PROGRAMS, program


def require_anchorview_command(arguments):
    """Parse the arguments as the command line does, without running the command."""
    command = typer.main.get_command(commands.app)
    while arguments and hasattr(command, "commands") and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.commands[name]
    if arguments and arguments not in (["--help"], ["-h"]):
        command.make_context(command.name, arguments)


@every_page
def test_links_and_images_exist(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            found = source_of(page.parent / path if path else page)
            assert found.exists(), target
            if anchor:
                assert anchor in heading_anchors(found), target


def source_of(path):
    """The file that a path of the repository or of the built site is made from."""
    gallery = DOCS / "gallery"
    if gallery in path.parents:
        example = ROOT / "examples" / path.relative_to(gallery)
        return example.with_suffix(".py") if path.stem != "index" else example.parent
    return path


def heading_anchors(page):
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_names_of_the_package_exist(page):
    for code in inline_code(page):
        if name := re.match(r"anchorview(\.\w+)+", code):
            resolve_name(name[0])


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md", *(DOCS / page for page in COPIED)}
    for page in GUIDE:
        for entries in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", page.read_text(), re.M | re.S):
            names = [line for line in entries.splitlines() if line and not line.startswith(":")]
            listed |= {page.parent / f"{name}.md" for name in names}
    assert set(GUIDE) <= listed


def test_citation_file_and_changelog():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    for entry in (citation, *citation["references"]):
        assert entry["title"] and entry["authors"]
    releases = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == anchorview.__version__
