"""The container: files that are damaged, foreign, or forged with correct checksums.

Those with damage anywhere are loaded in child processes with limits of memory and time.
"""

import os
import pickle
import sys
import zipfile
from unittest.mock import Mock

import numpy as np
import pytest

from anchorview import __version__
from anchorview._utils.errors import OutputFileError
from anchorview.estimators.persistence import save_model
from anchorview.estimators.persistence.model_file import FORMAT_VERSION
from helpers.model_files import error_of, forge, forge_array, forge_document, members_of
from helpers.mutated_files import run_cases
from helpers.mutated_models import MODEL_READERS


def test_an_existing_file_is_replaced_completely_or_not_at_all(dalmc, saved, monkeypatch):
    before = saved.read_bytes()
    full = Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch, pytest.raises(OutputFileError, match="No space left"):
        patch.setattr(os, "fsync", full)
        save_model(dalmc, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    saved.write_bytes(b"something else")
    save_model(dalmc, saved)
    assert saved.read_bytes() == before
    with pytest.raises(OutputFileError, match="there is no folder"):
        save_model(dalmc, saved.parent / "nowhere" / "m")
    with pytest.raises(OutputFileError, match="is a folder"):
        save_model(dalmc, saved.parent)


def test_foreign_files(tmp_path):
    assert "No such file" in error_of(tmp_path / "nothing")
    assert "not an anchorview model" in error_of(tmp_path)
    path = tmp_path / "m"
    for content in (b"", b"PK", b"hello", bytes(1000), b"PK\x03\x04" + bytes(1000)):
        path.write_bytes(content)
        assert "not an anchorview model" in error_of(path)
    np.savez(tmp_path / "views.npz", labels=np.arange(3))
    assert "not an anchorview model" in error_of(tmp_path / "views.npz")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "not an anchorview model" in error_of(tmp_path / "pipe")


def test_damage_is_detected(saved):
    content = saved.read_bytes()
    flipped = bytearray(content)
    with zipfile.ZipFile(saved) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    flipped[largest.header_offset + largest.compress_size] ^= 1
    for damaged in (bytes(flipped), content[:-1], content[:1000]):
        saved.write_bytes(damaged)
        assert "is damaged" in error_of(saved)


class Bomb:
    def __reduce__(self):
        return sys.exit, ("a pickle was run",)


def test_pickles_are_not_run(saved):
    objects = np.array([Bomb()], dtype=object)
    np.savez(saved.with_name("objects.npz"), labels=objects)
    assert "not an anchorview model" in error_of(saved.with_name("objects.npz"))
    forge_array(saved, "state/labels_", lambda _: objects)
    assert "has dtype object" in error_of(saved)
    forge(saved, {**members_of(saved), "state/labels_.npy": pickle.dumps(Bomb())})
    error_of(saved)


def test_newer_versions(saved):
    forge_document(saved, {"format_version": FORMAT_VERSION + 1, "anchorview_version": "9.1\n"})
    message = error_of(saved)
    for part in ("'9.1\\n'", str(FORMAT_VERSION + 1), __version__, "Upgrade"):
        assert part in message


@pytest.mark.parametrize("version", [None, 0, True, "1"])
def test_invalid_versions(saved, version):
    forge_document(saved, {"format_version": version})
    assert "version" in error_of(saved)


OTHER_FORMATS = (b"[1]", b'{"format": "other"}')
NOT_JSON = (b"", b"[" * 10**6, b"\xff\xfe")


@pytest.mark.parametrize("document", [*OTHER_FORMATS, *NOT_JSON], ids=lambda text: text[:20])
def test_other_documents(saved, document):
    forge(saved, {**members_of(saved), "anchorview.json": document})
    reason = "not a valid model" if document in NOT_JSON else "not an anchorview model"
    assert reason in error_of(saved)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"


@pytest.mark.parametrize(
    "header", [HEADER % "(1000000000000,)", HEADER.replace("<f8", "|O") % "(12,)", "[" * 200]
)
def test_array_headers_are_not_trusted(saved, header):
    text = header.encode("latin-1")
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8 * 12)
    forge(saved, {**members_of(saved), "state/labels_.npy": content})
    error_of(saved)


def test_unknown_and_missing_members(either):
    members = members_of(either)
    labels = members["state/labels_.npy"]
    for name in ("more", "../labels_", "state/labels_/0", "state/bases_/9", "state/x"):
        forge(either, {**members, f"{name}.npy": labels})
        assert f"the array '{name}' is unknown" in error_of(either)
    forge(either, {name: content for name, content in members.items() if "labels_" not in name})
    error_of(either)


@pytest.mark.parametrize(
    ("readers", "cases"),
    [(MODEL_READERS[:3], 5), pytest.param(MODEL_READERS, 2000, marks=pytest.mark.slow)],
    ids=["DALMC", "all"],
)
def test_damaged_models_give_the_documented_error_or_a_model(readers, cases):
    outcomes = run_cases(readers, range(cases), n_processes=1 if cases == 5 else 2)
    assert not outcomes.failures, "\n".join(outcomes.failures[:3])
    assert sum(outcomes.counts.values()) == cases * len(readers)
    refused = {name for name, kind in outcomes.counts if kind == "ModelFileError"}
    assert {name for name in refused if name.endswith(", damaged")} == {
        reader.name for reader in readers if reader.name.endswith(", damaged")
    }
