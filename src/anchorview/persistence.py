"""Fitted models to files and back, without pickle: loading runs no code from the file."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview._modelfile import ModelFileError, invalid, read_model_file, write_model_file
from anchorview._restoring import restored
from anchorview._typing import Array
from anchorview.dalmc import DALMC
from anchorview.embedding import Embedder
from anchorview.planning import Plan

__all__ = ["ModelFileError", "load_model", "save_model"]


def save_model(model: DALMC, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file.

    The file holds the parameters and all that was learned, but not the sums over past batches by
    which `partial_fit` goes on: a loaded model refuses it. The file is written whole or not
    at all, and saving the same model again gives the same file.

    Parameters
    ----------
    model : DALMC
        A fitted model.
    path : str or path
        The file to write; one that exists is replaced.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If parameters were changed since the fit to what the fitted model cannot have.
    OutputFileError
        If the file cannot be written, or the disk is full.

    Notes
    -----
    A sequence given as a parameter is a list after loading, and a RandomState instance is None.
    Sample ids that are neither integers nor strings become strings.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview import DALMC
    >>> rng = np.random.default_rng(0)
    >>> views = [rng.standard_normal((50, 4)), rng.standard_normal((50, 6))]
    >>> model = DALMC(n_clusters=2, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clusters.anchorview"
    ...     save_model(model, path)
    ...     again = load_model(path)
    >>> bool((again.predict(views) == model.labels_).all())
    True
    """
    check_is_fitted(model, "labels_")
    document, arrays = _parts(model)
    try:
        # Whatever is written can be read again.
        restored(json.loads(json.dumps(document)), arrays)
    except (ValueError, TypeError) as error:
        raise ValueError(f"The model cannot be saved: {error}. Fit it again.") from error
    write_model_file(Path(path), document, arrays)


def load_model(path: str | os.PathLike[str]) -> DALMC:
    """Read a model that :func:`save_model` wrote; it embeds and predicts as the saved one did.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : DALMC

    Raises
    ------
    ModelFileError
        If there is no such file, it is damaged or not a model, or a newer version of anchorview
        wrote it.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview import DALMC
    >>> views = np.random.default_rng(0).standard_normal((50, 4))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clusters.anchorview"
    ...     save_model(DALMC(n_clusters=2, beta=0.5, random_state=0).fit(views), path)
    ...     load_model(path)
    DALMC(beta=0.5, n_clusters=2, random_state=0)
    """
    path = Path(path)
    document, arrays = read_model_file(path)
    try:
        return restored(document, arrays)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid(path, error) from error


def _parts(model: DALMC) -> tuple[dict[str, Any], dict[str, Array]]:
    """JSON document and arrays of a fitted model."""
    embedder: Embedder | None = model._embedder
    names = getattr(model, "feature_names_in_", None)
    document = {
        "params": {name: _plain(value) for name, value in model.get_params().items()},
        "view_names": list(model.view_names_in_),
        "feature_names": None if names is None else list(names),
        "sample_ids": _plain_ids(getattr(model, "sample_ids_", None)),
        "scalings": [
            {"unit_first": s.unit_first, "unit_last": s.unit_last, "norm": float(s.norm)}
            for s in model.scalings_
        ],
        "plan": _plain_plan(getattr(model, "plan_", None)),
        "normalize": bool(model._assignment.normalize),
        "beta": None if embedder is None else float(embedder.trace.beta),
    }
    arrays = {
        "labels": model.labels_,
        "embedding": model.embedding_,
        "view_weights": model.view_weights_,
        "objective": model.objective_,
        "centroids": model._assignment.centroids,
        **_by_view("anchors", model.anchors_),
        **_by_view("bases", model.bases_),
        **_by_view("center", [s.center for s in model.scalings_]),
        **_by_view("deviation", [s.deviation for s in model.scalings_]),
    }
    if embedder is not None:
        start = embedder.trace.start
        arrays |= _by_view("start/to_graph", start.to_graph)
        arrays |= _by_view("start/fill", start.fill)
        arrays |= _by_view("start/to_representation", start.to_representation)
        for t, step in enumerate(embedder.trace.steps):
            arrays[f"steps/{t}/weights"] = step.weights
            arrays[f"steps/{t}/to_graph"] = step.to_graph
            arrays |= _by_view(f"steps/{t}/bases", step.bases)
            arrays |= _by_view(f"steps/{t}/anchors", step.anchors)
            arrays |= _by_view(f"steps/{t}/to_representation", step.to_representation)
    return document, arrays


def _plain(value: Any) -> Any:
    """Value of a parameter as JSON has it."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic) or np.ndim(value):
        return np.asarray(value).tolist()
    return value


def _plain_ids(ids: "pd.Index[Any] | None") -> dict[str, Any] | None:
    if ids is None:
        return None
    return {
        "name": ids.name if isinstance(ids.name, str) else None,
        "labels": [label if type(label) is int else str(label) for label in ids.tolist()],
    }


def _plain_plan(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {
        "route": plan.route,
        "work": {route: float(cost) for route, cost in plan.work.items()},
        "memory": {route: float(cost) for route, cost in plan.memory.items()},
    }


def _by_view(name: str, arrays: Sequence[Array | None]) -> dict[str, Array]:
    return {f"{name}/{p}": array for p, array in enumerate(arrays) if array is not None}
