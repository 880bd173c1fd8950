"""Report pages: one HTML file each, with everything in it, that needs no network."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anchorview.report.fit_report import write_fit_report

__all__ = ["write_fit_report"]


def __getattr__(name: str) -> Any:
    # Imported when first used, like the names of the package itself.
    if name in __all__:
        from anchorview.report import fit_report

        return getattr(fit_report, name)
    raise AttributeError(f"module 'anchorview.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
