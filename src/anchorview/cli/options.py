"""Arguments and options of the commands: types, names and help texts."""

# Imported by ``--help``: light modules only.
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from anchorview.estimators.methods import METHODS

# Repeated here because the estimator's constraints import scikit-learn; a test compares them.
SolverName = Literal["auto", "compressed", "left", "direct", "truncated"]
AssignmentName = Literal["kmeans", "cluster_qr"]
MethodName = Literal[METHODS]  # type: ignore[valid-type]


def parse_n_clusters(text: str) -> int | list[int] | range:
    """Parse the value of -k: one number, or several to choose from."""
    numbers: list[int] | range = []
    if re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, re.ASCII):
        numbers = sorted({int(part) for part in text.split(",")})
    elif ends := re.fullmatch(r"(\d{1,9})-(\d{1,9})", text, re.ASCII):
        numbers = range(int(ends[1]), int(ends[2]) + 1)
    if not numbers or numbers[0] < 2:
        raise typer.BadParameter(
            f"{text!r} is not a number of at least 2 (10), a range (2-30) or a list (5,8,10)."
        )
    return numbers[0] if len(numbers) == 1 else numbers


def parse_pairs(
    texts: list[str] | None, option: str, convert: Callable[[str], Any] = str
) -> dict[str, Any] | None:
    """Parse options of the form VIEW=VALUE, each view once; None if there are none."""
    pairs: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ValueError(f"{option} {text}: write the name of a view, =, and a value.")
        if name in pairs:
            raise ValueError(f"{option} names the view {name!r} twice.")
        try:
            pairs[name] = convert(value)
        except ValueError:
            raise ValueError(f"{option} {text}: {value!r} is not a number.") from None
    return pairs or None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Make the fields of dataclasses among a command's parameters options of the command."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            added = [(each.name, each.default, types[each.name]) for each in fields(groups[name])]
        else:
            added = [(name, parameter.default, hints[name])]
        parameters += [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, default, annotation in added
        ]

    @wraps(command)
    def grouped(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        command(**values)

    grouped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return grouped


def option(description: str, *names: str, default: str | bool = True, **rest: Any) -> Any:
    """Option with a help text; `default` describes what is done without it."""
    return typer.Option(*names, help=description, show_default=default, **rest)


def _argument(metavar: str, description: str) -> Any:
    return typer.Argument(metavar=metavar, help=description)


Data = Annotated[
    Path,
    _argument(
        "DATA",
        "Multi-view data: a .npz, .mat, .h5, .h5mu or .h5ad file, a Zarr store, or a folder of "
        ".npy, .csv or .parquet files.",
    ),
]
NewFolder = Annotated[Path, _argument("FOLDER", "Folder to create.")]
Model = Annotated[Path, _argument("MODEL", "Model saved by fit --save.")]
Mapping = Annotated[
    Path, _argument("MAPPING", "JSON file of new names by cluster, as the report writes it.")
]
ModelOrData = Annotated[Path, _argument("MODEL|DATA", "Saved model, or data in any format.")]

NumberType = Annotated[
    Literal["float32", "float64"] | None,
    option("Type of the stored numbers.", "--dtype", default="as in the data"),
]

Out = Annotated[
    Path | None, option("CSV file for the cluster labels; - for standard output.", metavar="FILE")
]
Report = Annotated[Path | None, option("HTML file for a report on the fit.")]
Markers = Annotated[
    Path | None,
    option("CSV file for the features of each cluster, compared with the other samples."),
]
ClusterSummary = Annotated[Path | None, option("CSV file with one row per cluster.", "--summary")]
SaveRelabeled = Annotated[Path, option("File for the model with the new clusters.", "--save")]
BudgetName = Literal["fast", "default", "thorough"]
Level = Annotated[
    int | None,
    option(
        "Number of clusters of one of the levels that info lists; for models of auto.",
        metavar="K",
        default="the chosen number",
    ),
]

Doubtful = Annotated[
    int | None,
    option(
        "Number that --out has in place of the cluster of samples in doubt, which reports call "
        "doubtful (auto and dalmc); everything else stays as it is.",
        metavar="-1",
        max=-1,
        default=False,
    ),
]

Batch = Annotated[
    Path | None,
    option(
        "CSV file with the batch of each sample, which is taken out (auto and dalmc): a column in "
        "the order of the samples, or sample ids and batches.",
        metavar="FILE",
        default=False,
    ),
]


def _setting(default: str, description: str, **rest: Any) -> Any:
    panel = "Settings of the methods, with the defaults of dalmc"
    return option(description, default=default, rich_help_panel=panel, **rest)


@dataclass(frozen=True)
class Settings:
    """Settings of the methods."""

    n_anchors: Annotated[
        int | None, _setting("number of clusters", "Number of anchors.", min=1)
    ] = None
    n_components: Annotated[
        int | None,
        _setting(
            "twice the number of clusters",
            "Number of components of each view's representation.",
            min=1,
        ),
    ] = None
    beta: Annotated[
        float | None, _setting("0.1", "Weight of the alignment of the views.", min=0)
    ] = None
    scaling: Annotated[
        str | None,
        _setting(
            "zscore-unit",
            "Scaling of each view: zscore-unit, unit-center, zscore, unit or none; rows, features "
            "or none for opmc.",
        ),
    ] = None
    solver: Annotated[
        SolverName | None, _setting("auto", "Solver; all but truncated give the same result.")
    ] = None
    assignment: Annotated[
        AssignmentName | None, _setting("kmeans", "How labels are computed from the embedding.")
    ] = None
    n_init: Annotated[int | None, _setting("10", "Number of restarts.", min=1)] = None
    max_iter: Annotated[int | None, _setting("50", "Maximum number of iterations.", min=1)] = None
    tol: Annotated[
        float | None,
        _setting("0.0001", "Relative change of the objective below which iterations stop.", min=0),
    ] = None


@dataclass(frozen=True)
class FitOptions(Settings):
    """Options of a fit: method, number of clusters, preprocessing, resources, and settings."""

    # Any: typer has no type for one number or several.
    n_clusters: Annotated[
        Any,
        option(
            "Number of clusters (10), or numbers from which auto chooses (2-30 or 5,8,10). Methods "
            "other than auto require one number.",
            "--clusters",
            "-k",
            parser=parse_n_clusters,
            metavar="K",
            default="auto chooses",
        ),
    ] = None
    method: Annotated[
        MethodName | None,
        option(
            "Clustering method; auto is dalmc with settings chosen by agreement.",
            default="auto, or dalmc if one of its settings is given",
        ),
    ] = None
    budget: Annotated[
        BudgetName | None,
        option("How many settings auto tries, which determines its time.", default="default"),
    ] = None
    preprocess: Annotated[
        list[str] | None,
        option(
            "Preprocess a view, or all: lognorm, clr or tfidf (counts), impute-mean or "
            "impute-median (single missing values), table (auto and dalmc).",
            metavar="[NAME=]STEP",
            default=False,
        ),
    ] = None
    view_importance: Annotated[
        list[str] | None,
        option(
            "How much a view counts, relative to 1 for others, such as text=2.",
            "--importance",
            metavar="NAME=NUMBER",
            default="1 for all views",
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        option(
            "Memory to use, such as 2GB. Larger data are read from disk in parts by auto and "
            "dalmc, if their format allows it.",
            metavar="SIZE",
            default="half of the free memory",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        option(
            "Dask scheduler, such as tcp://host:8786, whose workers read the files and compute; "
            "for auto and dalmc.",
            metavar="ADDRESS",
        ),
    ] = None
    random_state: Annotated[int, option("Random seed.", "--seed", min=0, max=2**32 - 1)] = 0
    verbose: Annotated[
        bool, option("Print sizes and times of the stages on standard error.", "--verbose")
    ] = False

    @property
    def method_name(self) -> str:
        """Name of the method; by default dalmc if one of its settings is given."""
        given = any(getattr(self, name) is not None for name in Settings.__annotations__)
        return self.method or ("dalmc" if given else "auto")

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that were given."""
        values = vars(self) | {
            "preprocess": _steps(self.preprocess),
            "view_importance": parse_pairs(self.view_importance, "--importance", float),
            "verbose": int(self.verbose),
        }
        del values["method"], values["scheduler"]
        return {name: value for name, value in values.items() if value is not None}


def _steps(given: list[str] | None) -> Any:
    """Preprocessing of all views by one step, or by view."""
    if given is not None and len(given) == 1 and "=" not in given[0]:
        return given[0]
    return parse_pairs(given, "--preprocess")


def option_name(parameter: str) -> str:
    """Option of a parameter of the estimators that has the same name."""
    return f"--{parameter.replace('_', '-')}"


SAME_NAMES = ("memory_limit", "batch", "preprocess", "budget", *Settings.__annotations__)

OPTION_NAMES = {
    "n_clusters": "-k",
    "random_state": "--seed",
    "view_importance": "--importance",
    "out=": "--results",
    "views=": "--view",
    "categorical=": "--categorical",
    "drop=": "--drop",
    "id_column=False": "--no-id-column",
    "header=False": "--no-header",
} | {name if "_" in name else f"{name}=": option_name(name) for name in SAME_NAMES}
"""Options by the parameters that errors of the library name. A parameter that ends in an equals
sign is a word of English, too, and is an option only if a value follows."""
