"""The report of a fit: what was found, how sure it is, and how to repeat it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anchorview._utils.atomic_files import require_writable
from anchorview.report.cluster_sections import (
    cluster_section,
    confusion_section,
    map_section,
    silhouettes,
)
from anchorview.report.fit_facts import DOUBTFUL, Fitted, gathered
from anchorview.report.history_sections import (
    candidate_section,
    convergence_section,
    repeat_section,
)
from anchorview.report.page import Facts, Part, Section, Text, write_page
from anchorview.report.view_sections import pattern_section, view_section


def write_fit_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    target: Any = None,
    sample_ids: Any = None,
    call: str | None = None,
    scores: Mapping[str, float] | None = None,
    seconds: float | None = None,
    name: str | None = None,
) -> None:
    """Write a page on a fitted model: one HTML file with everything in it.

    It has a map of the samples, the clusters, the views and how they agree, the convergence, the
    patterns of missing views, the candidates of :class:`~anchorview.AutoDALMC`, and the call that
    repeats the fit. It needs no network, and what looks like HTML in names and ids is text.

    Parameters
    ----------
    path : path-like
        The file, by convention with the suffix ``.html``.
    model : fitted AutoDALMC, DALMC or one of :mod:`anchorview.compared`
        Parts that a method has nothing for are left out.
    X : views, in any form that `fit` takes in memory, or None
        The samples of the fit. None: what needs the views is left out.
    target : array-like (n,), default=None
        Known classes, for the confusion matrix and the scores.
    sample_ids : array-like (n,), default=None
        What the samples are called. None: what the model knows, else their positions.
    call : str, default=None
        The shell command that made the fit.
    scores : mapping of str to float, default=None
        Scores of the clusters against the classes. None: computed if there is a `target`.
    seconds : float, default=None
        What the fit took.
    name : str, default=None
        What the data are called.

    Raises
    ------
    ValueError
        If the model is not fitted, or `X`, `target` or `sample_ids` are of other samples.
    MissingPackageError
        If bokeh or jinja2 is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.report import write_fit_report
    >>> views, y = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = DALMC(n_clusters=3, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_fit_report(path, model, views, target=y, name="blobs")
    ...     "<h1>blobs</h1>" in path.read_text()
    True
    """
    # Before the minutes of work that a large map takes.
    require_writable(Path(path))
    fit = gathered(model, X, target, sample_ids, scores)
    found = silhouettes(fit)
    sections = [
        _overview(fit, seconds, None if found is None else found[1]),
        map_section(fit),
        cluster_section(fit, None if found is None else found[0]),
        view_section(fit),
        convergence_section(fit),
    ]
    if fit.data is not None and fit.data.available is not None:
        sections.append(pattern_section(fit.data))
    if fit.target is not None:
        sections.append(confusion_section(fit))
    if fit.is_auto:
        sections.append(candidate_section(fit))
    sections.append(repeat_section(fit, call))
    title = f"{fit.estimator} clusters" if name is None else name
    write_page(Path(path), title, _subtitle(fit), sections)


def _subtitle(fit: Fitted) -> str:
    views = "1 view" if fit.model.n_views_in_ == 1 else f"{fit.model.n_views_in_} views"
    return f"{len(fit.labels):,} samples in {views}, {fit.n_clusters} clusters by {fit.estimator}"


def _overview(fit: Fitted, seconds: float | None, silhouette: float | None) -> Section:
    """Return the numbers to look at first."""
    facts = {
        "Samples": f"{len(fit.labels):,}",
        "Views": f"{fit.model.n_views_in_}",
        "Features": f"{fit.model.n_features_in_:,}",
        "Clusters": f"{fit.n_clusters}",
        "Iterations": f"{fit.model.n_iter_}",
    }
    if seconds is not None:
        facts["Seconds"] = f"{seconds:.3g}"
    if fit.confidence is not None:
        facts["Mean confidence"] = f"{float(fit.confidence.mean()):.2f}"
        facts["Doubtful samples"] = f"{float((fit.confidence < DOUBTFUL).mean()):.1%}"
    if silhouette is not None:
        facts["Mean silhouette"] = f"{silhouette:.2f}"
    parts: list[Part] = [Facts(facts)]
    if fit.scores:
        parts.append(Text("Scores against the labels, which the fit did not see:"))
        parts.append(Facts({name: f"{score:.3f}" for name, score in fit.scores.items()}))
    return Section("Overview", parts)
