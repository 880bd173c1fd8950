"""What a release needs before it is published: run by ``python3 dev.py release-check``.

Builds the distributions, checks metadata, license and size, that every file states the same
version, and that no page names a path of the machine on which it was written.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST_MEGABYTES = {".whl": 3.0, ".gz": 8.0}
"""Maximum sizes of the distributions, by suffix."""

VERSIONS = {
    "src/anchorview/__init__.py": r'__version__ = "(.+?)"',
    "CITATION.cff": r"(?m)^version: (.+)$",
    "codemeta.json": r'"version": "(.+?)"',
    "packaging/conda/recipe.yaml": r'version: "(.+?)"',
    "packaging/scverse/meta.yaml": r"(?m)^version: v(.+)$",
}
"""Where the version is stated, and how."""

LOCAL_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|work|tmp|mnt)/\w|[A-Z]:\\\\?Users")


def problems() -> Iterator[str]:
    """Sentences on everything that is wrong."""
    yield from different_versions()
    yield from local_paths()
    yield from different_dependencies()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--outdir", folder, str(ROOT)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        files = sorted(Path(folder).iterdir())
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
        for file in files:
            yield from wrong_distribution(file)


def stated_version() -> str:
    """Version of the package."""
    return _match("src/anchorview/__init__.py", VERSIONS["src/anchorview/__init__.py"])


def different_versions() -> Iterator[str]:
    """Files with another version than the package."""
    expected = stated_version()
    for name, pattern in VERSIONS.items():
        if (version := _match(name, pattern)) != expected:
            yield f"{name} has version {version}, the package {expected}."
    if f"## [{expected}]" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md has no section of version {expected}."


def local_paths() -> Iterator[str]:
    """Lines of pages with paths that exist on one machine only."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packaging/**/*.yaml")]
    for page in pages:
        if "_build" in page.parts:
            continue
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if LOCAL_PATH.search(line):
                yield f"{page.relative_to(ROOT)}, line {number}, names a local path: {line.strip()}"


def different_dependencies() -> Iterator[str]:
    """Dependencies that the recipe for conda lacks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (
        (ROOT / "packaging/conda/recipe.yaml").read_text().replace("matplotlib-base", "matplotlib")
    )
    for dependency in [*project["dependencies"], *project["optional-dependencies"]["report"]]:
        name, floor = dependency.partition(";")[0].split(">=")
        if f"- {name} >={floor}\n" not in recipe:
            yield f"packaging/conda/recipe.yaml lacks {name} >={floor}."


def wrong_distribution(file: Path) -> Iterator[str]:
    """What is wrong with a wheel or a source distribution."""
    megabytes, largest = file.stat().st_size / 1e6, LARGEST_MEGABYTES[file.suffix]
    print(f"{file.name}: {megabytes:.2f} MB")
    if megabytes > largest:
        yield f"{file.name} has {megabytes:.1f} MB, more than {largest} MB."
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            info = next(name for name in names if name.endswith("dist-info/METADATA"))
            metadata = HeaderParser().parsestr(archive.read(info).decode())
    else:
        with tarfile.open(file) as archive:
            names = archive.getnames()
            info = next(name for name in names if name.endswith("PKG-INFO"))
            content = archive.extractfile(info)
            assert content is not None
            metadata = HeaderParser().parsestr(content.read().decode())
    if not any(name.endswith("LICENSE") for name in names):
        yield f"{file.name} has no LICENSE."
    if metadata["Version"] != stated_version():
        yield f"{file.name} has version {metadata['Version']}."
    if metadata["License-Expression"] != "BSD-3-Clause":
        yield f"{file.name} has the license {metadata['License-Expression']}."


def _match(name: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / name).read_text())
    return match.group(1) if match else "none"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "Ready: versions, metadata, license, sizes and pages are right.")
    sys.exit(bool(found))
