"""How fitted estimators present their results, as text and in notebooks."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import capitalized, in_words, shorten

LISTED_SIZES = 10
"""Number of clusters that are listed with their sizes."""

NO_EVIDENCE = "no evidence of clusters"
"""What is said of clusters that do not differ from those of data without clusters."""


WORDS = {"strong": 0.5, "moderate": 0.25, "weak": 1e-9, "none": 0.0}
"""What evidence is called from a value on."""


def result_lines(model: Any) -> list[str]:
    """Lines on the clusters and on the views of a fitted estimator."""
    views = (_view_line(str(name), **row) for name, row in _views(model).iterrows())
    return [_clusters_line(model), *views, *map(capitalized, sentences(model))]


def result_html(model: Any) -> str:
    """HTML of the same."""
    line = f"<p>{escape(_clusters_line(model))}</p>"
    table = _views(model).reset_index(names="view").to_html(index=False, border=0, na_rep="")
    about = (f"<p>{escape(capitalized(text))}</p>" for text in sentences(model))
    return line + table + "".join(about)


def _clusters_line(model: Any) -> str:
    labels = model.labels_
    # Labels on the workers of a cluster are not fetched for this.
    if not isinstance(labels, np.ndarray) or not len(labels):
        found = f"{model.n_samples_fit_} samples in {model.n_clusters_} clusters"
        return f"{found}; labels are in files or on workers"
    sizes = np.bincount(labels[labels >= 0])
    names = getattr(model, "cluster_names_", None)
    named = [""] * len(sizes) if names is None else [f"{shorten(name)} " for name in names]
    order = [c for c in np.argsort(-sizes, kind="stable") if sizes[c]]
    listed = ", ".join(f"{named[c]}{sizes[c]}" for c in order[:LISTED_SIZES])
    listed += ", ..." * (len(order) > LISTED_SIZES)
    clusters = "1 cluster" if len(order) == 1 else f"{len(order)} clusters"
    parts = [f"{len(labels)} samples in {clusters} of {listed}"]
    if getattr(model, "structure_", None) is not None:
        parts.append(f"structure {model.structure_:.2f}" if model.structure_ else NO_EVIDENCE)
    if hasattr(model, "confidence_"):
        parts.append(f"mean confidence {np.nanmean(model.confidence_):.2f}")
    return "; ".join(parts)


def view_sentences(model: Any) -> list[str]:
    """Sentences on the views that a model has set aside, or would have; often none."""
    reasons = getattr(model, "views_", {}).get("why", {})
    return [f"view {shorten(str(name))!r} {why}" for name, why in reasons.items() if why]


def apart_sentences(model: Any) -> list[str]:
    """Sentence on views with clear clusters that have nothing to do with each other; often none."""
    names = getattr(model, "_apart", ())
    if not names:
        return []
    return [
        f"the views {in_words(names)} each have clear clusters, which agree by chance only: their "
        "rows may be in different orders (give sample ids, by which they are matched), or the "
        "views are about different things"
    ]


def evidence_word(evidence: float) -> str:
    """Strong, moderate, weak or none."""
    return next(word for word, limit in WORDS.items() if evidence >= limit)


def structure_sentence(structure: float | None) -> str:
    """Sentence on the attribute `structure_`, for the command line and reports."""
    if structure is None:
        return (
            "structure is not judged: it takes at least 50 samples, and 4 per cluster, to tell "
            "clusters from noise"
        )
    if structure == 0:
        return f"{NO_EVIDENCE}: they are as arbitrary as those of data without clusters"
    return (
        f"{evidence_word(structure)} evidence of clusters: {structure:.2f} on a scale from 0 (as "
        "on data without clusters) to 1 (separated, or found by all candidates)"
    )


def structure_sentences(model: Any, names: Sequence[object]) -> list[str]:
    """Sentences on the structure of a fitted model and its clusters; none if it is not judged."""
    if getattr(model, "structure_", None) is None:
        return []
    if model.n_clusters_ == 1:
        return [
            f"{NO_EVIDENCE}: the samples are one cluster. To divide them anyway, give n_clusters "
            f"(or take labels_at({model.n_clusters_fit_}), the best of the divisions)"
        ]
    by_word = {
        word: [name for name, own in zip(names, model.borders_, strict=True) if own == word]
        for word in WORDS
    }
    parts = [f"{word} for {in_words(own)}" for word, own in by_word.items() if own]
    return [structure_sentence(model.structure_), f"by cluster: {'; '.join(parts)}"]


def edge_sentences(model: Any) -> list[str]:
    """Sentence on a number that is the largest or the smallest of those that were given."""
    numbers = getattr(model, "curve_", None)
    if numbers is None or model.n_clusters is None or model.n_clusters_fit_ == 2:
        return []
    known = {"largest": numbers.index.max(), "smallest": numbers.index.min()}
    return [
        f"{number} is the {side} number of clusters that was given: one beyond may be better"
        for side, number in known.items()
        if number == model.n_clusters_fit_
    ]


def batch_sentences(model: Any) -> list[str]:
    """Sentence on the batches and covariates that a model takes out, if it does."""
    correction = getattr(model, "_correction", None)
    if correction is None:
        return []
    count = len(correction.covariate_names)
    parts = [f"{len(correction.batches)} batches"] * correction.has_batches
    parts += [f"{count} covariate{'s' * (count > 1)}"] * (count > 0)
    mixed = ""
    if model.batch_mixing_ is not None:
        before, after = model.batch_mixing_
        mixed = f"; mixing of batches {before:.2f} before, {after:.2f} after"
    return [f"{' and '.join(parts)} taken out{mixed}"]


def change_sentences(model: Any) -> list[str]:
    """Sentence on what became of the clusters of `reference`, if the fit had one."""
    changes = getattr(model, "changes_", None)
    if changes is None:
        return []
    others = changes[changes["change"] != "continued"]
    rows = zip(others["name"], others["change"], others["clusters"], strict=True)
    parts = [
        f"{shorten(name)} {change}{f' {shorten(of)}' * change.endswith(('from', 'of'))}"
        for name, change, of in rows
    ]
    known = int((changes["before"] > 0).sum())
    text = f"{len(changes) - len(others)} of {known} clusters of reference continue"
    return ["; ".join([text, *parts[:LISTED_SIZES]]) + "; ..." * (len(parts) > LISTED_SIZES)]


def sentences(model: Any) -> list[str]:
    """Sentences on views, batches and changes of a fitted estimator; often none."""
    about = apart_sentences, view_sentences, batch_sentences, change_sentences
    return [text for each in about for text in each(model)]


def table_descriptions(model: Any) -> dict[str, str]:
    """How many numbers, categories and dates there are, by the name of a view that is a table."""
    steps = getattr(model, "preprocessing_", None) or ()
    named = zip(model.view_names_in_, steps, strict=False)
    return {name: step.description for name, step in named if hasattr(step, "description")}


def _views(model: Any) -> pd.DataFrame:
    """Text on each view, by its name."""
    tables = table_descriptions(model)
    widths = zip(model.view_names_in_, model.n_features_per_view_, strict=True)
    features = [tables.get(name, f"{width} features") for name, width in widths]
    table = pd.DataFrame({"features": features}, list(map(shorten, model.view_names_in_)))
    for column, name in {"weight": "weight", "agreement_with_result": "agreement"}.items():
        if column in model.views_:
            table[name] = [f"{value:.2f}" for value in model.views_[column]]
    return table


def _view_line(name: str, features: str, **scores: str) -> str:
    return ", ".join([f"{name}: {features}", *(f"{key} {value}" for key, value in scores.items())])
