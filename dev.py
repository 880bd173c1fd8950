"""Set up a virtual environment and run a command in it: ``python3 dev.py demo | test | docs``.

Needs only Python 3.11+. The environment is created in ``.venv`` and updated only when
``pyproject.toml`` or the interpreter changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md")
SITE = ROOT / "docs" / "_build" / "html"
ALL_EXTRAS = "dask,excel,hdf5,leiden,parquet,remote,report,scverse,skops,zarr"
TEST_TOOLS = (
    "check-jsonschema",
    "hypothesis",
    "lifelines",
    "moto[server]",
    "openpyxl",
    "playwright",
    "polars",
    "pytest",
    "pytest-xdist",
)
PARALLEL = ("-n", "2", "--dist", "loadgroup", "-m")
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")


def run(*command: str) -> None:
    """Run a program of the environment in the project root; exit with its code if it fails."""
    program, *arguments = command
    try:
        result = subprocess.run([str(BIN / program), *arguments], cwd=ROOT)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if result.returncode:
        raise SystemExit(result.returncode)


def set_up(extra: str) -> None:
    """Create or update the environment with the project and one of its extras."""
    wanted = f"{sys.version}|{(ROOT / 'pyproject.toml').read_text()}"
    digest = hashlib.sha256(wanted.encode()).hexdigest()
    stamp = ENVIRONMENT / f"anchorview-{extra}.stamp"
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"Setting up {ENVIRONMENT} (about a minute, once) ...", flush=True)
    if not (BIN / "pip").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    run("pip", "install", "--quiet", "--disable-pip-version-check", "--editable", f".[{extra}]")
    stamp.write_text(digest)


def demo() -> None:
    """Cluster the built-in digits data set."""
    set_up("report")
    run("anchorview", "demo")


def test() -> None:
    """Lint, check the import contract and types, run the tests."""
    set_up("dev")
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")
    # Not the whole folder, in which the demo writes its report.
    run("codespell", "src", "tests", "docs", "benchmarks", "examples", *PAGES)
    run("lint-imports", "--no-logo")
    run("mypy")
    run_tests("not slow and not system")


def test_system() -> None:
    """Run the tests that take several seconds each: in a browser, a cluster, other processes."""
    set_up("dev")
    run_tests("system and not slow")


def coverage() -> None:
    """Run the tests and print the modules and lines that they leave out."""
    set_up("dev")
    report = ("--cov=anchorview", "--cov-report=term-missing:skip-covered")
    run_tests("not slow and not system", ("pytest", *report))


def run_tests(markers: str, pytest: tuple[str, ...] = ("pytest",)) -> None:
    """Run the tests with some markers in two processes."""
    # The test processes share the cores; more threads would only compete for them.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run(*pytest, *PARALLEL, markers)


def test_lowest() -> None:
    """Run the tests with the lowest versions of all dependencies."""
    # scikit-learn 1.6 imports its checks only with this, if array-api-compat is installed.
    os.environ["SCIPY_ARRAY_API"] = "1"
    # Only the versions of direct dependencies are ours to state. Old packages use what newer ones,
    # on which they depend in turn, have deprecated.
    warnings = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")
    test_resolved(".venv-lowest", ("--resolution", "lowest-direct"), warnings)


def test_prereleases() -> None:
    """Run the tests with the newest versions of all dependencies, pre-releases included."""
    test_resolved(".venv-prereleases", ("--prerelease", "allow", "--upgrade"))


def test_resolved(folder: str, options: Sequence[str], warnings: Sequence[str] = ()) -> None:
    """Run the tests with versions that uv chooses, in an environment of its own."""
    import tomllib  # not in Pythons that are too old

    set_up("dev")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tools = [
        tool
        for tool in project["optional-dependencies"]["dev"]
        if tool.split(">=")[0] in TEST_TOOLS
    ]
    python = ROOT / folder / BIN.name / "python"
    if not python.exists():
        venv.create(ROOT / folder, clear=True)
    where = ("--python", str(python), "--quiet")
    run("uv", "pip", "install", *where, *options, "--editable", f".[{ALL_EXTRAS}]", *tools)
    run_tests("not slow and not system", (str(python), "-m", "pytest", *warnings))


def docs() -> None:
    """Build the documentation site and run the scripts of its gallery; needs no network."""
    set_up("docs")
    # Pages of examples and names that exist no longer would stay.
    for folder in (SITE, ROOT / "docs" / "gallery", ROOT / "docs" / "reference" / "generated"):
        shutil.rmtree(folder, ignore_errors=True)
    run("sphinx-build", "-q", "-W", "--keep-going", "docs", str(SITE))
    print(f"Open {SITE / 'index.html'}")


def release_check() -> None:
    """Build the distributions and check what a release needs."""
    set_up("dev")
    run("python", "packaging/check_release.py")


JOBS = {
    "demo": demo,
    "test": test,
    "test-system": test_system,
    "coverage": coverage,
    "test-lowest": test_lowest,
    "test-prereleases": test_prereleases,
    "docs": docs,
    "release-check": release_check,
}

if __name__ == "__main__":
    if sys.version_info < (3, 11):
        raise SystemExit(f"anchorview needs Python 3.11 or newer, not {sys.version.split()[0]}.")
    if len(sys.argv) != 2 or sys.argv[1] not in JOBS:
        raise SystemExit(f"usage: python3 dev.py {{{' | '.join(JOBS)}}}")
    JOBS[sys.argv[1]]()
