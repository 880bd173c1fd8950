"""Cards of clusters in a real browser: search, order, names, merging, download."""

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from anchorview import MultiViewData
from anchorview.core.centers import ClusterSpread
from anchorview.estimators.relabeling import Relabeling
from anchorview.report import sample_map as map_module
from anchorview.report.cluster_sections import cards_of_levels
from anchorview.report.findings import Certainty, CheckedFit, Findings
from anchorview.report.page import Section, write_page
from anchorview.report.sample_map import SampleContents
from helpers.browsing import hover, unfold
from helpers.pages import EVIL

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="session")
def many_clusters(tmp_path_factory):
    """Write the page of a fit with many clusters; cluster 7 is the largest."""

    @cache
    def write(k):
        random = np.random.RandomState(0)
        labels = np.repeat(np.arange(k), 8)
        labels = np.concatenate([labels, np.full(5, 7)])
        n = len(labels)
        centers = random.uniform(0, 60, (k, 2))
        spread = ClusterSpread(np.bincount(labels), np.ones(k))
        model = SimpleNamespace(
            _relabeling=Relabeling.none(k),
            _spread=spread,
            _cluster_spread=spread,
            labels_=labels,
            view_names_in_=(EVIL, "text"),
            embedding_=centers[labels] + random.standard_normal((n, 2)),
            normalize_embedding=False,
        )
        ids = [f"sample {row}" for row in range(n)]
        fit = CheckedFit(model, sample_ids=ids)
        sizes = np.bincount(labels)
        clusters = pd.DataFrame(
            {
                "size": sizes,
                "share": sizes / n,
                "confidence": random.permutation(k) / k,
                "nearest_cluster": (np.arange(k) + 1) % k,
                "separation": random.permutation(k) / k,
                f"view:{EVIL}": 0.25,
                "view:text": 0.75,
            }
        )
        markers = pd.DataFrame(
            {
                "cluster": np.arange(k),
                "view": "text",
                "feature": [f"{EVIL} gene{c}" for c in range(k)],
                "kind": "number",
                "effect": 2.0,
                "mean_in": 1.0,
                "mean_out": 0.0,
                "nonzero_in": 1.0,
                "nonzero_out": 0.5,
            }
        )
        features = {"text": pd.DataFrame(np.zeros((n, k)), columns=markers["feature"])}
        fit.described = MultiViewData(features)
        representatives = pd.DataFrame({"cluster": np.arange(k), "row": 8 * np.arange(k)})
        confidence = random.random_sample(n)
        certainty = Certainty(confidence, (labels + 1) % k, confidence < 0.5, None)
        titles = [f"title {c}" for c in range(k)]
        findings = Findings(clusters, titles, certainty, representatives, markers)
        levels = {"only": (fit, findings)}
        contents = SampleContents(ids, None, None, on_map=True)
        with pytest.MonkeyPatch.context() as patch:
            positions = np.asarray(model.embedding_)
            patch.setattr(map_module, "map_layout", lambda *_, **__: (np.arange(n), positions))
            drawn = map_module.sample_map(levels, "only", contents)
        path = tmp_path_factory.mktemp("clusters") / "page.html"
        cards = Section("Clusters", [cards_of_levels(levels, "only", contents)])
        sections = [Section("Map", [drawn]), cards]
        write_page(path, "Clusters", "many", sections, verdict=[f"{k} groups."])
        return path

    return write


def shown(page):
    """Numbers of the clusters whose cards are visible, in order."""
    cards = page.page.locator("#cards > .card:visible")
    return [int(c) for c in cards.evaluate_all("(all) => all.map((c) => c.dataset.cluster)")]


def rename(page, cluster, name):
    box = page.page.get_by_label(f"New name of cluster {cluster}", exact=True)
    box.fill(name)
    box.press("Enter")


def mapping(page):
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="Download names").click()
    assert waiting.value.suggested_filename == "relabel.json"
    path = waiting.value.path()
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (len(content["model"]), content["sizes"][6:8]) == (16, [8, 13])
    return content["clusters"]


@pytest.mark.parametrize("k", [50, 500])
def test_many_clusters_are_found_and_ordered(open_page, many_clusters, k):
    page = open_page(many_clusters(k))
    assert shown(page)[0] == 7  # The largest
    order = page.page.get_by_label("Order", exact=True)
    order.select_option("number")
    assert shown(page) == list(range(24))
    search = page.page.get_by_label("Find clusters")
    search.fill(f"gene{k - 1}")
    assert shown(page) == [k - 1]
    assert page.page.locator("#cards-count").inner_text() == f"1 of {k} clusters match"
    search.fill("sample 80")
    assert 10 in shown(page)
    search.fill("")
    order.select_option("confidence")
    cards = page.page.locator("#cards > .card:visible")
    values = cards.evaluate_all("(all) => all.map((card) => Number(card.dataset.confidence))")
    assert values == sorted(values)
    page.page.get_by_role("button", name=f"Show {min(k - 24, 96)} more clusters").click()
    assert len(shown(page)) == min(k, 120)
    # No legend: numbers are on the map, as many as there is room for.
    assert page.page.locator("#map-legend").is_hidden()
    assert int(page.page.locator("#map-canvas").get_attribute("data-labels")) >= 40
    page.assert_clean()


def test_clusters_on_the_map_and_links_open_cards(open_page, many_clusters):
    page = open_page(many_clusters(50))
    page.page.locator("#cluster-23 .more > summary").click()
    page.page.locator("#cluster-23 a[data-open]").click()
    assert page.js("document.activeElement.id") == "cluster-24"
    assert page.page.locator("#cluster-24").is_visible()
    page.page.locator("#cluster-23").get_by_role("button", name="Select on the map").click()
    assert (
        page.page.locator("#map-status").inner_text()
        == "8 samples selected; by cluster: title 23 (8)."
    )
    page.assert_clean()


def test_renamed_and_merged_clusters_are_downloaded_as_a_mapping(open_page, many_clusters):
    page = open_page(many_clusters(50))
    download = page.page.get_by_role("button", name="Download names")
    assert download.is_disabled()
    rename(page, 0, f" {EVIL} ")
    rename(page, 1, "T cells")
    rename(page, 3, "T cells")
    assert "48 clusters" not in page.page.locator("#cards-status").inner_text()
    assert "49 of 50 clusters remain" in page.page.locator("#cards-status").inner_text()
    assert page.page.locator("#cluster-3 .merged").inner_text() == "Merged with title 1"
    rename(page, 5, "5 + 6")
    rename(page, 6, "5 + 6")
    assert "48 of 50 clusters remain" in page.page.locator("#cards-status").inner_text()
    merged = {"5": "5 + 6", "6": "5 + 6"}
    assert mapping(page) == {"0": EVIL, "1": "T cells", "3": "T cells", **merged}
    unfold(page)
    # The nearest clusters have their new names, and no cluster is nearest to itself.
    assert page.page.locator("#cluster-4 a[data-open]").inner_text() == "5 + 6"
    assert page.page.locator("#cluster-5 a[data-open]").is_hidden()
    assert "Next cluster" not in hover(page, 8 * 5)
    assert "Next cluster\n5 + 6" in hover(page, 8 * 4)
    # The new names are on the map at once, in tooltips and selections.
    page.page.locator("#cluster-3").get_by_role("button", name="Select on the map").click()
    assert "T cells (8)" in page.page.locator("#map-status").inner_text()
    page.page.get_by_role("button", name="Undo all names").click()
    assert download.is_disabled()
    assert page.page.locator("#cluster-3 .merged").is_hidden()
    page.assert_clean()
    # The number of another cluster as a name merges.
    rename(page, 4, "2")
    assert "49 of 50 clusters remain" in page.page.locator("#cards-status").inner_text()
    assert mapping(page) == {"4": "2"}


def test_on_phones_cards_are_folded_until_they_are_opened(open_page, many_clusters):
    page = open_page(many_clusters(50), width=360, height=800)
    assert page.js("document.documentElement.scrollHeight") < 5000
    page.page.locator("#cluster-3 summary").first.click()
    page.page.locator("#cluster-3 .more > summary").click()
    page.page.locator("#cluster-3 a[data-open]").click()
    assert page.page.locator("#cluster-4 .size").is_visible()
    assert page.page.locator("#cluster-5 .size").is_hidden()
    page.assert_clean()
