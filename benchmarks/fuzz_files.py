"""Read randomly damaged files of data or of models, and count the outcomes.

Usage: ``python benchmarks/fuzz_files.py [--models] [--cases 20000] [--only NAME] [--first 0]``.
Cases are numbered, so a failed one can be run again alone. The tests run a part of the same cases.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers.mutated_data import DATA_READERS
from helpers.mutated_files import run_cases
from helpers.mutated_models import MODEL_READERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000, help="number of files in all")
    parser.add_argument("--only", help="name of one reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--models", action="store_true", help="model files, not data files")
    wanted = parser.parse_args()
    known = MODEL_READERS if wanted.models else DATA_READERS
    readers = [reader for reader in known if wanted.only in (None, reader.name)]
    each = range(wanted.first, wanted.first + -(-wanted.cases // len(readers)))
    outcomes = run_cases(readers, each)
    print("| reader | outcome | files |\n|---|---|---|")
    for (name, kind), count in sorted(outcomes.counts.items()):
        print(f"| {name} | {kind} | {count} |")
    for failure in outcomes.failures:
        print(f"\n{failure}")
    sys.exit(bool(outcomes.failures))


if __name__ == "__main__":
    main()
