"""What the clusters of a saved model are: summary, markers and report, from files to files."""

# Imported by ``--help``: light modules only.
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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

    def write_summary(path: Path) -> None:
        table = summary.reset_index()
        for name in ("medoids", "features"):
            table[name] = table[name].map(lambda each: "; ".join(map(str, each)))
        _write_table(table, path)

    writers: dict[str, Callable[[Path], object]] = {
        "--markers": lambda path: _write_table(cluster_markers(model, data.views), path),
        "--summary": write_summary,
        "--report": write_report,
    }
    with progress_bar(shown=printing.shows_progress):
        done, errors = attempt_all(
            {option: partial(writers[option], path) for option, path in given.items()}
        )
    written = {option: path for option, path in given.items() if option in done}
    if printing.as_json:
        print_json(
            {
                "method": type(model).__name__,
                "n_samples": len(data),
                "n_clusters": len(summary),
                "clusters": summary.reset_index().astype(object).to_dict("records"),
                "outputs": {option.removeprefix("--"): str(written[option]) for option in written},
            }
        )
    with summary_to(printing.summary_target()):
        _print_clusters(summary)
        if len(summary) > SHOWN_CLUSTERS:
            more = len(summary) - SHOWN_CLUSTERS
            print_lines(f"and {more} more clusters; --summary writes all of them to a file")
        print_lines(f"{len(data)} samples in {len(summary)} clusters")
        for option, path in written.items():
            what = option.removeprefix("--").capitalize()
            print_lines(f"{what} written to {printable(path)}")
    raise_all(errors)


def _write_table(table: "pd.DataFrame", path: Path) -> None:
    texts = table.select_dtypes(exclude="number").to_numpy().ravel().tolist()
    # In a summary, names of features follow those of their views.
    names = dict.fromkeys(name for text in texts for name in re.split("[;:] ", str(text)))
    warn_about_formulas(names, "names")
    with atomic_write(path) as stream:
        table.to_csv(stream, index=False, float_format="%.6g", lineterminator="\n")


def _print_clusters(summary: "pd.DataFrame") -> None:
    shown = summary.head(SHOWN_CLUSTERS)
    # Clusters without samples have neither a confidence nor a separation.
    columns = {
        "Samples": shown["size"],
        "Confidence": shown["confidence"].map("{:.2f}".format).replace("nan", ""),
        "Nearest": ["" if each is None else printable(each) for each in shown["nearest_cluster"]],
        "Separation": shown["separation"].map("{:.2f}".format).replace("nan", ""),
        "Leading feature": [printable(each[0]) if each else "" for each in shown["features"]],
    }
    print_table(zip(shown.index, *columns.values(), strict=True), "Cluster", *columns)
