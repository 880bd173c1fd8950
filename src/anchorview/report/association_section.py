"""The section on variables that the clusters were not computed from."""

import pandas as pd

from anchorview.report.page import Section, Table

COLUMNS = {
    "variable": "Variable",
    "kind": "Kind",
    "n": "Samples",
    "test": "Test",
    "statistic": "Statistic",
    "effect_name": "Measure",
    "effect": "Effect",
    "p_value": "p-value",
    "q_value": "q-value",
}

SIGNIFICANT = 0.05
"""False discovery rate below which the introduction counts a variable."""


def association_section(associations: pd.DataFrame) -> Section:
    """Return the section for a table of :func:`anchorview.inspection.associate`."""
    lacking = [column for column in COLUMNS if column not in associations]
    if lacking:
        raise ValueError(
            f"associations lacks the column {lacking[0]!r}. Give the table that "
            "anchorview.inspection.associate returns."
        )
    found = int((associations["q_value"] < SIGNIFICANT).sum())
    text = (
        f"{found} of {len(associations)} variables differ between clusters at a false discovery "
        f"rate of {SIGNIFICANT:.0%}. Effects are from 0, no association, to 1. The q-values are "
        "valid only for variables that the clusters were not computed from."
    )
    frame = associations[list(COLUMNS)].rename(columns=COLUMNS)
    return Section("Other variables", [Table(frame, "Association with the clusters")], text)
