"""Terminal output: option names in errors, warnings, progress bars."""

import inspect
import time
import warnings

import pytest

from anchorview._utils.progress import report_progress
from anchorview.cli import commands
from anchorview.cli.options import OPTION_NAMES
from anchorview.cli.terminal import explained_errors, name_options, progress_bar


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Pass out= or n_clusters.", "Pass --results or -k."),
        ("view 0 ('n_clusters'), n_clusters.npz and impute it", None),
        ("Use preprocess='clr' and beta=1e+18.", "Use --preprocess clr and --beta 1e+18."),
        ("id_column=False or id_column='x'", "--no-id-column or id_column='x'"),
        ("The 'n_clusters' parameter of DALMC must be an int.", "-k must be an int."),
        ("The 'solver' parameter of DALMC must be a str.", "--solver must be a str."),
        ("tol=0.5 and random_state=1.5.", "--tol 0.5 and --seed 1.5."),
        ("n_clusters=[3, 4] must", "-k '[3, 4]' must"),
        ("/data/n_clusters/a.npz, n_clusters_ and --out=x", None),
    ],
)
def test_errors_name_options_instead_of_parameters(message, expected):
    assert name_options(message, OPTION_NAMES) == (expected or message)


def test_named_options_exist():
    parameters = inspect.signature(commands.fit).parameters
    for parameter, option in OPTION_NAMES.items():
        special = {"out": "results", "id_column": "no_id_column", "header": "no_header"}
        special["views"] = "view"
        name = parameter.partition("=")[0]
        name = special.get(name, name)
        declared = parameters[name].annotation.__metadata__[0]
        # Typer takes the first name of an option for its default until the command is built.
        names = [declared.default, *declared.param_decls, f"--{name.replace('_', '-')}"]
        assert option in names


def test_warning_filters_are_respected():
    with pytest.raises(UserWarning, match="strict"), explained_errors():
        warnings.warn("strict", stacklevel=1)


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_note_stays_on_the_bar_of_its_stage(capsys, monkeypatch, width):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    notes = [f"best so far: [red]zscore-unit, {50 * 'x'}, agreement 0.{n}" for n in (81, 82)]
    with progress_bar(shown=True):
        report_progress("candidates", 0, 3)
        for done, note in enumerate(notes, 1):
            report_progress(f"candidates ({note})", done, 3)
            time.sleep(0.25)
    shown = capsys.readouterr().err
    # A second bar, or a note that wraps, would need a second line to be cleared.
    assert "\x1b[1A\x1b[2K\x1b[1A\x1b[2K" not in shown
    assert "candid" in shown
    assert ("best so far" in shown) == (width > 30)
    for note in notes:
        assert (note in shown) == (width == 200)
