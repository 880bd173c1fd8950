"""Arguments and options of the command line: types, names and help."""

# Only light modules here, as for the commands themselves.
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from anchorview.estimators.methods import METHODS

# Spelled out because the estimator's own lists come with scikit-learn; a test holds them equal.
SolverName = Literal["auto", "compressed", "left", "direct"]
AssignmentName = Literal["kmeans", "cluster_qr"]
MethodName = Literal[METHODS]  # type: ignore[valid-type]


def numbers_of_clusters(text: str) -> Any:
    """Value of -k: a number, or the numbers to choose from."""
    numbers: Any = None
    if re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, re.ASCII):
        numbers = sorted({int(part) for part in text.split(",")})
    elif ends := re.fullmatch(r"(\d{1,9})-(\d{1,9})", text, re.ASCII):
        numbers = range(int(ends[1]), int(ends[2]) + 1)
    if not numbers or numbers[0] < 2:
        raise typer.BadParameter(
            f"{text!r} is not a number from 2 on (10), a range of them (2-30) or a list (5,8,10)."
        )
    return numbers[0] if len(numbers) == 1 else numbers


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .npz, .mat, .h5 or .h5mu file of views, a Zarr store, or a folder of .npy, .csv or "
        ".parquet files.",
    ),
]
NewFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder to make; it must not be there yet.")
]
NumberType = Annotated[
    Literal["float32", "float64"] | None,
    typer.Option("--dtype", help="Type of the numbers.", show_default="as they are"),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by fit --save.")]
ModelOrData = Annotated[
    Path, typer.Argument(metavar="MODEL|DATA", help="A saved model, or data in any form.")
]
ZeroRowsMissing = Annotated[
    bool,
    typer.Option("--zero-rows-missing", help="A row of zeros is a sample without that view."),
]

_OUT_HELP = "CSV file to write the clusters to."
Out = Annotated[Path | None, typer.Option(help=_OUT_HELP, show_default=False)]
OutInAnyCase = Annotated[Path, typer.Option(help=_OUT_HELP)]
Save = Annotated[
    Path | None, typer.Option(help="File to save the model to, for predict.", show_default=False)
]
Report = Annotated[
    Path | None,
    typer.Option(help="HTML file to write a report of the fit to.", show_default=False),
]
ReportInAnyCase = Annotated[Path, typer.Option("--report", help="HTML file to write a report to.")]

Results = Annotated[
    Path | None,
    typer.Option(
        help="Folder for embedding.npy and labels.npy, written part by part; for dalmc.",
        show_default=False,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory to use, such as 2GB. Larger data that can stay on disk are read part by part, "
        "by dalmc.",
        show_default="half of what is free",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask scheduler, such as tcp://host:8786, whose workers read the files and do the "
        "work, by dalmc.",
        show_default=False,
    ),
]

# Any: typer knows no type for one number or several.
Clusters = Annotated[
    Any,
    typer.Option(
        "--clusters",
        "-k",
        parser=numbers_of_clusters,
        metavar="K",
        help="Number of clusters (10), or numbers among which auto chooses (2-30 or 5,8,10). "
        "Other methods than auto require one number.",
        show_default="auto chooses, at most 30",
    ),
]
Method = Annotated[
    MethodName | None,
    typer.Option(
        help="The clustering method; auto is dalmc with settings chosen by agreement.",
        show_default="auto, or dalmc if a setting of it is given",
    ),
]
MaxCandidates = Annotated[
    int | None,
    typer.Option(help="Most settings that auto tries; fewer take less time.", show_default="all"),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all randomness.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print sizes and times of the stages.")]


def _setting(default: str, description: str) -> Any:
    return typer.Option(
        help=description,
        show_default=default,
        rich_help_panel="Settings of single methods, with the defaults of dalmc",
    )


NAnchors = Annotated[int | None, _setting("as many as clusters", "Columns of the anchor graph.")]
NComponents = Annotated[
    int | None, _setting("twice the clusters", "Size of each view's representation.")
]
Beta = Annotated[float | None, _setting("0.1", "Weight of the alignment of the views.")]
Scaling = Annotated[
    str | None,
    _setting(
        "zscore-unit",
        "What is done to each view first: zscore-unit, unit-center, zscore, unit or none; "
        "rows, features or none for opmc.",
    ),
]
Solver = Annotated[
    SolverName | None,
    _setting("auto", "Form of the data to solve on; all give the same result."),
]
Assignment = Annotated[
    AssignmentName | None, _setting("kmeans", "How the embedding becomes clusters.")
]
NInit = Annotated[int | None, _setting("10", "Restarts.")]
MaxIter = Annotated[int | None, _setting("50", "Most iterations.")]
Tol = Annotated[
    float | None, _setting("0.0001", "Relative change of the objective at which to stop.")
]
