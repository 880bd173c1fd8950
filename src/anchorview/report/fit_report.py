"""The report page of a fitted model."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from anchorview._utils.atomic_files import require_writable
from anchorview._utils.errors import optional_import
from anchorview.report import cluster_sections, model_sections, view_sections
from anchorview.report.findings import CheckedFit, Findings, inspect_fit, verdict
from anchorview.report.page import Facts, Folded, Part, Section, write_page
from anchorview.report.sample_map import SampleContents, sample_map
from anchorview.views.container import ViewsLike


def write_fit_report(
    path: str | os.PathLike[str],
    model: Any,
    X: "ViewsLike | None" = None,
    *,
    target: ArrayLike | None = None,
    sample_ids: ArrayLike | None = None,
    call: str | None = None,
    scores: Mapping[str, float] | None = None,
    seconds: float | None = None,
    name: str | None = None,
    texts: Sequence[str | None] | None = None,
    thumbnails: Sequence[str | os.PathLike[str] | None] | None = None,
    metadata: Any = None,
    associations: pd.DataFrame | None = None,
) -> None:
    """Write a report on a fitted model as one self-contained HTML file.

    The page begins with a verdict and a map of the samples. A card per cluster has its size,
    confidence, nearest cluster, the features that set it apart in each view, and typical samples.
    Doubtful samples, the views, the number of clusters and technical details follow. Samples can be
    selected on the map, and clusters renamed and merged; the ids and the names are downloaded from
    the page. It loads nothing from the network; HTML in names and ids is escaped.

    Unless it would take long, the model is fitted again without each view, AutoDALMC with
    ``budget="fast"``, to find views that disagree
    (:func:`~anchorview.inspection.leave_one_view_out`).

    Parameters
    ----------
    path : path-like
        The file, usually with the suffix ``.html``.
    model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`, or any other
        Any object with `labels_` has a report, such as a clusterer of scikit-learn. Parts for which
        the model has no attributes are omitted.
    X : views in memory, in any form accepted by `fit`, default=None
        The samples the model was fitted on. If None, parts that need the views are omitted:
        features and typical samples of the clusters, and comparisons of the views.
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
    texts : sequence of str (n,), default=None
        A text per sample, or None, for tooltips and cards; long ones are shortened.
    thumbnails : sequence of path-like (n,), default=None
        An image file per sample, or None. Small copies are embedded, first of typical and doubtful
        samples, then of others on the map, up to a total of 1.5 MB.
    metadata : DataFrame of pandas, polars or pyarrow, default=None
        Other variables of the samples, matched by index if both have ids, else by position. A
        section says which of them differ between clusters
        (:func:`~anchorview.inspection.associate`); samples that it lacks have missing values.
    associations : DataFrame, default=None
        The table for that section, as :func:`~anchorview.inspection.associate` returns it, in place
        of `metadata`, for example with survival.

    Raises
    ------
    ValueError
        If the model is not fitted, an image cannot be read, or `X`, `target`, `sample_ids`,
        `texts`, `thumbnails` or `metadata` are of different samples.
    MissingPackageError
        If matplotlib or jinja2 is not installed.

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
    for package in ("matplotlib", "jinja2"):
        optional_import(package, "Reports", "report")
    contents = {"sample_ids": sample_ids, "texts": texts, "thumbnails": thumbnails}
    fit = CheckedFit(model, X, target=target, scores=scores, **contents)
    if metadata is not None and associations is None:
        associations = cluster_sections.associations_of(fit, metadata)
    findings = inspect_fit(fit)
    shown = SampleContents(fit.sample_ids, fit.texts, fit.thumbnails, on_map=fit.has_coordinates)
    # Thumbnails are embedded in this order until there is no room: on cards, of doubtful samples,
    # on the map.
    sections = [Section("Clusters", [cluster_sections.cluster_cards(fit, findings, shown)])]
    if findings.certainty is not None:
        sections.append(cluster_sections.doubtful_section(fit, findings, shown))
    sections.insert(0, Section("Map of the samples", [sample_map(fit, findings, shown)]))
    if fit.view_names:
        sections.append(view_sections.view_section(fit, findings))
    if fit.classes is not None:
        sections.append(cluster_sections.confusion_section(fit))
    if associations is not None:
        sections.append(cluster_sections.association_section(associations))
    sections.append(model_sections.number_section(fit, findings))
    sections.append(_technical_section(fit, findings, call, seconds))
    title = f"{fit.model_name} clusters" if name is None else name
    subtitle = f"{len(fit.labels):,} samples"
    if fit.view_names:
        n_views = len(fit.view_names)
        subtitle += f" in {n_views} {'view' if n_views == 1 else 'views'}"
    subtitle += f", clustered by {fit.model_name}"
    write_page(Path(path), title, subtitle, sections, verdict=verdict(fit, findings))


def _technical_section(
    fit: CheckedFit, findings: Findings, call: str | None, seconds: float | None
) -> Section:
    facts = {"Samples": f"{len(fit.labels):,}"}
    if fit.view_names:
        facts["Views"] = f"{len(fit.view_names)}"
        facts["Features"] = f"{sum(fit.n_features_per_view):,}"
    facts["Clusters"] = f"{fit.n_clusters}"
    if hasattr(fit.model, "n_iter_"):
        facts["Iterations"] = f"{fit.model.n_iter_}"
    if seconds is not None:
        facts["Seconds"] = f"{seconds:.3g}"
    folded: dict[str, Sequence[Part]] = {
        "Sizes of the problem": [Facts(facts)],
        "Table of the clusters": [cluster_sections.cluster_table(fit, findings)],
        "Convergence": model_sections.convergence_parts(fit),
        "Candidate settings": model_sections.candidate_parts(fit),
        "How to reproduce": model_sections.reproduction_parts(fit, call),
    }
    return Section(
        "Technical details", [Folded(title, parts) for title, parts in folded.items() if parts]
    )
