"""Fitted models to files and back, without pickle: loading runs no code from the file."""

import json
import os
from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.estimators.persistence.model_file import (
    ModelFileError,
    invalid,
    read_model_file,
    write_model_file,
)
from anchorview.estimators.persistence.restoring import restored
from anchorview.estimators.persistence.storing import stored

__all__ = ["ModelFileError", "load_model", "save_model"]


def save_model(model: DALMC | AutoDALMC, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file.

    The file holds the parameters and all that was learned, but not the sums over past batches by
    which `DALMC.partial_fit` goes on: a loaded model refuses it. The file is written whole or not
    at all, and saving the same model again gives the same file.

    Parameters
    ----------
    model : DALMC or AutoDALMC
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
    A sequence or range given as a parameter is a list after loading, and a RandomState instance is
    None. Sample ids that are neither integers nor strings become strings.

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
    document, arrays = stored(model)
    try:
        # Whatever is written can be read again.
        restored(json.loads(json.dumps(document)), arrays)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"The model cannot be saved: {error}. Fit it again.") from error
    write_model_file(Path(path), document, arrays)


def load_model(path: str | os.PathLike[str]) -> DALMC | AutoDALMC:
    """Read a model that :func:`save_model` wrote; it embeds and predicts as the saved one did.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : DALMC or AutoDALMC
        Of the class that was saved.

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

    A model that chose its settings itself comes back with all of its candidates:

    >>> from anchorview import AutoDALMC, make_multiview
    >>> views, _ = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = AutoDALMC(n_clusters=3, max_candidates=4, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "clusters.anchorview")
    ...     again = load_model(Path(folder) / "clusters.anchorview")
    >>> again.candidates_.equals(model.candidates_)
    True
    """
    path = Path(path)
    document, arrays = read_model_file(path)
    try:
        return restored(document, arrays)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid(path, error) from error
