"""Set up a virtual environment and run a command in it: ``python3 dev.py demo | test``.

Needs only Python 3.11+. The environment is created in ``.venv`` and updated only when
``pyproject.toml`` or the interpreter changes.
"""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
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
    """Cluster the embedded digits data set."""
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
    # The test processes share the cores; more threads would only compete for them.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run("pytest", "-n", "2", "--dist", "loadgroup", "-m", "not slow")


JOBS = {"demo": demo, "test": test}

if __name__ == "__main__":
    if sys.version_info < (3, 11):
        raise SystemExit(f"anchorview needs Python 3.11 or newer, not {sys.version.split()[0]}.")
    if len(sys.argv) != 2 or sys.argv[1] not in JOBS:
        raise SystemExit(f"usage: python3 dev.py {{{' | '.join(JOBS)}}}")
    JOBS[sys.argv[1]]()
