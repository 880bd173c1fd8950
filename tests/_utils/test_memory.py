"""Memory limits: their syntax, and that a fit stays within them."""

import re
import sys
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorview import DALMC
from anchorview._utils import memory
from anchorview._utils.memory import free_memory, memory_budget, require_memory
from anchorview.datasets.formats.arrays import NpyView, open_npy
from helpers.command_line import printed_by

FACTORS = {"": 1, "B": 1, "K": 1e3, "kB": 1e3, "MB": 1e6, "gb": 1e9, "G": 1e9, "TB": 1e12}
FACTORS |= {"KiB": 2**10, "MiB": 2**20, "Gi": 2**30, "tib": 2**40}
NOT_BYTES = ["", "GB", "0", 0, 0.0, "0MB", "-1GB", -5, "nan", float("nan"), float("inf"), True]
NOT_BYTES += ["1.5 XB", "1,5GB", "ten MB", "1 2 MB", "1e-3GB", "5MBMB", "5 bytes"]


@given(
    number=st.one_of(st.integers(1, 10**9), st.floats(0.01, 1e6).map(lambda x: round(x, 2))),
    unit=st.sampled_from(list(FACTORS)),
    space=st.sampled_from(["", " ", "  "]),
)
def test_budgets_with_units(number, unit, space):
    text = f"{space}{number}{space}{unit}{space}"
    assert memory_budget(text) == pytest.approx(float(number) * FACTORS[unit], rel=1e-12)


@pytest.mark.parametrize("limit", NOT_BYTES)
def test_invalid_budgets_raise(limit):
    with pytest.raises(ValueError, match=r"not a number of bytes; give one such as '1\.5GB'"):
        memory_budget(limit)


ABOVE = {"user/job": ("max", "1000", "inactive_file 500\n"), "user": ("2000", "1500", "")}
VERSION_1 = {
    "memory/job": ("5000", "4500", "inactive_file 1\ntotal_inactive_file 1000\n"),
    "memory": ("9223372036854771712", "10", ""),
}
GROUPS = {
    "version 2": ("0::/job\n", {"job": ("3000", "1000", "anon 400\ninactive_file 500\n")}, 2500),
    "version 2, limit of the group above": ("0::/user/job\n", ABOVE, 500),
    "version 2, in a container": ("0::/docker/0123\n", {"": ("9000", "2000", "")}, 7000),
    "version 1": ("9:name=systemd:/\n4:cpu,memory:/job\n0::/\n", VERSION_1, 1500),
    "used up": ("0::/\n", {"": ("100", "120", "")}, 0),
}
"""Groups of the process; limit, use and statistics of each; and the bytes that are free."""


@pytest.mark.parametrize("kind", GROUPS)
def test_limits_of_control_groups_count(tmp_path, set_constants, kind):
    line, groups, expected = GROUPS[kind]
    names = ("limit_in_bytes", "usage_in_bytes") if kind == "version 1" else ("max", "current")
    files = {tmp_path / "proc/self/cgroup": line}
    for group, contents in groups.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        own = zip((*names, "stat"), contents, strict=True)
        files |= {folder / f"memory.{name}": content for name, content in own}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    set_constants(memory, ROOT=tmp_path)
    assert free_memory() == expected


@pytest.fixture
def counting_view(tmp_path):
    """A view on disk of 5,000 x 40 float64 values whose reads are counted."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((5000, 40)))
    with patch.object(NpyView, "_read_into", autospec=True, side_effect=NpyView._read_into):
        yield open_npy(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [("20kB", MemoryError, r"\d+ kB.* 20 kB"), ("much", ValueError, "memory_limit")],
)
def test_too_low_or_invalid_limits_raise_before_reading(counting_view, limit, error, message):
    with pytest.raises(error, match=message):
        DALMC(3, memory_limit=limit).fit([counting_view])
    assert NpyView._read_into.call_count == 0


def test_a_result_larger_than_the_limit_can_be_written_to_disk(counting_view, tmp_path):
    # 5,000 x 20 values of the embedding are 800 kB, the labels 20 kB.
    model = DALMC(20, memory_limit="500kB", random_state=0, n_init=1)
    with pytest.raises(MemoryError, match=r"needs 820 kB .*but 500 kB .*to disk with out="):
        model.fit([counting_view])
    model.fit([counting_view], out=tmp_path / "out")
    assert model.embedding_.nbytes == 800_000
    with pytest.raises(MemoryError, match="to disk with out="):
        model.transform([counting_view])
    assert model.transform([counting_view], out=tmp_path / "e.npy").shape == (5000, 20)


FIT = """
import re, sys
from pathlib import Path
import numpy as np
from anchorview import DALMC
from anchorview.datasets.formats.arrays import open_npy

path, small, out, limit = sys.argv[1:]

def peak():
    # ru_maxrss would include the peak of the parent process.
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

model = DALMC(3, random_state=0, memory_limit=limit, n_init=2).fit([open_npy(small)])
before = peak()
model.fit([open_npy(path)], out=out)
model.predict([open_npy(path)], out=out + "/predicted.npy")
print(peak() - before)
model.transform([np.load(path)])
print(peak() - before)
"""


@pytest.mark.parametrize("needed", [1.0e9, 1.0000001e9, 5.01e6, 5e9])
@pytest.mark.parametrize("allowed", [0.99999e9, 1e9 - 200, 5.0e6, 3e3])
def test_message_shows_that_more_is_needed_than_allowed(needed, allowed):
    if needed <= allowed:
        pytest.skip("enough memory")
    with pytest.raises(MemoryError) as info:
        require_memory(needed, "It", "", allowed)
    figures = re.findall(r"([\d.]+) (GB|MB|kB)", str(info.value))
    more, less = (float(number) * {"GB": 1e9, "MB": 1e6, "kB": 1e3}[u] for number, u in figures)
    assert more > less


@pytest.mark.system
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_fit_stays_within_its_limit(tmp_path):
    n, width, limit = 300_000, 128, 60e6
    block = np.random.default_rng(0).standard_normal((5000, width), dtype=np.float32)
    block[:, :3] += 8 * np.eye(3, dtype=np.float32)[np.arange(5000) % 3]
    np.save(tmp_path / "small.npy", block)
    with (tmp_path / "x.npy").open("wb") as stream:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n, width)}
        np.lib.format.write_array_header_2_0(stream, header)
        for _ in range(n // len(block)):
            stream.write(block.tobytes())

    paths = tmp_path / "x.npy", tmp_path / "small.npy", tmp_path / "out"
    in_parts, whole = map(int, printed_by(FIT, *paths, limit).split())
    assert in_parts < limit
    assert whole > 2.5 * limit
