"""Options of the commands: how they are declared and shown, and those of a fit.

An option is a field of a dataclass, or a parameter of a command that has a field as its default. It
has the name of the parameter of the library that it sets.
"""

import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_type_hints

import typer
from typer.core import TyperCommand

from anchorview.cli.terminal import explained_errors

# Repeated here because the estimators' constraints import scikit-learn; tests compare them.
SolverName = Literal["auto", "compressed", "left", "direct", "truncated"]
AssignmentName = Literal["kmeans", "cluster_qr"]
BudgetName = Literal["fast", "default", "thorough"]

HELP = {"help_option_names": ["-h", "--help", "--help-all"]}


class Command(TyperCommand):
    """A command that explains its errors, and shows advanced options only if asked for."""

    def invoke(self, context: Any) -> Any:
        """Run the command."""
        with explained_errors():
            return super().invoke(context)

    def parse_args(self, context: Any, args: list[str]) -> Any:
        """Parse the arguments."""
        context.meta["all"] = "--help-all" in args
        return super().parse_args(context, args)

    def format_help(self, context: Any, formatter: Any) -> None:
        """Write the help, with advanced options after ``--help-all``."""
        for parameter in self.params:
            advanced = getattr(parameter, "rich_help_panel", None) is not None
            parameter.hidden = advanced and not context.meta["all"]  # type: ignore[attr-defined]
        super().format_help(context, formatter)

    def get_help_option(self, context: Any) -> Any:
        """Option that shows the help."""
        shown: Any = super().get_help_option(context)
        shown.help = "Show this message, or all options, and exit."
        return shown


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[..., None]], Any]:
    """Add a function to the commands; fields of dataclasses among its parameters are options."""
    add = app.command(name, cls=Command, context_settings=HELP)
    return lambda function: add(_with_groups(function))


def _with_groups(function: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: dict[str, tuple[Any, Any]] = {}
    for name, given in signature(function).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name])
            options |= {each.name: (types[each.name], each) for each in fields(groups[name])}
        else:
            options[name] = hints[name], given.default
    parameters = [_parameter(name, *each) for name, each in options.items()]

    @wraps(function)
    def grouped(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        function(**values)

    grouped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return grouped


def _parameter(name: str, kind: Any, default: Any) -> Parameter:
    if isinstance(default, Field):
        kind, default = Annotated[kind, default.metadata["option"]], default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def option(
    description: str, *names: str, default: object = None, panel: str | None = None, **rest: Any
) -> Any:
    """Option with a help text; those in a panel are advanced."""
    shown = typer.Option(*names, help=description, rich_help_panel=panel, **rest)
    return field(default=default, metadata={"option": shown})


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
    for text in texts or ():
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


def _path_or_address(text: str) -> Path:
    """Path, or address such as ``s3://bucket/folder``, as text: a path has no double slash."""
    return cast(Path, text) if "://" in text else Path(text)


# Any and not Path: older versions of typer make a path of what the parser returns.
DATA_HELP = (
    "A .npz, .mat, .h5, .h5mu or .h5ad file, a Zarr store, or a folder of .npy, .csv or .parquet "
    "files; Parquet and Zarr also as s3://bucket/folder."
)
Data = Annotated[Any, typer.Argument(parser=_path_or_address, metavar="DATA", help=DATA_HELP)]
NewFolder = Annotated[Path, typer.Argument(help="Folder to create.")]
Model = Annotated[Path, typer.Argument(help="Model saved by fit --save.")]
Mapping = Annotated[
    Path, typer.Argument(help="JSON file of new names by cluster, as the report writes it.")
]
SAVED = {"parser": _path_or_address, "metavar": "MODEL|DATA", "help": "Saved model, or data."}
ModelOrData = Annotated[Any, typer.Argument(**SAVED)]

REPORT = option("HTML report on the fit.")
DIGITS_LABELS = option("CSV file for the labels.", default=Path("digits_labels.csv"))
DIGITS_REPORT = option("HTML report on the fit.", default=Path("digits_report.html"))
NEW_MODEL = option("File for the model with the new clusters.", default=Parameter.empty)
MARKERS = option("CSV file for the features that set clusters apart.")
SUMMARY = option("CSV file with one row per cluster.")
LEVEL = option("Number of clusters of a level that info lists; for models of auto.", metavar="K")
DTYPE = option("Type of the stored numbers, by default as in the data.")
LABELS_KNOWN = option(
    "CSV file of sample ids (or positions) and their classes, if known.", panel="Samples"
)
BATCH = option(
    "CSV file of batches to take out, in the order of the samples or after ids.", panel="Samples"
)
WEIGHTS = option(
    "Weights: a column of the data, or a file as for --batch.", metavar="NAME", panel="Samples"
)


def _setting(description: str, *names: str, **rest: Any) -> Any:
    return option(description, *names, panel="Settings of dalmc", **rest)


def _computation(description: str, *names: str, **rest: Any) -> Any:
    return option(description, *names, panel="Computation", **rest)


@dataclass(frozen=True)
class Settings:
    """Settings of DALMC."""

    n_anchors: int | None = _setting("Number of anchors (number of clusters).", min=1)
    n_components: int | None = _setting("Components per view (twice the clusters).", min=1)
    beta: float | None = _setting("Weight of the alignment of the views (0.1).", min=0)
    scaling: str | None = _setting("zscore-unit, unit-center, zscore, unit or none (zscore-unit).")
    solver: SolverName | None = _setting("All but truncated give the same result (auto).")
    assignment: AssignmentName | None = _setting("Clustering of the embedding (kmeans).")
    n_init: int | None = _setting("Number of restarts (10).", min=1)
    max_iter: int | None = _setting("Maximum number of iterations (50).", min=1)
    tol: float | None = _setting("Relative change of the objective to stop at (0.0001).", min=0)


K_HELP = "Number of clusters, or numbers to choose from: 10, 2-30 or 5,8,10."


@dataclass(frozen=True)
class FitOptions(Settings):
    """Parameters of the estimator, and where it runs."""

    # Any: typer has no type for one number or several.
    n_clusters: Any = option(K_HELP, "--clusters", "-k", parser=parse_n_clusters, metavar="K")
    budget: BudgetName | None = option("Effort: fast, default or thorough.", metavar="NAME")
    preprocess: list[str] | None = option(
        "Preprocess a view, or all: lognorm, clr or tfidf (counts), impute-mean or impute-median "
        "(single missing values), table, kernel, distance or graph (square views).",
        metavar="[VIEW=]STEP",
        panel="Views",
    )
    view_importance: list[str] | None = option(
        "How much a view counts (1).", "--importance", metavar="VIEW=NUMBER", panel="Views"
    )
    reference: Path | None = option(
        "Saved model with clusters that the new ones continue.", metavar="MODEL", panel="Samples"
    )
    memory_limit: str | None = _computation("Memory to use, such as 2GB (half of what is free).")
    random_state: int = option("Random seed.", "--seed", default=0, min=0, metavar="N")
    method: Literal["auto", "dalmc"] | None = _computation(
        "auto, which chooses the settings of dalmc, is the default unless one of them is given."
    )
    scheduler: str | None = _computation(
        "Dask scheduler, such as tcp://host:8786, whose workers read the files and compute."
    )
    verbose: bool = _computation("Print sizes and times of stages.", "--verbose", default=False)

    def estimator(self) -> Any:
        """Estimator of the method, with the parameters that were given."""
        from anchorview import DALMC, AutoDALMC

        steps: Any = self.preprocess
        one = steps is not None and len(steps) == 1 and "=" not in steps[0]
        values = vars(self) | {
            "preprocess": steps[0] if one else parse_pairs(steps, "--preprocess"),
            "view_importance": parse_pairs(self.view_importance, "--importance", float),
            "verbose": int(self.verbose),
            **dict.fromkeys(("method", "scheduler", "reference")),
        }
        given = {name: value for name, value in values.items() if value is not None}
        settings = [name.replace("_", "-") for name in given if name in Settings.__annotations__]
        if self.method != "dalmc" and not settings:
            return AutoDALMC(**given)
        if self.method == "auto":
            raise ValueError(f"--{settings[0]} is a setting of dalmc: leave out --method auto.")
        if self.budget is not None:
            raise ValueError(
                "--budget is for auto, which chooses the settings that dalmc is given."
            )
        if not isinstance(self.n_clusters, int):
            raise ValueError(
                "-k: dalmc needs one number of clusters, such as -k 10; only auto, the default "
                "without settings, chooses the number."
            )
        return DALMC(**given)
