"""Report pages: self-contained HTML files on fitted models.

This package owns the descriptions of all charts, their interactive rendering, colors and pages,
also for the experiments. It imports estimators and metrics, but not experiments or the command
line. Bokeh and jinja2 are optional and imported when a page is written.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anchorview.report.fit_report import write_fit_report

__all__ = ["write_fit_report"]


def __getattr__(name: str) -> Any:
    # Lazy, like the names of the top-level package.
    if name in __all__:
        from anchorview.report import fit_report

        return getattr(fit_report, name)
    raise AttributeError(f"module 'anchorview.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
