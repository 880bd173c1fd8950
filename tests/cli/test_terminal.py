"""Terminal output: option names in errors, warnings, progress bars."""

import inspect
import time
import warnings

import pytest

from anchorview._utils.progress import report_progress
from anchorview.cli import commands
from anchorview.cli.terminal import FIT_OPTIONS, explained_errors, name_options, progress_bar


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Pass out= or n_clusters.", "Pass out= (--results) or n_clusters (-k)."),
        ("memory_limit='1.5 XB' is bad", "memory_limit='1.5 XB' (--memory-limit) is bad"),
        ("The 'n_clusters' parameter is 0.", "The 'n_clusters' (-k) parameter is 0."),
        ("The 'n_clusters' parameter of DALMC must be an int.", "-k must be an int."),
        ("The 'tol' parameter of DALMC must be a float.", "--tol must be a float."),
        (
            "n_samples=5 < n_clusters=9; lower n_clusters",
            "n_samples=5 < n_clusters=9 (-k); lower n_clusters",
        ),
        ("tol=0.5 and random_state=1.5.", "tol=0.5 and random_state=1.5 (--seed)."),
        ("/data/n_clusters/a.npz, n_clusters_ and --out=x", None),
        ("Leave out the layout=3 and my_memory_limit", None),
    ],
)
def test_errors_name_options_after_parameters(message, expected):
    assert name_options(message, FIT_OPTIONS) == (expected or message)


def test_named_options_exist():
    parameters = inspect.signature(commands.fit).parameters
    for parameter, option in FIT_OPTIONS.items():
        special = {
            "out=": "results",
            "id_column=False": "no_id_column",
            "header=False": "no_header",
        }
        name = special.get(parameter, parameter)
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
