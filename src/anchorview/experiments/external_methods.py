"""External methods: classes and functions outside of this package, named by ``module:name``.

``docs/own_methods.md`` has the contract.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, signature
from pathlib import Path
from typing import Any, Self

import numpy as np

from anchorview._utils.text import one_line
from anchorview.datasets import make_multiview
from anchorview.estimators import methods
from anchorview.estimators.methods import Method, method_class
from anchorview.views.container import MultiViewData

SET_BY_JOBS = ("n_clusters", "random_state", "verbose")
"""Parameters that are set from the data set, the seed and the options."""

CHECKED_SAMPLES, CHECKED_CLUSTERS = 90, 3
"""Size of the data on which :func:`check_method` tries a method."""


def is_external(name: str) -> bool:
    """Whether a method is not of this package, but named by its module."""
    return ":" in name


def find_method(name: str) -> Method:
    """Entry of a method of the registry, or one made for ``module:name``."""
    if not is_external(name):
        return methods.find_method(name)
    imported(name)
    return Method(name, name, name.rpartition(":")[2], color="", grid={})


class ExternalMethod:
    """An external class or function as an estimator; `fit` sets `labels_` only."""

    def __init__(self, name: str, n_clusters: int, **settings: Any) -> None:
        self.name, self.target = name, imported(name)
        self.settings = {"n_clusters": n_clusters, **settings}

    def fit(self, data: MultiViewData) -> Self:
        """Cluster the views, which are passed as a dict of arrays or sparse matrices."""
        views = dict(zip(data.names, data.views, strict=True))
        if isclass(self.target):
            model: Any = self.target(**self.settings)
            if hasattr(model, "fit_predict"):
                found = model.fit_predict(views)
            else:
                model.fit(views)
                found = model.labels_
        else:
            found = self.target(views, **self.settings)
        labels = np.asarray(found)
        if labels.shape != (len(data),) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"{self.name} returned labels of shape {labels.shape} and type {labels.dtype} for "
                f"{len(data)} samples; return one integer per sample"
            )
        self.labels_ = labels.astype(np.int32)
        return self


@cache
def imported(name: str) -> Any:
    """Import the class or function ``module:name``, and check that jobs can call it."""
    module, _, attribute = name.partition(":")
    try:
        target = getattr(import_module(module), attribute)
        views = [] if isclass(target) else ["views"]
        signature(target).bind(*views, n_clusters=2, random_state=0)
        return target
    except Exception as error:
        raise ValueError(
            f"Method {name!r} cannot be used ({type(error).__name__}: {one_line(error)}). Write "
            "module:Class or module:function, with the module in the current folder or installed; "
            "it takes n_clusters and random_state, and has defaults for all other parameters."
        ) from error


def default_settings(name: str) -> dict[str, Any]:
    """Default values of the parameters of a method."""
    target = imported(name) if is_external(name) else method_class(name)
    taken = list(signature(target).parameters.values())
    # The first parameter of a function is the views.
    return {each.name: each.default for each in taken[0 if isclass(target) else 1 :]}


@cache
def code_digest(name: str) -> str:
    """Digest of the code of an external method, else "": one that was changed is run again."""
    if not is_external(name):
        return ""
    spec = find_spec(name.partition(":")[0].partition(".")[0])
    folders = spec.submodule_search_locations if spec else None
    origin = [Path(spec.origin)] if spec and spec.origin else []
    files = sorted(p for each in folders for p in Path(each).rglob("*.py")) if folders else origin
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def check_method(name: str) -> Iterator[str]:
    """Try a method on small data; yields warnings, and raises for what no experiment runs with."""
    views, _ = make_multiview(CHECKED_SAMPLES, n_clusters=CHECKED_CLUSTERS, random_state=0)
    found = []
    for _ in range(2):
        data = MultiViewData({key: view.copy() for key, view in views.items()})
        model = ExternalMethod(name, CHECKED_CLUSTERS, random_state=0)
        try:
            model.fit(data)
        except Exception as error:
            raise ValueError(
                f"Method {name!r} failed on a dict of {len(views)} arrays with {CHECKED_SAMPLES} "
                f"samples each, n_clusters={CHECKED_CLUSTERS} ({type(error).__name__}: "
                f"{one_line(error)})."
            ) from error
        for key, view in zip(data.names, data.views, strict=True):
            if not np.array_equal(view, views[key]):
                raise ValueError(
                    f"Method {name!r} changes its input, the array {key!r}. Other runs get the "
                    "same arrays: copy before writing."
                )
        found.append(model.labels_)
    if not np.array_equal(found[0], found[1]):
        yield f"{name} gives other labels for the same random_state: results cannot be repeated."
    n_found = len(np.unique(found[0]))
    if n_found != CHECKED_CLUSTERS:
        yield f"{name} found {n_found} clusters with n_clusters={CHECKED_CLUSTERS}."
