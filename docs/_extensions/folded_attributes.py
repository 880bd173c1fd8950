"""Pages of the estimators open with the attributes that people use; others are folded, by group."""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

USED = {
    "anchorview.AutoDALMC": (
        "labels_",
        "titles_",
        "confidence_",
        "n_clusters_",
        "structure_",
        "borders_",
        "levels_",
        "views_",
        "second_labels_",
        "embedding_",
    ),
    "anchorview.DALMC": (
        "labels_",
        "titles_",
        "views_",
        "embedding_",
        "n_clusters_",
        "cluster_names_",
        "objective_",
        "n_iter_",
        "history_",
        "anchors_",
    ),
}
"""Attributes at the top of a page, by class."""

REST = "Other attributes"
GROUPS = {
    "How the number of clusters was chosen": ("curve_", "chance_curve_", "tree_"),
    "Levels, names and merged clusters": (
        "cluster_layers_",
        "cluster_names_",
        "changes_",
        "n_clusters_fit_",
    ),
    "Candidates": (
        "candidates_",
        "agreement_",
        "best_candidate_",
        "confidence_threshold_",
    ),
    "Matrices of the fit": ("bases_", "projections_", "n_components_", "scalings_"),
    "Batches": ("batches_", "batch_mixing_"),
    "Input": (
        "preprocessing_",
        "view_selection_",
        "n_samples_fit_",
        "n_views_in_",
        "n_features_per_view_",
        "feature_names_per_view_",
        "sample_ids_",
        "view_names_in_",
    ),
}
"""Attributes that are folded together, by the summary of the group; all others are in the last."""


def fold(app: Sphinx, domain: str, kind: str, content: addnodes.desc_content) -> None:
    """Move the attributes that people use to the top of the page, and fold the others."""
    signature = content.parent[0]
    used = USED.get(f"{signature.get('module')}.{signature.get('fullname')}")
    field = next((f for f in content.findall(nodes.field) if f[0].astext() == "Attributes"), None)
    if kind != "class" or used is None or field is None:
        return
    items = {name_of(item): item for item in field.findall(nodes.definition_list_item)}
    if missing := set(used) - items.keys():
        raise ValueError(f"{signature['fullname']} has no attributes {sorted(missing)}.")
    top = nodes.definition_list("", *(items.pop(name) for name in used), classes=["simple"])
    field[1].children = []
    for summary, names in {**GROUPS, REST: tuple(items)}.items():
        chosen = [items.pop(name) for name in names if name in items]
        if chosen:
            field[1] += nodes.raw("", f"<details><summary>{summary}</summary>", format="html")
            field[1] += nodes.definition_list("", *chosen)
            field[1] += nodes.raw("", "</details>", format="html")
    content.insert(1, [nodes.rubric("", "Attributes that people use"), top])


def name_of(item: nodes.definition_list_item) -> str:
    """The first name of an entry such as ``n_views_in_, n_features_in_ : int``."""
    return item[0].astext().replace(",", " ").split()[0].partition(":")[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build, after the fields are made."""
    app.connect("object-description-transform", fold, priority=900)
    return {"parallel_read_safe": True}
