"""Labels of every estimator on every data set, to compare two versions of the package.

    python benchmarks/labels.py write FILE [--only NAME ...]
    python benchmarks/labels.py compare BEFORE AFTER

`write` fits DALMC (complete, with missing views, from files, in two batches of `partial_fit`),
AutoDALMC and the eight compared methods with fixed seeds on all `.npz` files of the data folder
and keeps the labels; finished fits are not repeated. `compare` counts the fits whose labels are
identical and lists the others with their adjusted Rand index.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

import anchorview
from anchorview import compared
from data import FOLDER, load

SEED = 0


def with_missing_rows(views: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A fifth of the rows of every view missing; every sample keeps one view."""
    rng = np.random.default_rng(SEED)
    n = len(next(iter(views.values())))
    missing = rng.random((n, len(views))) < 0.2
    missing[np.arange(n), rng.integers(len(views), size=n)] = False
    result = {}
    for rows, (name, view) in zip(missing.T, views.items(), strict=True):
        result[name] = view.astype(np.float64)
        result[name][rows] = np.nan
    return result


def fit_class(cls):
    return lambda views, k: cls(k, random_state=SEED).fit(views).labels_


fit_dalmc = fit_class(anchorview.DALMC)


def fit_incomplete(views, k):
    return fit_dalmc(with_missing_rows(views), k)


def fit_files(views, k):
    with tempfile.TemporaryDirectory() as folder:
        for name, view in views.items():
            np.save(Path(folder) / f"{name}.npy", view)
        return np.array(fit_dalmc(anchorview.open_views(folder), k))


def fit_batches(views, k):
    model = anchorview.DALMC(k, scaling="unit-center", random_state=SEED)
    n = len(next(iter(views.values())))
    for rows in (slice(0, n // 2), slice(n // 2, n)):
        model.partial_fit({name: view[rows] for name, view in views.items()})
    return model.predict(views)


FITS = {
    "DALMC": fit_dalmc,
    "DALMC, missing rows": fit_incomplete,
    "DALMC, files": fit_files,
    "DALMC, partial_fit": fit_batches,
    "AutoDALMC": fit_class(anchorview.AutoDALMC),
    # GraphLeiden needs a package of its own.
    **{
        name: fit_class(getattr(compared, name))
        for name in compared.__all__
        if name != "GraphLeiden"
    },
}


def write(file: Path, only: list[str]) -> None:
    results = dict(np.load(file)) if file.exists() else {}
    for path in sorted(FOLDER.glob("*.npz"), key=lambda path: path.stat().st_size):
        views, y = load(path.stem)
        for name, fit in FITS.items():
            key = f"{path.stem}: {name}"
            if key in results or (only and name not in only):
                continue
            clock = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[key] = np.asarray(fit(views, len(np.unique(y))))
            print(f"{key}: {time.perf_counter() - clock:.1f} s", flush=True)
        temporary = file.with_suffix(".part.npz")
        np.savez_compressed(temporary, **results)
        temporary.replace(file)


def compare(before: Path, after: Path) -> None:
    old, new = np.load(before), np.load(after)
    assert set(old.files) == set(new.files), set(old.files) ^ set(new.files)
    differing = [key for key in old.files if not np.array_equal(old[key], new[key])]
    print(f"{len(old.files) - len(differing)} of {len(old.files)} fits have identical labels.")
    for key in differing:
        print(f"{key}: ARI {adjusted_rand_score(old[key], new[key]):.4f}")
    raise SystemExit(bool(differing))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    writing = commands.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--only", nargs="*", default=[], choices=FITS)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "write":
        write(options.file, options.only)
    else:
        compare(options.before, options.after)


if __name__ == "__main__":
    main()
