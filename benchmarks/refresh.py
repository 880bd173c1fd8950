"""Which measurements on the pages are older than the code that they measure.

    python benchmarks/refresh.py [--list]

A page says when, on what and by what command its figures were measured: "measured 2026-11-17 on 2
cores of an Intel Xeon by `python benchmarks/core.py`". `--list` prints a table of these sentences
with the date of the last commit to the code that the command measures; without it, the commands
that are due are printed.
"""

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

SENTENCE = re.compile(
    r"\bmeasured\s+(?P<date>\d{4}-\d\d-\d\d)\s+on\s+(?P<machine>[^`.]+?)\s+by\s+`(?P<command>[^`]+)`",
    re.IGNORECASE,
)

WRITTEN = ("_build", "experiments", "gallery", "generated")
"""Folders of docs that programs write."""

FIT = ("core", "sources", "estimators/dalmc.py", "views")
AUTO = (*FIT, "estimators/auto")
METHODS = (*AUTO, "compared")
SUITES = (*METHODS, "experiments")

MEASURED_CODE = {
    "auto": AUTO,
    "compared": METHODS,
    "core": FIT,
    "fuzz_files": ("datasets", "estimators/persistence"),
    "incomplete": FIT,
    "inspection": (*FIT, "inspection"),
    "labels_few": (*AUTO, "inspection/asking.py"),
    "omics": (*AUTO, "preprocessing", "scverse"),
    "planted": AUTO,
    "quality": FIT,
    "reduction": ("distributed.py", "sources"),
    "scaling": (*AUTO, "datasets", "distributed.py"),
    "structure": AUTO,
    "tables": (*AUTO, "preprocessing"),
    "wide": AUTO,
}
"""Files and folders of the package that each script measures."""


class Measurement(NamedTuple):
    """A sentence of a page."""

    page: str
    line: int
    date: str
    command: str


def pages() -> list[Path]:
    """Pages with measurements."""
    docs = (page for page in (ROOT / "docs").rglob("*.md") if not {*page.parts} & {*WRITTEN})
    return [ROOT / "README.md", *sorted(docs), *sorted((ROOT / "benchmarks").glob("*.md"))]


def measurements(page: Path) -> Iterator[Measurement]:
    """Sentences of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in SENTENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        command = " ".join(found["command"].split())
        yield Measurement(str(page.relative_to(ROOT)), line, found["date"], command)


def measured_code(command: str) -> tuple[str, ...]:
    """Files and folders of the package that a command measures; KeyError if it is not known."""
    if command.startswith("anchorview experiment run"):
        return SUITES
    script = re.match(r"python benchmarks/(\w+)\.py\b", command)
    return MEASURED_CODE[script[1] if script else command]


def last_commit(code: tuple[str, ...]) -> str:
    """Date of the last commit to files and folders of the package."""
    paths = [f"src/anchorview/{path}" for path in code]
    git = ["git", "log", "-1", "--format=%cs", "--", *paths]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print all measurements")
    options = parser.parse_args()
    due = {}
    for found in (each for page in pages() for each in measurements(page)):
        changed = last_commit(measured_code(found.command))
        state = "older than the code" if found.date < changed else "current"
        if options.list:
            place = f"{found.page}:{found.line}"
            print(f"{place:36} {found.date}  code {changed}  {state:20} {found.command}")
        elif state != "current":
            due[found.command] = None
    print(*due, sep="\n", end="\n" if due else "")


if __name__ == "__main__":
    main()
