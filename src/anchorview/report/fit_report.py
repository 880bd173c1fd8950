"""The report page of a fitted model."""

import os
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from anchorview._utils.atomic_files import require_writable
from anchorview._utils.optional_imports import optional_import
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.estimators.base import MultiViewClusterer
from anchorview.report import cluster_sections, model_sections, view_sections
from anchorview.report.checked_fit import CheckedFit, check_fit
from anchorview.report.page import Facts, Part, Section, Text, write_page
from anchorview.views.container import ViewsLike


def write_fit_report(
    path: str | os.PathLike[str],
    model: MultiViewClusterer,
    X: ViewsLike,
    *,
    target: ArrayLike | None = None,
    sample_ids: ArrayLike | None = None,
    call: str | None = None,
    scores: Mapping[str, float] | None = None,
    seconds: float | None = None,
    name: str | None = None,
) -> None:
    """Write a report on a fitted model as one self-contained HTML file.

    The page has a map of the samples, the clusters, the views and their agreement, the convergence,
    the patterns of missing views, the candidates of :class:`~anchorview.AutoDALMC`, and the call
    that reproduces the fit. It loads nothing from the network; HTML in names and ids is escaped.

    Parameters
    ----------
    path : path-like
        The file, usually with the suffix ``.html``.
    model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`
        Parts for which the model has no attributes are omitted.
    X : views in memory, in any form accepted by `fit`, or None
        The samples the model was fitted on. If None, parts that need the views are omitted.
    target : array-like (n,), default=None
        Known classes, for the confusion matrix and the scores; may have missing values.
    sample_ids : array-like (n,), default=None
        Identifiers of the samples; by default those of the model, or else indices.
    call : str, default=None
        The shell command that fitted the model.
    scores : mapping of str to float, default=None
        Scores of the clusters against the classes; by default computed from `target`.
    seconds : float, default=None
        Duration of the fit.
    name : str, default=None
        Name of the data set, the title of the page.

    Raises
    ------
    ValueError
        If the model is not fitted, or `X`, `target` or `sample_ids` are of different samples.
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
    # Fail before the layout of a large map, which takes minutes.
    require_writable(Path(path))
    for package in ("bokeh.plotting", "jinja2"):
        optional_import(package, "Reports", "report")
    fit = check_fit(model, X, target, sample_ids, scores)
    cluster_silhouettes, mean_silhouette = cluster_sections.silhouettes(fit) or (None, None)
    sections = [
        _overview(fit, seconds, mean_silhouette),
        cluster_sections.map_section(fit),
        cluster_sections.cluster_section(fit, cluster_silhouettes),
        view_sections.view_section(fit),
        model_sections.convergence_section(fit),
    ]
    if fit.data is not None and fit.data.available is not None:
        sections.append(view_sections.pattern_section(fit.data))
    if fit.classes is not None:
        sections.append(cluster_sections.confusion_section(fit))
    if fit.is_auto:
        sections.append(model_sections.candidate_section(fit))
    sections.append(model_sections.reproduction_section(fit, call))
    title = f"{fit.estimator_name} clusters" if name is None else name
    views = "1 view" if model.n_views_in_ == 1 else f"{model.n_views_in_} views"
    subtitle = (
        f"{len(fit.labels):,} samples in {views}, {fit.n_clusters} clusters by {fit.estimator_name}"
    )
    write_page(Path(path), title, subtitle, sections)


def _overview(fit: CheckedFit, seconds: float | None, mean_silhouette: float | None) -> Section:
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
        facts["Doubtful samples"] = f"{float((fit.confidence < DOUBTFUL_CONFIDENCE).mean()):.1%}"
    if mean_silhouette is not None:
        facts["Mean silhouette"] = f"{mean_silhouette:.2f}"
    parts: list[Part] = [Facts(facts)]
    if fit.scores:
        parts.append(Text("Scores against the known classes, which the fit did not use:"))
        parts.append(Facts({name: f"{score:.3f}" for name, score in fit.scores.items()}))
    return Section("Overview", parts)
