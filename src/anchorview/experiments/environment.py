"""The environment of a result: versions, linear algebra libraries, machine."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

# Loads a BLAS library, so that threadpoolctl finds it.
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info

import anchorview
from anchorview._utils.threads import n_cores


def environment() -> dict[str, Any]:
    """Versions, BLAS libraries and machine on which results may depend; memory in bytes."""
    blas = {
        " ".join(filter(None, map(info.get, ("internal_api", "version", "architecture"))))
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
        "anchorview": anchorview.__version__,
        "blas": sorted(blas),
        "cpu": _cpu(),
        "cores": n_cores(),
        "memory": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
