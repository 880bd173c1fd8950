"""Report pages: self-contained HTML files on fitted models.

This package owns pages, also those of the experiments, with the interactive map and cards; charts
are those of ``plotting``. It does not import experiments or the command line. Matplotlib and jinja2
are optional and imported when a page is written.
"""

from anchorview.report.fit_report import write_fit_report

__all__ = ["write_fit_report"]
