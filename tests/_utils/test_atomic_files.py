"""Files that appear complete or not at all, also after a process is killed."""

import os
import time

import pytest

from anchorview._utils.atomic_files import atomic_folder, atomic_write, atomic_write_binary


@pytest.mark.parametrize("write", [atomic_write, atomic_folder])
def test_what_a_killed_process_left_is_removed_a_day_later(tmp_path, write):
    names = [f".anchorview-{age}.part" for age in ("old", "new")]
    for name in names:
        (tmp_path / name).touch()
    yesterday = time.time() - 25 * 3600
    os.utime(tmp_path / names[0], (yesterday, yesterday))
    with write(tmp_path / "mine"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [names[1], "mine"]


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
