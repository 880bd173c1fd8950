"""What the clusters of a saved model are: summary, markers and report, from files to files."""

# Imported by ``--help``: light modules only.
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview._utils.atomic_files import atomic_write, require_writable
from anchorview._utils.progress import report_progress
from anchorview.cli.clustering import (
    Printing,
    require_report_packages,
    require_separate,
    warn_about_formulas,
)
from anchorview.cli.loading import DataReader, load_model
from anchorview.cli.terminal import (
    attempt_all,
    print_json,
    print_lines,
    print_table,
    printable,
    progress_bar,
    raise_all,
    summary_to,
)

if TYPE_CHECKING:
    import pandas as pd

SHOWN_CLUSTERS = 40
"""Maximum number of clusters in the table on the terminal."""


def explain_clusters(
    model_path: Path, reader: DataReader, outputs: Mapping[str, Path | None], printing: Printing
) -> None:
    """Inspect the clusters of a model on samples, write the outputs and print a summary.

    `outputs` are the paths of ``--markers``, ``--summary`` and ``--report``. All are attempted if
    one of them fails.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    require_separate(given, {"MODEL": model_path, "DATA": reader.path})
    for path in given.values():
        require_writable(path)
    if "--report" in given:
        require_report_packages()
    with progress_bar(shown=printing.shows_progress):
        report_progress("reading", 0, 1)
        from anchorview.inspection import cluster_markers, cluster_summary

        model = load_model(model_path)
        data = reader.load_for(model)
        summary = cluster_summary(model, data.views)

    def write_report(path: Path) -> None:
        from anchorview.report import write_fit_report

        # Views that are too large for memory are not drawn.
        views, ids = data.in_memory, data.ids
        write_fit_report(path, model, views, target=data.target, sample_ids=ids, name=data.name)

    writers: dict[str, Callable[[Path], object]] = {
        "--markers": lambda path: _write_table(cluster_markers(model, data.views), path),
        "--summary": lambda path: _write_table(_with_joined_lists(summary), path),
        "--report": write_report,
    }
    with progress_bar(shown=printing.shows_progress):
        done, errors = attempt_all(
            {option: partial(writers[option], path) for option, path in given.items()}
        )
    written = {option: path for option, path in given.items() if option in done}
    if printing.as_json:
        print_json(_record(model, summary, len(data), written))
    with summary_to(printing.summary_target()):
        _print_clusters(summary)
        print_lines(*_closing_lines(len(data), summary, written))
    raise_all(errors)


def _with_joined_lists(summary: "pd.DataFrame") -> "pd.DataFrame":
    joined = {name: summary[name].map(_joined) for name in ("medoids", "features")}
    return summary.assign(**joined).reset_index()


def _joined(items: Iterable[object]) -> str:
    return "; ".join(map(str, items))


def _write_table(table: "pd.DataFrame", path: Path) -> None:
    texts = table.select_dtypes(exclude="number").to_numpy().ravel().tolist()
    # In a summary, names of features follow those of their views.
    names = dict.fromkeys(name for text in texts for name in re.split("[;:] ", str(text)))
    warn_about_formulas(names, "names")
    with atomic_write(path) as stream:
        table.to_csv(stream, index=False, float_format="%.6g", lineterminator="\n")


def _print_clusters(summary: "pd.DataFrame") -> None:
    rows = summary.head(SHOWN_CLUSTERS).reset_index()
    cells = zip(
        rows["cluster"],
        rows["size"],
        map(_two_digits, rows["confidence"]),
        ["" if cluster is None else printable(cluster) for cluster in rows["nearest_cluster"]],
        map(_two_digits, rows["separation"]),
        [printable(features[0]) if features else "" for features in rows["features"]],
        strict=True,
    )
    columns = ("Samples", "Confidence", "Nearest", "Separation", "Leading feature")
    print_table(cells, "Cluster", *columns)


def _two_digits(value: float) -> str:
    """Return a number as text; of clusters without samples there is none."""
    return "" if isnan(value) else f"{value:.2f}"


def _closing_lines(
    n_samples: int, summary: "pd.DataFrame", written: Mapping[str, Path]
) -> Iterator[str]:
    if len(summary) > SHOWN_CLUSTERS:
        more = len(summary) - SHOWN_CLUSTERS
        yield f"and {more} more clusters; --summary writes all of them to a file"
    yield f"{n_samples} samples in {len(summary)} clusters"
    for option, path in written.items():
        yield f"{option.removeprefix('--').capitalize()} written to {printable(path)}"


def _record(
    model: Any, summary: "pd.DataFrame", n_samples: int, written: Mapping[str, Path]
) -> dict[str, Any]:
    """Machine-readable summary of the clusters."""
    return {
        "method": type(model).__name__,
        "n_samples": n_samples,
        "n_clusters": len(summary),
        "clusters": summary.reset_index().astype(object).to_dict("records"),
        "outputs": {option.removeprefix("--"): str(path) for option, path in written.items()},
    }
