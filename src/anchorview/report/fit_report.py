"""The report page of a fitted model, and the verdict at its top."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from anchorview._utils.atomic_files import require_writable
from anchorview._utils.errors import optional_import
from anchorview._utils.text import full_sentences, in_words, shorten
from anchorview.estimators.representation import apart_sentences, edge_sentences, evidence_word
from anchorview.inspection import associate
from anchorview.report import cluster_sections, model_sections
from anchorview.report.findings import CheckedFit, Findings, inspect_fit, inspect_level
from anchorview.report.page import Facts, Folded, Interactive, Part, Section, write_page
from anchorview.report.sample_map import SampleContents, sample_map
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
    if fit.is_auto and fit.data is not None and (fit.classes is None or None in fit.classes):
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
        parts.append(Interactive("confidence.html.jinja", (), {"certainty": findings.certainty}))
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


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

DIFFERENCE = {
    "strong": "clearly different from each other",
    "moderate": "different from each other, but without sharp borders",
    "weak": "hardly different from each other",
}
"""What is said of groups by the evidence for them."""

MAIN_SHARE, MINOR_SHARE = 0.5, 0.12
"""Shares from which on a view decides mostly, and counts at all."""

EVEN = 1.16
"""Ratio of the largest share to the mean below which views count alike."""

UNCLEAR_SHARE, MAX_CAUTIONS = 0.25, 3
"""Share of doubtful samples from which on a cluster is unclear; number of things to say."""


def verdict(fit: CheckedFit, findings: Findings) -> list[str]:
    """What there is; what decides; and what to be careful about, if there is anything."""
    sentences = [_what_there_is(fit, findings)]
    if fit.n_clusters > 1 and structure_of(fit) != 0:
        sentences += [_what_decides(findings)] if len(findings.shares.dropna()) else []
    cautions = list(_cautions(fit, findings))[:MAX_CAUTIONS]
    sentences += [f"Be careful: {'; '.join(cautions)}"] if cautions else []
    return full_sentences(sentences)


def structure_of(fit: CheckedFit) -> float | None:
    """Evidence of clusters, if it was judged."""
    return getattr(fit.model, "structure_", None)


def number_in_words(number: int) -> str:
    """Small numbers as words."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def _what_there_is(fit: CheckedFit, findings: Findings) -> str:
    n, structure = len(fit.labels), structure_of(fit)
    if fit.n_clusters == 1:
        return f"no groups: nothing sets some of the {n:,} samples apart from the others"
    number = number_in_words(int(np.count_nonzero(fit.sizes)))
    if structure == 0:
        return (
            f"no real groups: the {number} that are shown divide {n:,} samples arbitrarily, and "
            "nothing sets them apart"
        )
    text = f"{number} groups (clusters) among {n:,} samples"
    others = [
        f"{number_in_words(k)} {'finer' if k > fit.n_clusters else 'coarser'} ones"
        for k in fit.other_levels
    ]
    text += f" (or {' or '.join(others)})" if others else ""
    if structure is not None:
        text += f", {DIFFERENCE[evidence_word(structure)]}"
    if findings.certainty is None:
        return text
    doubtful = round(100 * float(findings.certainty.doubtful.mean()))
    many = f"{doubtful} of 100 samples" if doubtful else "hardly any sample"
    return f"{text}; {many} {'stand' if doubtful > 1 else 'stands'} between groups"


def _what_decides(findings: Findings) -> str:
    shares = findings.shares
    counted = shares[shares >= MINOR_SHARE]
    named = []
    for view in counted.index if len(counted) else shares.index[:1]:
        about, name = _features(findings, view), f"“{shorten(view)}”"
        named.append(f"{name} ({about})" if about else name)
    if len(shares) == 1:
        text = _features(findings, shares.index[0]) or named[0]
    elif len(counted) < 2:
        text = f"almost only {named[0]}"
    elif counted.iloc[0] < EVEN * counted.mean():
        text = f"{in_words(named)} about equally"
    else:
        mostly = "mostly " if counted.iloc[0] >= MAIN_SHARE else ""
        text = f"{mostly}{named[0]}, then {in_words(named[1:])}"
    return f"what sets the groups apart: {text}"


def _features(findings: Findings, view: str) -> str:
    """The readable columns of a view that set most clusters apart."""
    if findings.differences is None:
        return ""
    rows = findings.differences[findings.differences["view"] == view]
    strength = rows["effect"].abs().clip(upper=3).groupby(rows["column"]).sum()
    names = strength.nlargest(3).index
    # Where every cluster has words of its own, none speaks for all.
    if len(strength) > 12:
        return ""
    return in_words([shorten(name.replace("_", " ")) for name in names])


def _cautions(fit: CheckedFit, findings: Findings) -> Iterator[str]:
    """What to be careful about, the most important first."""
    model, structure = fit.model, structure_of(fit)
    if apart_sentences(model):
        yield "the views have nothing in common; check that their rows are in the same order"
    if structure == 0 and fit.n_clusters > 1:
        yield "do not treat these groups as if they existed"
        return
    if fit.n_clusters == 1:
        return
    if structure is None and fit.is_auto:
        yield "there are too few samples to tell whether the groups are real"
    elif structure is None:
        yield "whether the groups are real was not tested, only how to divide the samples"
    unclear = _unclear(fit, findings)
    if 0 < len(unclear) < fit.n_clusters:
        verb = "is" if len(unclear) == 1 else "are"
        many = f"{number_in_words(len(unclear))} of the groups"
        names = _in_quotes(unclear) if len(unclear) < 3 else many
        yield f"{names} {verb} less clearly apart than the rest"
    elif unclear:
        yield "none of the groups is clearly apart from the others"
    yield from _about_views(fit, findings)
    if edge_sentences(model):
        number = model.n_clusters_fit_
        yield f"{number} is at the end of the numbers of groups that were tried"
    n_single = int((fit.sizes == 1).sum())
    if n_single:
        verb = "has" if n_single == 1 else "have"
        yield f"{number_in_words(n_single)} of the groups {verb} a single sample"


def _in_quotes(names: Sequence[str]) -> str:
    return in_words([f"“{name}”" for name in names])


def _unclear(fit: CheckedFit, findings: Findings) -> list[str]:
    """Titles of the clusters with hardly any evidence, or many doubtful samples."""
    table = findings.clusters
    unclear = np.zeros(fit.n_clusters, bool)
    if "border" in table:
        unclear |= table["border"].isin(["weak", "none"]).to_numpy()
    if "doubtful" in table:
        unclear |= table["doubtful"].to_numpy() > UNCLEAR_SHARE * fit.sizes
    return np.asarray(findings.titles, dtype=object)[unclear].tolist()


def _about_views(fit: CheckedFit, findings: Findings) -> Iterator[str]:
    used: Any = getattr(fit.model, "views_", {}).get("used", pd.Series(dtype=bool))
    if len(aside := used.index[~used].tolist()):
        why = "was left out: it does" if len(aside) == 1 else "were left out: they do"
        yield f"{_in_quotes(aside)} {why} not fit the other views"
    if disagreeing := findings.disagreeing:
        verb = "does" if len(disagreeing) == 1 else "do"
        yield f"{_in_quotes(disagreeing)} {verb} not show the groups that the other views show"
