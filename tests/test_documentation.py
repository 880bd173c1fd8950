"""The documentation holds: code blocks run, commands and options exist, links lead to files."""

import re
import shlex
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer.main
import yaml

import anchorview
import anchorview.compared
from anchorview.cli import commands

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md"))]

# A block after this comment, which gives the reason, is not run.
NOT_RUN = re.compile(r"<!-- not run: \w.* -->\n+$")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROGRAMS = {"pre-commit", "pytest", "ruff", "mypy"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


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
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
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
            assert job in {"demo", "test"}
        case ["python" | "python3", script, *_]:
            assert (ROOT / script).is_file(), script
        case ["pip", "install", *_, target]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            extras = re.findall(r"\w+", target)
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
            assert (page.parent / target.partition("#")[0]).exists(), target


@every_page
def test_names_of_the_package_exist(page):
    for code in inline_code(page):
        if name := re.match(r"anchorview(\.\w+)+", code):
            resolve_name(name[0])


def test_index_links_every_page():
    index = ROOT / "docs" / "index.md"
    for page in ROOT.glob("docs/*.md"):
        assert page == index or f"]({page.name})" in index.read_text()


@pytest.mark.parametrize("name", [*anchorview.__all__, *anchorview.compared.__all__])
def test_public_names_are_documented(name):
    guide = "".join(page.read_text() for page in PAGES if page.parent.name == "docs")
    assert re.search(rf"\b{name}\b", guide)


def test_readme_is_short_and_starts_with_the_picture():
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert any("docs/images/report.png" in line for line in lines[:20])


def test_citation_file_has_the_required_keys():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    for entry in (citation, *citation["references"]):
        assert entry["title"] and entry["authors"]


def test_newest_release_in_the_changelog_is_the_version():
    releases = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == anchorview.__version__
