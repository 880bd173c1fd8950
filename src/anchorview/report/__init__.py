"""Report pages: self-contained HTML files on fitted models.

This package owns the descriptions of all charts, their interactive rendering, colors and pages,
also for the experiments. It imports estimators and metrics, but not experiments or the command
line. Bokeh and jinja2 are optional and imported when a page is written.
"""

from anchorview.report.fit_report import write_fit_report

__all__ = ["write_fit_report"]
