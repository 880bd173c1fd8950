"""What the commands do between their arguments and their words: read, cluster, write."""

# Only light modules here, as for the commands themselves.
import csv
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.progress import report_progress
from anchorview.cli.summaries import closing_lines, fit_lines, show_views_of_model
from anchorview.cli.terminal import explained, print_lines, printable, progress_bar, watched
from anchorview.estimators.methods import method_class

SAVED_METHODS = ("auto", "dalmc")
"""Methods whose models have a file."""


DATA_SHARE = 0.25
"""Part of the memory that data may take: work on them in memory takes several times as much."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Views of samples, their true labels if known, and what the samples are called."""

    data: Any
    """A container in memory, or views that stay on disk or on workers."""
    target: Any
    ids: Any
    name: str
    """What the data are called."""


Load = Callable[[], Samples]


def read_samples(path: Path, zero_rows_missing: bool) -> Samples:
    from anchorview.datasets import read_views
    from anchorview.views.container import MultiViewData

    file = read_views(path, zero_rows_missing=zero_rows_missing)
    data = MultiViewData(file.views, available=file.available)
    return Samples(data, file.target, file.sample_ids, path.name)


def is_large(path: Path, memory_limit: str | None) -> bool:
    """Whether data can stay on disk and had better."""
    from anchorview._utils.memory import memory_budget
    from anchorview.datasets import open_views, stays_on_disk

    budget = memory_budget(memory_limit)
    if not stays_on_disk(path):
        return False
    stored: Any = open_views(path).views.values()
    return bool(sum(view.nbytes for view in stored) > DATA_SHARE * budget)


def open_samples(path: Path, zero_rows_missing: bool) -> Samples:
    from anchorview.datasets import open_views

    if zero_rows_missing:
        raise ValueError(
            "--zero-rows-missing needs the data in memory. Make them a folder with 'anchorview "
            "convert --zero-rows-missing' first, and give that."
        )
    file = open_views(path.resolve())
    ids = file.sample_ids
    views: Any = file.views.values()
    for view in views:
        if ids is None and hasattr(view, "all_ids"):
            ids = view.all_ids()
    return Samples(file, file.target, ids, path.name)


def option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Outputs:
    """What is to be written."""

    labels: Path | None = None
    model: Path | None = None
    report: Path | None = None
    results: Path | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    model: Any
    labels: Any
    seconds: float
    samples: Samples
    scores: dict[str, float]
    """Empty if there are no labels to score against."""


def run(
    load: Load, outputs: Outputs, method: str, scheduler: str | None = None, **settings: Any
) -> None:
    """Load, cluster, write labels and model, then show what came out."""
    with explained():
        if outputs.model is not None and method not in SAVED_METHODS:
            raise ValueError(
                f"--save: models of {method} cannot be saved, only those of "
                f"{' and '.join(SAVED_METHODS)}."
            )
        for path in (outputs.labels, outputs.model, outputs.report):
            if path is not None:
                require_writable(path)
        if outputs.report is not None:
            # What it needs and is not installed is better known before the fit.
            from anchorview._utils.optional_imports import optional_import

            for needed in ("bokeh", "jinja2"):
                optional_import(needed, "Reports", "report")
            if scheduler is not None:
                raise ValueError(
                    "--report needs the embedding here, and results of --scheduler stay on the "
                    "workers. Leave one of them out."
                )
        # The bar and the lines that the estimator prints would disturb each other.
        with progress_bar(shown=watched() and not settings.get("verbose")), _workers(scheduler):
            outcome = _cluster(load, method, settings, outputs, scheduler is not None)
        if outputs.labels is not None:
            confidence = getattr(outcome.model, "confidence_", None)
            write_labels(outcome.labels, confidence, outcome.samples.ids, outputs.labels)
        if outputs.model is not None:
            outcome.model.save(outputs.model)
        if outputs.report is not None:
            with progress_bar(shown=watched()):
                report_progress("drawing", 0, 1)
                _write_report(outcome, outputs.report)
    _show(outcome, outputs)


@contextmanager
def _workers(scheduler: str | None) -> Iterator[None]:
    """Connect to a scheduler, if one is given, for as long as the block runs."""
    if scheduler is None:
        yield
        return
    from anchorview.distributed import connected

    with connected(scheduler):
        yield


def _cluster(
    load: Load, method: str, settings: Mapping[str, Any], outputs: Outputs, on_workers: bool
) -> Outcome:
    report_progress("reading", 0, 1)
    import numpy as np

    from anchorview.metrics import clustering_scores

    estimator = _estimator(method, settings)
    samples = load()
    views = samples.data
    if on_workers:
        from anchorview.distributed import dask_views

        views = dask_views(views)
    clock = perf_counter()
    places = {} if outputs.results is None else {"out": outputs.results}
    model = estimator.fit(views, **places)
    seconds = perf_counter() - clock
    # Labels on workers come here only if someone wants to see them.
    wanted = outputs.labels is not None or samples.target is not None
    labels: Any = np.asarray(model.labels_) if wanted else None
    scores = {} if samples.target is None else clustering_scores(samples.target, labels)
    return Outcome(model, labels, seconds, samples, scores)


def _estimator(method: str, settings: Mapping[str, Any]) -> Any:
    cls = method_class(method)
    known = cls().get_params()
    for name in settings:
        if name not in known:
            raise ValueError(
                f"{option_name(name)} is not a setting of {method}; {cls.__name__} in Python has "
                f"{', '.join(sorted(known))}."
            )
    return cls(**settings)


def write_labels(labels: Any, confidence: Any, ids: Any, out: Path) -> None:
    columns = {
        "sample": range(len(labels)) if ids is None else ids.tolist(),
        "cluster": labels.tolist(),
    }
    if confidence is not None:
        columns["confidence"] = [f"{share:.3f}" for share in confidence.tolist()]
    with atomic_write(out) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_report(outcome: Outcome, path: Path) -> None:
    from anchorview.report import write_fit_report
    from anchorview.views.container import MultiViewData

    samples = outcome.samples
    write_fit_report(
        path,
        outcome.model,
        # Views that are too large for memory are left where they are.
        samples.data if isinstance(samples.data, MultiViewData) else None,
        target=samples.target,
        sample_ids=samples.ids,
        call=shlex.join(["anchorview", *sys.argv[1:]]),
        scores=outcome.scores or None,
        seconds=outcome.seconds,
        name=samples.name,
    )


def _show(outcome: Outcome, outputs: Outputs) -> None:
    show_views_of_model(outcome.model)
    lines = [
        *fit_lines(outcome.model, outcome.seconds),
        *closing_lines(outcome.scores, outputs.labels or outputs.results),
    ]
    if outputs.model is not None:
        lines.append(f"Model saved to {printable(outputs.model)}")
    if outputs.report is not None:
        lines.append(f"Report written to {printable(outputs.report)}")
    print_lines(lines)
