"""The report page of a fitted model."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike, NDArray

from anchorview._utils.atomic_files import require_writable
from anchorview._utils.errors import optional_import
from anchorview.inspection import associate
from anchorview.report import cluster_sections, model_sections
from anchorview.report.findings import CheckedFit, Findings, inspect_fit, inspect_level
from anchorview.report.page import Facts, Folded, Part, Section, Text, write_page
from anchorview.report.sample_map import SampleContents, sample_map
from anchorview.report.verdict import structure_of, verdict
from anchorview.views.container import ViewsLike

ARBITRARY = "These groups are arbitrary: nothing sets them apart, and other cuts would do as well."


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
    thumbnails: "Sequence[str | os.PathLike[str] | None] | NDArray[Any] | None" = None,
    metadata: Any = None,
    associations: pd.DataFrame | None = None,
) -> None:
    """Write a report on a fitted model as one self-contained HTML file.

    The page begins with at most three sentences: what there is, what decides, and what to be
    careful about. What they rest on is folded, with doubtful samples and the number of clusters.
    A map of the samples follows, and a card per cluster with its title, size, typical samples and
    the features that set it apart. If AutoDALMC has found other levels, a switch shows all of it
    for coarser or finer clusters. Samples can be selected on the map, and clusters renamed and
    merged; the ids and the names are downloaded from the page. It loads nothing from the network;
    HTML in names and ids is escaped.

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
    thumbnails : sequence of path-like (n,), or array (n, height, width), default=None
        An image file per sample, or None; or the pixels of all samples. Small copies are embedded,
        first of typical and doubtful samples, then of others on the map, up to a total of 1.5 MB.
    metadata : DataFrame of pandas, polars or pyarrow, default=None
        Other variables of the samples, matched by index if both have ids, else by position. They
        are in titles and on cards, and a section says which of them differ between clusters
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
    fit = CheckedFit(model, X, target=target, scores=scores, metadata=metadata, **contents)
    if fit.metadata is not None and associations is None:
        associations = associate(fit.labels, fit.metadata)
    findings = inspect_fit(fit)
    shown = SampleContents(fit.sample_ids, fit.texts, fit.thumbnails, on_map=fit.has_coordinates)
    levels, chosen = _levels(fit, findings)
    # Thumbnails are embedded in this order until there is no room: on cards, of doubtful samples,
    # on the map.
    cards = cluster_sections.cards_of_levels(levels, chosen, shown)
    behind = _how_sure(fit, findings, shown)
    arbitrary = ARBITRARY if structure_of(fit) == 0 and fit.n_clusters > 1 else ""
    sections = [
        Section("Map of the samples", [sample_map(levels, chosen, shown)], arbitrary),
        Section("Clusters", [cards], arbitrary),
    ]
    if fit.is_auto and fit.data is not None and not fit.all_classes_are_known:
        sections.append(cluster_sections.labeling_section(fit, findings, shown))
    if getattr(fit.model, "changes_", None) is not None:
        sections.append(model_sections.change_section(fit.model))
    if fit.view_names:
        sections.append(model_sections.view_section(fit, findings))
    if fit.classes is not None:
        sections.append(cluster_sections.confusion_section(fit))
    if associations is not None:
        sections.append(cluster_sections.association_section(associations))
    sections.append(_technical_section(fit, call, seconds))
    title = f"{fit.model_name} clusters" if name is None else name
    subtitle = f"{len(fit.labels):,} samples"
    if fit.view_names:
        n_views = len(fit.view_names)
        subtitle += f" in {n_views} {'view' if n_views == 1 else 'views'}"
    subtitle += f", clustered by {fit.model_name}"
    write_page(Path(path), title, subtitle, sections, verdict=verdict(fit, findings), behind=behind)


def _levels(
    fit: CheckedFit, findings: Findings
) -> tuple[dict[str, tuple[CheckedFit, Findings]], str]:
    """Fits by the names of their levels, and the name of the chosen one."""
    others = {number: fit.at_level(number) for number in fit.other_levels}
    found = {number: (level, inspect_level(level)) for number, level in others.items()}
    found[fit.n_clusters] = fit, findings
    names = {1: ("only",), 2: ("Coarse", "Fine")}.get(len(found), ("Coarse", "Medium", "Fine"))
    ordered = dict(zip(names, sorted(found), strict=True))
    chosen = next(name for name, number in ordered.items() if number == fit.n_clusters)
    return {name: found[number] for name, number in ordered.items()}, chosen


def _how_sure(fit: CheckedFit, findings: Findings, shown: SampleContents) -> Folded:
    """Return what the verdict rests on."""
    parts: list[Part] = [model_sections.trust_sentences(fit, findings)]
    if findings.certainty is not None:
        parts.append(Text(f"Confidence: {findings.certainty.meaning}"))
        parts += cluster_sections.doubtful_parts(fit, findings, shown)
    parts.append(cluster_sections.cluster_table(fit, findings))
    parts.append(Folded("Number of clusters", model_sections.number_parts(fit)))
    return Folded("How sure is this?", parts)


def _technical_section(fit: CheckedFit, call: str | None, seconds: float | None) -> Section:
    facts = {}
    if fit.has_coordinates:
        facts["Map"] = f"t-SNE of {fit.coordinates_name}"
    if hasattr(fit.model, "n_iter_"):
        facts["Iterations"] = f"{fit.model.n_iter_}"
    if seconds is not None:
        facts["Seconds"] = f"{seconds:.3g}"
    folded: dict[str, Sequence[Part]] = {
        "Fit": [Facts(facts)] if facts else [],
        "Candidate settings": model_sections.candidate_parts(fit),
        "How to reproduce": model_sections.reproduction_parts(fit, call),
    }
    return Section(
        "Technical details", [Folded(title, parts) for title, parts in folded.items() if parts]
    )
