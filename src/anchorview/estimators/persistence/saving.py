"""Fitted models to files and back, without pickle: loading runs no code from the file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.typing import Array
from anchorview.estimators.methods import REGISTRY, method_class
from anchorview.estimators.persistence.codec import (
    Tree,
    decode,
    encode,
    entries,
    insert_arrays,
    require,
    split_arrays,
)
from anchorview.estimators.persistence.model_file import (
    invalid,
    read_model_file,
    write_model_file,
)

if TYPE_CHECKING:
    from anchorview.estimators.auto.auto_dalmc import AutoDALMC
    from anchorview.estimators.dalmc import DALMC

METHODS_BY_CLASS = {
    method.class_path.rpartition(".")[2]: method.name
    for method in REGISTRY
    if not method.is_compared
}
"""Estimators that can be saved. Each has a `FittedState` subclass as `_state_class`."""


def save_model(model: "DALMC | AutoDALMC", path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; saving it again gives the same file.

    Sums over past batches are not saved: a loaded model cannot continue `DALMC.partial_fit`.
    Sequences and ranges that are parameters become lists, a RandomState instance becomes None, and
    sample ids that are neither integers nor strings become strings.
    """
    check_is_fitted(model, "labels_")
    try:
        # What is written has been read before, so every file that is written can be loaded.
        document, arrays = _stored(model)
        document = json.loads(json.dumps(document))
        insert_arrays(document, arrays)
        document, arrays = _stored(_restored(document))
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"The model cannot be saved: {error}. Fit it again.") from error
    write_model_file(Path(path), document, arrays)


def load_model(path: str | os.PathLike[str]) -> "DALMC | AutoDALMC":
    """Read a model that :func:`save_model` wrote; it embeds and predicts as the saved one.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : DALMC or AutoDALMC

    Raises
    ------
    ModelFileError
        If the file does not exist, is damaged, is not a model, or was written by a newer version of
        anchorview.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import anchorview
    >>> views, _ = anchorview.make_multiview(60, n_clusters=3, random_state=0)
    >>> model = anchorview.DALMC(n_clusters=3, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "clusters.anchorview")
    ...     loaded = anchorview.load(Path(folder) / "clusters.anchorview")
    >>> loaded
    DALMC(n_clusters=3, random_state=0)
      60 samples in 3 clusters of 21, 20, 19
      view_0: 20 features, weight 0.45
      view_1: 30 features, weight 0.29
      view_2: 40 features, weight 0.26
    >>> bool((loaded.predict(views) == model.labels_).all())
    True
    """
    path = Path(path)
    document, arrays = read_model_file(path)
    try:
        insert_arrays(document, arrays)
        return _restored(document)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid(path, error) from error


def _stored(model: "DALMC | AutoDALMC") -> tuple[dict[str, Any], dict[str, Array]]:
    """JSON document and arrays of a fitted model."""
    # A subclass is stored as the estimator that it extends.
    names = (cls.__name__ for cls in type(model).__mro__)
    params = {name: _stored_param(value) for name, value in model.get_params().items()}
    return split_arrays(
        {
            "estimator": next(name for name in names if name in METHODS_BY_CLASS),
            "params": params,
            "state": encode(model._state_class.of(model)),
        }
    )


def _stored_param(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic) or np.ndim(value):
        return np.asarray(value).tolist()
    return value


def _restored(tree: Tree) -> "DALMC | AutoDALMC":
    """Model of a tree, all of which is checked."""
    tree = entries(tree, {"estimator", "params", "state"}, "")
    name, params = tree["estimator"], tree["params"]
    require(isinstance(name, str) and name in METHODS_BY_CLASS, "its estimator is unknown")
    require(isinstance(params, dict), "'params' is not an object")
    estimator = method_class(METHODS_BY_CLASS[name])
    unknown = min(params.keys() - estimator().get_params().keys(), default=None)
    require(unknown is None, f"the parameter {unknown!r} is unknown")
    for key, value in params.items():
        simple = type(value) in (int, float, str, bool, type(None))
        if isinstance(value, list):
            simple = all(type(item) in (int, float) for item in value)
        if isinstance(value, dict):
            simple = all(type(item) in (str, type(None)) for item in value.values())
        require(simple, f"the parameter {key!r} has a wrong type")
    # Parameters that are newer than the file have their defaults.
    model: DALMC | AutoDALMC = estimator(**params)
    model._validate_params()
    decode(tree["state"], model._state_class, "state").restore(model)
    return model
