"""Messages of estimators: printed if asked for, and logged where the program logs."""

import logging

from anchorview import DALMC, make_multiview


def fit(**parameters):
    views, _ = make_multiview(60, n_clusters=2, n_features=(4, 3), random_state=0)
    return DALMC(2, random_state=0, **parameters).fit(views)


def test_messages_are_logged_whether_or_not_verbose(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="anchorview"):
        fit()
        silent = len(caplog.records)
        fit(verbose=1)
    assert {record.name for record in caplog.records} == {"anchorview"}
    assert silent > 0
    assert len(caplog.records) == 2 * silent
    # They are not shown twice.
    assert capsys.readouterr().out == ""


def test_messages_are_printed_only_if_verbose(capsys):
    fit()
    assert capsys.readouterr().out == ""
    fit(verbose=1)
    assert "[DALMC]" in capsys.readouterr().out
