"""The command explain: what the clusters of a saved model are."""

# Imported by ``--help``: light modules only.
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anchorview._utils.progress import report_progress
from anchorview.cli import options
from anchorview.cli.loading import LoadedData, MetadataOptions, ReadingOptions, load_model
from anchorview.cli.output_files import Printing, check_outputs, write_table
from anchorview.cli.summaries import Record, closing_lines, outcome_record
from anchorview.cli.terminal import explained_errors, printable, progress_bar, table, write_outputs

if TYPE_CHECKING:
    import pandas as pd

SHOWN_CLUSTERS = 40
"""Maximum number of clusters in the table on the terminal."""


@options.with_groups
def explain(
    model: options.Model,
    data: options.Data,
    reading: ReadingOptions,
    about: MetadataOptions,
    printing: Printing,
    markers: options.Markers = None,
    summary: options.ClusterSummary = None,
    report: options.Report = None,
    batch: options.Batch = None,
) -> None:
    """Explain the clusters of a saved model: features, typical samples, nearest clusters.

    DATA may be new samples, but --report is about those of the fit.
    """
    with explained_errors(options=options.OPTION_NAMES):
        outputs = {"--markers": markers, "--summary": summary, "--report": report}
        given = {option: path for option, path in outputs.items() if path is not None}
        about.require_report(report)
        check_outputs(given, {"MODEL": model, "DATA": data, **about.inputs}, printing)
        with progress_bar(shown=printing.shows_progress):
            report_progress("reading", 0, 1)
            from anchorview.inspection import cluster_summary

            fitted = load_model(model)
            loaded = about.added_to(reading.load_for(data, fitted, batch))
            clusters = cluster_summary(fitted, loaded.views)
            written, errors = write_outputs(_writers(fitted, loaded, clusters), given)
        record = {
            "method": type(fitted).__name__,
            "n_samples": len(loaded),
            "n_clusters": len(clusters),
            "clusters": clusters.reset_index().astype(object).to_dict("records"),
            **outcome_record({}, written),
        }
        printing.show(record, _lines(clusters, record))
        if errors:
            raise ExceptionGroup("Some outputs failed", errors)


def _writers(
    model: Any, data: LoadedData, summary: "pd.DataFrame"
) -> dict[str, Callable[[Path], object]]:
    """Return functions that write the outputs, by option."""
    from anchorview.inspection import cluster_markers

    def write_summary(path: Path) -> None:
        table = summary.reset_index()
        for name in ("medoids", "features"):
            table[name] = table[name].map(lambda each: "; ".join(map(str, each)))
        write_table(table, path)

    return {
        "--markers": lambda path: write_table(cluster_markers(model, data.views), path),
        "--summary": write_summary,
        "--report": lambda path: data.write_report(path, model),
    }


def _lines(summary: "pd.DataFrame", record: Record) -> Iterator[str]:
    shown = summary.head(SHOWN_CLUSTERS)
    # Clusters without samples have neither a confidence nor a separation.
    columns = {
        "Samples": shown["size"],
        "Confidence": shown["confidence"].map("{:.2f}".format).replace("nan", ""),
        "Nearest": ["" if each is None else printable(each) for each in shown["nearest_cluster"]],
        "Separation": shown["separation"].map("{:.2f}".format).replace("nan", ""),
        "Leading feature": [printable(each[0]) if each else "" for each in shown["features"]],
    }
    yield table(zip(shown.index, *columns.values(), strict=True), "Cluster", *columns)
    if len(shown) < len(summary):
        more = len(summary) - len(shown)
        yield f"and {more} more clusters; --summary writes all of them to a file"
    yield f"{record['n_samples']} samples in {len(summary)} clusters"
    yield from closing_lines(record)
