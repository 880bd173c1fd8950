"""Files with random damage, read in child processes with limits of memory and time.

A reader must answer every file with a result of the right shape or one of its documented errors:
no other exception, no warning of another library, no crash and no hang.
"""

import faulthandler
import multiprocessing
import os
import resource
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import psutil

MEMORY = 2**30
"""Bytes of address space that a child process may take beyond what its modules need."""
SECONDS = 60
"""Time limit of a case. Most take milliseconds, so that only a hang reaches it."""

SIZES = [0, 1, 7, 255, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**48, 2**63 - 1, -1]
"""Values written over what may be a length, a dimension or an offset."""


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Content with one to three random changes."""
    for _ in range(rng.integers(1, 4)):
        change = MUTATIONS[rng.integers(len(MUTATIONS))]
        content = change(content, rng) if content else b"\0"
    return content


def _flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 4)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def _splice(content: bytes, rng: np.random.Generator) -> bytes:
    """Put a run of bytes in place of another run, which may be empty or longer."""
    (start, stop), (begin, end) = _run(content, rng), _run(content, rng)
    return content[:start] + content[begin:end] + content[stop:]


def _write_size(content: bytes, rng: np.random.Generator) -> bytes:
    width = int(rng.choice([1, 2, 4, 8]))
    size = int(rng.choice(SIZES)) % 256**width
    # Fields of most formats are aligned.
    place = int(rng.integers(len(content))) // width * width
    field = size.to_bytes(width, "big" if rng.random() < 0.2 else "little")
    return (content[:place] + field + content[place + width :])[: len(content)]


def _run(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(content)))
    return start, min(len(content), start + int(2 ** rng.uniform(0, 9)))


MUTATIONS = [_flip_bits, _truncate, _splice, _write_size]


@dataclass(frozen=True)
class Reader:
    """A function that reads a file or a folder; all members are functions of a module.

    They are sent to other processes by name.
    """

    name: str
    write: Callable[[Path], Path]
    """Writes the undamaged file or folder into a folder, and returns its path."""
    read: Callable[[Path], object]
    """Reads it, and raises an AssertionError if the result has the wrong shape."""
    errors: tuple[type[Exception], ...]
    """Documented errors."""
    mutate: Callable[[bytes, np.random.Generator], bytes] = mutated


@dataclass
class Outcomes:
    """What became of the cases."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of cases by the name of the reader and the outcome, "read" or the error's type."""
    failures: list[str] = field(default_factory=list)
    """Undocumented errors, crashes and hangs, with the number of the case."""


def run_cases(readers: Iterable[Reader], cases: Iterable[int], n_processes: int = 2) -> Outcomes:
    """Let readers read damaged files; a case is a seed, so that it can be run again alone."""
    outcomes = Outcomes()
    # Not by fork, which would copy locks that threads of the parent hold.
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder, ProcessPoolExecutor(n_processes, context) as pool:
        tasks = {pool.submit(_read_all, reader, cases, folder): reader for reader in readers}
        for task, reader in tasks.items():
            try:
                results = task.result()
            except BrokenProcessPool:
                last = [file.read_text() for file in Path(folder).glob("*.case")]
                outcomes.failures.append(f"A process crashed, or hung for {SECONDS} s, in {last}.")
                break
            for case, (kind, details) in zip(cases, results, strict=True):
                outcomes.counts[reader.name, kind] += 1
                if details:
                    outcomes.failures.append(f"{reader.name}, case {case}: {kind}\n{details}")
    return outcomes


def _read_all(reader: Reader, cases: Iterable[int], folder: str) -> list[tuple[str, str]]:
    """Outcome of each case, with details of a failure."""
    results = []
    with TemporaryDirectory() as place:
        path = reader.write(Path(place))
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        contents = {file: file.read_bytes() for file in files if file.is_file()}
        # Imports what the reader needs, before memory and time are limited.
        reader.read(path)
        _limit_memory()
        for case in cases:
            Path(folder, f"{os.getpid()}.case").write_text(f"{reader.name}, case {case}")
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            results.append(_read_mutated(reader, case, path, contents))
    faulthandler.cancel_dump_traceback_later()
    return results


def _limit_memory() -> None:
    size = psutil.Process().memory_info().vms + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def _read_mutated(
    reader: Reader, case: int, path: Path, contents: dict[Path, bytes]
) -> tuple[str, str]:
    rng = np.random.default_rng([crc32(reader.name.encode()), case])
    file = list(contents)[rng.integers(len(contents))]
    file.write_bytes(reader.mutate(contents[file], rng))
    kind, details = "read", ""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reader.read(path)
    except reader.errors as error:
        kind = type(error).__name__
        if "\n" in str(error):
            kind, details = "message of several lines", str(error)
    # A MemoryError is documented only if the reader says so.
    except BaseException as error:
        kind, details = f"undocumented {type(error).__name__}", traceback.format_exc()
    # Those of the package are UserWarnings themselves, not of a subclass.
    foreign = [w for w in caught if w.category is not UserWarning]
    if foreign and not details:
        warning = foreign[0]
        kind = f"{warning.category.__name__} of another library"
        details = f"{warning.filename}:{warning.lineno}: {warning.message}"
    file.write_bytes(contents[file])
    for extra in set(path.rglob("*") if path.is_dir() else []) - contents.keys():
        if extra.is_file():
            os.remove(extra)
    return kind, details
