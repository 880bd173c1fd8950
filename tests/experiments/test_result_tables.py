"""Contents of the tables, and their formats."""

import re

import numpy as np
import pytest

from anchorview.experiments.evaluation import suite_results
from anchorview.experiments.jobs import Result
from anchorview.experiments.ranks import critical_difference, rankings
from anchorview.experiments.tables import tables
from helpers.handmade import ODD, Book, around, done, whole_book


def table_of(book, name):
    (table,) = (table for table in tables(book.frame(), book.sets) if table.name == name)
    return table


def texts_of(table):
    return table.texts().to_numpy().tolist()


def texts_by_row(table):
    """Texts by the first cell of the row and the header."""
    return table.texts().set_index(table.texts().columns[0]).to_dict("index")


def marks_of(table):
    """Marks of the first row by header."""
    return {header: mark for header, mark in table.marks().iloc[0].items() if mark}


def book_of(scores, **options):
    book = Book()
    for column, runs in scores.items():
        book.add(column, done(runs), **options)
    return book


@pytest.fixture
def book():
    return book_of({"AMGL": around(0.6), "BMVC": around(0.8995), "DALMC": around(0.9)})


def test_scores_are_percent_with_best_and_second_marked_and_equal_texts_alike(book):
    table = table_of(book, "compare-acc")
    assert texts_of(table) == [["digits", "60.00 ± 0.58", "89.95 ± 0.58 †", "90.00 ± 0.58"]]
    assert marks_of(table) == {"BMVC": "second", "DALMC": "best"}
    book = book_of({"A": [0.900001] * 20, "B": [0.9] * 20, "C": [0.8] * 20, "D": [0.8] * 20})
    marks = marks_of(table_of(book, "compare-acc"))
    assert marks == {"A": "best", "B": "best", "C": "second", "D": "second"}


def test_oracle_columns_are_compared_with_each_other_only(book):
    book.add("AMGL (oracle)", done([0.99] * 20), mode="oracle")
    # A single oracle column is not marked.
    assert marks_of(table_of(book, "compare-acc")) == {"BMVC": "second", "DALMC": "best"}
    book.add("DALMC (oracle)", done([0.98] * 20), mode="oracle")
    book.add("DALMC (auto)", done(around(0.95, 5)), mode="auto")
    for name in ("compare-acc", "returned-labels"):
        table = table_of(book, name)
        assert marks_of(table) == {
            "DALMC (auto)": "best",
            "DALMC": "second",
            "AMGL (oracle)": "best",
            "DALMC (oracle)": "second",
        }
        groups = table.cells.columns.get_level_values(0).tolist()
        assert groups == [*["default"] * 3, "auto", *["oracle"] * 2]
    ranks = texts_by_row(table_of(book, "ranks"))
    assert set(ranks) == {"AMGL", "BMVC", "DALMC", "DALMC (auto)"}
    assert ranks["DALMC (auto)"]["ACC"] == "1.00"
    assert set(texts_by_row(table_of(book, "ranks-oracle"))) == {"AMGL (oracle)", "DALMC (oracle)"}


def test_cells_that_are_not_done_are_explained(book):
    assert "not-done" not in [table.name for table in tables(book.frame(), book.sets)]
    book.add("OPMC", Result("memory", "more than 1 GB"))
    book.add("OMSC", Result("failed", "ValueError: no"))
    book.add("AWMVC", None)
    book.add("DALMC", Result("time", "slow"), suite="beta", point=0.1)
    assert texts_of(table_of(book, "compare-nmi"))[0][-3:] == ["-", "-", ""]
    assert texts_of(table_of(book, "not-done")) == [
        ["compare", "digits", "OPMC", "", "out of memory", "more than 1 GB"],
        ["compare", "digits", "OMSC", "", "failed", "ValueError: no"],
        ["compare", "digits", "AWMVC", "", "absent", "not run"],
        ["beta", "digits", "DALMC", "0.1", "out of time", "slow"],
    ]


def test_convergence():
    objectives = {
        "fast": (4.0, 3.0, 2.9, 2.899, 2.89899, 2.898989, 2.8989889),
        "slow": (*np.linspace(20, 1, 20).tolist(), 1 - 1e-7),
        "never": (3.0, 2.0, 1.9),
        "rounding error": (3.0, 2.0, 2.0 + 1e-12),
        "increasing": (3.0, 2.0, 2.0 + 1e-6),
    }
    book = Book(*objectives, "lost", "later")
    for data, objective in objectives.items():
        book.add("DALMC", done([0.5], objective=objective), data, suite="convergence")
    book.add("DALMC", Result("time", "slow"), "lost", suite="convergence")
    book.add("DALMC", None, "later", suite="convergence")
    table = table_of(book, "convergence")
    assert texts_of(table) == [
        ["fast", "4", "4", "5", "5", "6", "yes", "yes"],
        ["slow", "21", "21", "21", "21", "21", "yes", "no"],
        ["never", *["> 3"] * 5, "yes", "no"],
        ["rounding error", *["3"] * 5, "yes", "yes"],
        ["increasing", *["3"] * 5, "no", "yes"],
        ["lost", *"-------"],
        ["later", *[""] * 7],
    ]


def test_ranks_omit_unfinished_data_sets():
    book = Book("one", "two")
    for data in ("one", "two"):
        book.add("AMGL", done([0.5]), data)
        book.add("DALMC", done([0.6]) if data == "one" else None, data)
    table = table_of(book, "ranks")
    assert table.title == "Mean ranks over 1 data set"
    assert any("two" in note for note in table.notes)


# All differences have the same sign: p = 2 / 2**n, doubled by Holm's correction.
@pytest.mark.parametrize(("n_sets", "p_value"), [(6, "0.0625"), (7, "0.0312")])
def test_tests_over_data_sets(n_sets, p_value):
    book = Book(*(f"set {i}" for i in range(n_sets)))
    for number, one in enumerate(book.sets):
        for column, score, step in (("AMGL", 0.5, 0.01), ("BMVC", 0.6, 0.02), ("DALMC", 0.8, 0.02)):
            book.add(column, done([score + number * step]), one.name)
    friedman, nemenyi = table_of(book, "ranks").notes
    assert "Friedman" in friedman
    assert f"{critical_difference(3, n_sets):.2f}" in nemenyi
    texts = texts_by_row(table_of(book, "ranks-tests"))
    assert set(texts) == {"AMGL", "BMVC"}
    assert texts["AMGL"]["ACC"] == p_value


@pytest.mark.parametrize(
    ("columns", "reference"),
    [
        (("AMGL", "DALMC", "MyMVC", "DALMC (auto)"), "MyMVC"),
        (("AMGL", "DALMC (auto)", "BMVC"), "DALMC (auto)"),
        (("BMVC", "AMGL"), "BMVC"),
    ],
)
def test_the_method_that_is_tested_against_the_others(columns, reference, tmp_path):
    book = Book(*"abcde")
    for place, column in enumerate(columns):
        for one in book.sets:
            book.add(column, done([0.1 * place]), one.name)
    (ranking,) = rankings(suite_results(book.frame()))
    assert ranking.reference == reference
    assert table_of(book, "ranks-tests").title.startswith(f"{reference} against each other")
    (path, _) = ranking.figure().write(tmp_path)
    assert f">{columns[-1]} 1.0</text>" in path.read_text()


def test_without_results_there_is_only_the_table_of_data_sets():
    assert [table.name for table in tables(Book().frame(), Book().sets)] == ["data"]


@pytest.fixture(scope="module")
def odd_tables():
    book = whole_book(ODD, "digits")
    return {table.name: table for table in tables(book.frame(), book.sets)}


def test_markdown_is_escaped(odd_tables):
    for table in odd_tables.values():
        text = table.markdown()
        assert not {"<b>", "<i>"} & set(re.findall("<.>", text))
        lines = [line for line in text.splitlines() if line.startswith("|")]
        n_columns = len(table.texts().columns)
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {n_columns + 1}
    text = odd_tables["compare-acc"].markdown()
    assert r'| a\|b &amp; c\_d 50% \#1 &lt;b&gt;"x" \$y\$ | - |' in text
    assert "**" in text
    assert "<ins>" in text


def test_latex_is_escaped_and_has_marks(odd_tables):
    for table in odd_tables.values():
        text = table.latex()
        plain = re.sub(r"\\[&%$#_{}\\]", "", text)
        assert not set("#%<") & set(plain)
        assert plain.count("{") == plain.count("}")
        alignment = re.search(r"\\begin{tabular}{([lr]+)}", text)[1]
        rows = [row for row in text.splitlines() if row.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(alignment) - 1}
    text = odd_tables["compare-acc"].latex()
    assert r"\textbf{80.00 ± 0.58}" in text
    assert r"\underline{70.00 ± 0.58}" in text
