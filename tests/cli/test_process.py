"""The program in a process: help, streams, signals, progress."""

import errno
import os
import signal
import subprocess

import pytest

import anchorview
from helpers.command_line import (
    MAIN,
    PAUSE_IN_FSYNC,
    QUICK,
    command,
    interrupted,
    output_of,
    pausing_script,
    posix,
    printed_by,
)


def test_help_fits_on_a_screen_and_shows_all_on_request(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first, everything = output_of("fit", "--help"), output_of("fit", "--help-all")
    assert first.count("\n") <= 36
    assert all(each in first for each in ("--clusters", "--out", "--report", "--help-all"))
    for advanced in ("--beta", "--scheduler", "--no-header", "--metadata"):
        assert advanced not in first
        assert advanced in everything


def test_version_and_help_of_groups():
    assert output_of("-V") == output_of("--version") == f"anchorview {anchorview.__version__}\n"
    for arguments in ([], ["-h"]):
        assert "experiment" in output_of(*arguments)
    assert output_of("experiment") == output_of("experiment", "-h")
    assert "--install-completion" in output_of("-h")


def test_help_does_not_import_slow_packages():
    script = f"""
import sys
try:
    {MAIN}
finally:
    print(sorted({{"sklearn", "pandas", "scipy", "numpy"}} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(command("--help", script=script), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "demo" in done.stdout


def test_module_and_completion(monkeypatch):
    main = "import runpy; runpy.run_module('anchorview', run_name='__main__')"
    assert printed_by(main, "-V") == output_of("-V")
    monkeypatch.setenv("_ANCHORVIEW_COMPLETE", "complete_bash")
    for words, shown in (("anchorview pre", "predict"), ("anchorview fit --sched", "--scheduler")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert printed_by(main) == f"{shown}\n"


@posix
@pytest.mark.system
@pytest.mark.parametrize(
    ("script", "n_files", "number"),
    [(pausing_script(("candidates",)), 1, signal.SIGINT), (PAUSE_IN_FSYNC, 2, signal.SIGTERM)],
    ids=["fitting", "writing"],
)
def test_an_interrupt_keeps_the_old_file_and_leaves_no_other(data, out, script, n_files, number):
    out.write_text("before")
    with interrupted("fit", data, *QUICK, "--out", out, script=script, number=number):
        assert len(list(out.parent.iterdir())) == n_files
    assert out.read_text() == "before"
    assert list(out.parent.iterdir()) == [out]


@posix
@pytest.mark.system
def test_progress_is_shown_on_a_terminal_on_stderr_only(data):
    import pty

    master, slave = pty.openpty()
    stages = "reading", "candidates"
    # Each stage pauses so that its bar is drawn.
    script = pausing_script(stages, "time.sleep(0.15)")
    with subprocess.Popen(
        command("fit", data, "-k", "2-3", "--budget", "fast", script=script),
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(slave)
        shown = b""
        # The end of the terminal is an error on Linux, and an empty read elsewhere.
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError as error:
            assert error.errno == errno.EIO
        finally:
            os.close(master)
        stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert all(stage.encode() in shown for stage in stages)
    assert "candidates" not in stdout.splitlines()[0]
    assert "ACC" in stdout
