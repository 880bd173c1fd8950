"""Runs of the command line, in this process or in another one, and the label files they write."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anchorview.cli.commands import app

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and terminals")

QUICK = ("-k", 3, "--budget", "fast")
"""Options of a fit whose method and result do not matter."""
DALMC_3 = ("-k", 3, "--method", "dalmc")

MAIN = "from anchorview.cli import main; main()"

# A background process may have been started with SIGINT ignored, which its children inherit.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# The command may have redirected what is printed. Short naps: a signal that a thread of the pool
# takes, or that comes just before a nap, is handled after it.
PAUSE = "print('paused', flush=True, file=sys.__stdout__); [time.sleep(0.1) for _ in range(600)]"

PAUSE_IN_FSYNC = f"""
import os, sys, time

def fsync(descriptor):
    {PAUSE}

os.fsync = fsync
{INTERRUPTIBLE}
{MAIN}
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def output_of(*arguments: object) -> str:
    """Standard output of a run that succeeds."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def error_of(*arguments: object) -> str:
    """Message of a run that fails with exit code 2, in one line but for errors of the parser."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    if result.stderr.startswith("Usage: "):
        return " ".join(result.stderr.translate(dict.fromkeys(map(ord, "│╭╰─╮╯"), " ")).split())
    assert result.stderr.startswith("anchorview: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("anchorview: error: ").rstrip("\n")


def command(*arguments: object, script: str = MAIN) -> list[str]:
    """Command for a separate process."""
    return [sys.executable, "-c", script, *map(str, arguments)]


def printed_by(program: str, *arguments: object) -> str:
    """What a program prints in a process of its own, with one thread."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command(*arguments, script=program),
        capture_output=True,
        text=True,
        env=os.environ | one_thread,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pausing_script(stages: tuple[str, ...], pause: str = PAUSE) -> str:
    """Program that pauses whenever it reports progress of one of the stages."""
    return f"""
import sys, time
from anchorview._utils import progress
report_progress = progress.report_progress

def report_and_pause(stage, *steps):
    report_progress(stage, *steps)
    if stage.startswith({stages}):
        {pause}

progress.report_progress = report_and_pause
{INTERRUPTIBLE}
{MAIN}
"""


@contextmanager
def interrupted(*arguments: object, script: str, number: int = signal.SIGINT):
    """Run a script until it pauses, execute the block, and end the script by a signal."""
    with subprocess.Popen(
        command(*arguments, script=script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "paused\n"
        yield
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    ended = "interrupted" if number == signal.SIGINT else "terminated"
    assert stderr == f"anchorview: {ended}; no file was left half-written\n"


def read_labels(path: Path) -> np.ndarray:
    """Labels in a file without confidence."""
    (clusters,) = _read_columns(path, "cluster")
    return clusters.astype(int)


def read_confident_labels(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Labels and confidence in a file that AutoDALMC wrote."""
    clusters, confidence = _read_columns(path, "cluster", "confidence")
    assert all(len(share) == len("0.123") for share in confidence)
    return clusters.astype(int), confidence.astype(float)


def _read_columns(path: Path, *expected: str) -> list[np.ndarray]:
    """Columns after the first, which must hold the positions of the samples."""
    header, *rows = path.read_text().splitlines()
    assert header == ",".join(["sample", *expected])
    samples, *columns = np.array([row.split(",") for row in rows]).T
    assert (samples.astype(int) == np.arange(len(samples))).all()
    return columns
