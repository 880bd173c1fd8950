"""The paper's numbers, and the tables that compare results with them."""

from itertools import product

import numpy as np
import pytest

from anchorview.datasets import PAPER_SETS
from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.jobs import METRICS, Result
from anchorview.experiments.tables import published_numbers, tables
from helpers.handmade import Book, around, done

NUMBERS = published_numbers().set_index(["data", "metric", "method"])


@pytest.mark.parametrize(
    ("data", "metric", "column", "mean", "deviation"),
    [
        ("AWA", "ACC", "FPMVS-CAG", 9.0, 0.1),
        ("Caltech-256", "F1", "OMSC", 10.2, 0.0),
        ("Flower17", "NMI", "UOMVSC", 34.91, 0.05),
        ("MNIST", "ACC", "DALMC", 98.9, 0.01),
        ("AWA", "Purity", "DALMC", 12.2, 0.02),
        ("VGGFace2", "NMI", "ablation-2", 18.29, None),
        ("YoutubeFace-50", "ACC", "ablation-1", 74.7, None),
    ],
)
def test_scores_of_the_paper(data, metric, column, mean, deviation):
    expected = (mean / 100, np.nan if deviation is None else deviation / 100)
    *score, status = NUMBERS.loc[(data, metric, column)]
    np.testing.assert_allclose(score, expected)
    assert status == "done"


def test_scores_of_all_methods_are_found_and_out_of_memory_differs_from_absent():
    assert NUMBERS.loc[("MNIST", "ACC", "UOMVSC"), "status"] == "memory"
    assert NUMBERS.loc[("TinyImageNet", "fit_seconds", "AMGL"), "status"] == "memory"
    assert NUMBERS.loc[("TinyImageNet", "fit_seconds", "DALMC"), "mean"] == 3200
    for absent in (("MNIST", "ARI", "DALMC"), ("AWA", "fit_seconds", "OMSC")):
        assert absent not in NUMBERS.index
    assert NUMBERS.index.is_unique
    for data, method, metric in product(PAPER_SETS, REGISTRY, METRICS[:4]):
        found = (data.name, metric, method.display_name) in NUMBERS.index
        assert found == (method.name in PUBLISHED)


PUBLISHED = {"amgl", "bmvc", "smvsc", "opmc", "uomvsc", "fpmvs-cag", "omsc", "awmvc", "dalmc"}


def tables_by_name(data="Flower17", published_as="Flower17"):
    book = Book(data, published_as=published_as)
    book.add("AMGL", Result("memory", "too much"), suite="compare")
    book.add("DALMC", done(around(0.5)))
    book.add("DALMC (auto)", done(around(0.6, 5)), mode="auto")
    book.add("DALMC (oracle)", done(around(0.7)), mode="oracle")
    book.add("DALMC (as published, oracle)", done(around(0.4)), mode="published")
    book.add("ablation-1", done(around(0.4)), suite="ablation")
    book.add("DALMC", done([0.5], fit_seconds=1.5), suite="runtime")
    return {table.name: table for table in tables(book.frame(), book.sets)}


def test_results_beside_published_numbers():
    table = tables_by_name()["published"]
    modes = ["default", "auto", "oracle", "published"]
    assert table.texts().columns.tolist() == ["data", "metric", "method", "paper", *modes]
    rows = {tuple(row[1:3]): row[3:] for row in table.texts().to_numpy().tolist()}
    assert rows["ACC", "AMGL"] == ["9.60 ± 0.08", "-", "", "", ""]
    expected = ["50.10 ± 0.02", "50.00 ± 0.58", "60.00 ± 0.14", "70.00 ± 0.58", "40.00 ± 0.58"]
    assert rows["ACC", "DALMC"] == expected
    assert rows["F1", "ablation-1"] == ["34.69", "40.00 ± 0.58", "", "", ""]
    assert rows["fit_seconds", "DALMC"] == ["43.50", "1.50", "", "", ""]
    assert not any(metric == "ARI" for metric, _ in rows)
    # Data sets have the numbers of their name in the paper.
    assert tables_by_name("mine")["published"].texts()["data"].unique().tolist() == ["mine"]
    assert "published" not in tables_by_name("digits", published_as=None)
