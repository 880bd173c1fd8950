"""What a result depends on besides its job: versions, linear algebra, machine."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

import anchorview
from anchorview._utils.threads import n_cores

PACKAGES = ("numpy", "scipy", "scikit-learn")


def environment() -> dict[str, Any]:
    """Versions of what computes, and the machine that it runs on.

    Returns
    -------
    dict
        "python", "numpy", "scipy", "scikit-learn" and "anchorview" are versions; "blas" lists the
        loaded libraries of linear algebra; "cpu" is the model of the processor; "cores" are those
        that may be used; "memory" is in bytes; "system" is the operating system.
    """
    # One of the packages that bring a BLAS library must be loaded for it to be found.
    import scipy.linalg  # noqa: F401

    blas = {_library(info) for info in threadpool_info() if info["user_api"] == "blas"}
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "anchorview": anchorview.__version__,
        "blas": sorted(blas),
        "cpu": _cpu(),
        "cores": n_cores(),
        "memory": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _library(info: dict[str, Any]) -> str:
    words = (info["internal_api"], info.get("version"), info.get("architecture"))
    return " ".join(word for word in words if word)


def _cpu() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
