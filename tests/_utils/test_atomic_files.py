"""Files that appear complete or not at all, also after a process is killed."""

import os
import signal
import subprocess
import sys

import pytest

from anchorview._utils.atomic_files import atomic_write, atomic_write_binary

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals, locks and links")

WRITE_AND_WAIT = """
import sys
from pathlib import Path
from anchorview._utils.atomic_files import atomic_folder, atomic_write

with {function}(Path(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.read()
"""


def start_writing(path, function="atomic_write"):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE_AND_WAIT.format(function=function), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    return process


@posix
@pytest.mark.parametrize("function", ["atomic_write", "atomic_folder"])
def test_what_a_killed_process_left_is_removed_by_the_next_but_not_what_a_living_one_writes(
    tmp_path, function
):
    (tmp_path / ".anchorview-unrelated.part").touch()
    with start_writing(tmp_path / "killed", function) as killed:
        killed.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2
    with start_writing(tmp_path / "living", function) as living:
        with atomic_write(tmp_path / "mine"):
            assert len(list(tmp_path.glob("*.part"))) == 3
        living.communicate("go on")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".anchorview-unrelated.part", "living", "mine"]


@posix
def test_the_last_file_of_a_set_never_stands_beside_files_of_an_earlier_set(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("embedding", "ids", "labels")]

    def write(text):
        with atomic_write_binary(*paths) as streams:
            for stream in streams:
                stream.write(text)

    def contents():
        return [path.read_bytes() if path.exists() else None for path in paths]

    seen = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *a: (seen.append(contents()), replace(*a)))
    write(b"old")
    seen.clear()
    write(b"new")
    assert seen == [[b"old", None, None], [b"new", None, None], [b"new", b"new", None]]
    assert contents() == [b"new"] * 3
