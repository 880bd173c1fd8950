"""The tables and their three forms."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC
from anchorview.experiments.output.table_formats import Cell, Column, ResultTable
from anchorview.experiments.output.tables import tables
from anchorview.experiments.plan.jobs import Result
from helpers.handmade import ODD, Book, around, done, whole_book


def table_of(book, name):
    (found,) = (table for table in tables(book.frame(), book.sets) if table.name == name)
    return found


def rows_of(table):
    """Shown texts by the first cell of the row and the header."""
    return {texts[0]: dict(zip(table.labels(), texts, strict=True)) for texts in table.texts()}


def marks_of(table):
    return [{label: cell.mark for label, cell in zip(table.labels(), row, strict=True)}
            for row in table.rows]  # fmt: skip


def three_columns():
    book = Book()
    book.add("AMGL", done(around(0.6)))
    book.add("BMVC", done(around(0.8995)))
    book.add("DALMC", done(around(0.9)))
    return book


def test_scores_are_percent_with_the_best_and_second_marked():
    table = table_of(three_columns(), "compare-acc")
    shown = rows_of(table)["digits"]
    assert shown["AMGL"] == "60.00 ± 0.58"
    assert shown["BMVC"] == "89.95 ± 0.58 †"
    assert shown["DALMC"] == "90.00 ± 0.58"
    assert marks_of(table) == [{"data": "", "AMGL": "", "BMVC": "second", "DALMC": "best"}]


def test_what_looks_equal_shares_the_mark():
    book = Book()
    for column, score in (("A", 0.900001), ("B", 0.9), ("C", 0.8), ("D", 0.8)):
        book.add(column, done([score] * 20))
    marks = marks_of(table_of(book, "compare-acc"))[0]
    assert [marks[name] for name in "ABCD"] == ["best", "best", "second", "second"]


def test_oracle_columns_never_compete_with_others():
    book = three_columns()
    book.add("AMGL (oracle)", done([0.99] * 20), mode="oracle")
    book.add("DALMC (oracle)", done([0.98] * 20), mode="oracle")
    book.add("DALMC (auto)", done(around(0.95, 5)), mode="auto")
    for name in ("compare-acc", "own-labels"):
        table = table_of(book, name)
        marks = marks_of(table)[0]
        assert marks["DALMC (auto)"] == "best"
        assert marks["DALMC"] == "second"
        assert marks["AMGL (oracle)"] == "best"
        assert marks["DALMC (oracle)"] == "second"
        assert [column.group for column in table.columns if column.group] == [
            *["default"] * 3,
            "auto",
            *["oracle"] * 2,
        ]
    ranks = rows_of(table_of(book, "ranks"))
    assert set(ranks) == {"AMGL", "BMVC", "DALMC", "DALMC (auto)"}
    assert ranks["DALMC (auto)"]["ACC"] == "1.00"
    assert set(rows_of(table_of(book, "ranks-oracle"))) == {"AMGL (oracle)", "DALMC (oracle)"}


def test_a_lone_oracle_column_is_not_best_of_anything():
    book = three_columns()
    book.add("DALMC (oracle)", done([0.99] * 20), mode="oracle")
    marks = marks_of(table_of(book, "compare-acc"))[0]
    assert (marks["DALMC"], marks["DALMC (oracle)"]) == ("best", "")


def test_the_word_oracle_is_in_every_such_header_and_explained():
    book = three_columns()
    book.add("BMVC", done([0.99] * 20), mode="oracle")
    table = table_of(book, "compare-acc")
    assert table.labels() == ["data", "AMGL", "BMVC", "DALMC", "BMVC (oracle)"]
    assert "chosen with the labels" in table.caption
    assert "chosen with the labels" not in table_of(three_columns(), "compare-acc").caption


def test_what_is_not_done_is_a_dash_with_its_reason_below():
    book = three_columns()
    book.add("OPMC", Result("memory", "more than 1 GB"))
    book.add("OMSC", Result("failed", "ValueError: no"))
    book.add("AWMVC", None)
    table = table_of(book, "compare-nmi")
    shown = rows_of(table)["digits"]
    assert (shown["OPMC"], shown["OMSC"], shown["AWMVC"]) == ("-", "-", "")
    assert table.notes == (
        "OPMC on digits: out of memory: more than 1 GB",
        "OMSC on digits: failed: ValueError: no",
        "Empty cells were not run.",
    )


def test_a_single_run_has_no_deviation():
    book = Book()
    book.add("DALMC", done([0.9]))
    assert rows_of(table_of(book, "compare-acc"))["digits"]["DALMC"] == "90.00"


def test_the_oracle_says_what_it_chose():
    book = Book()
    book.add("DALMC (oracle)", done([0.5]), mode="oracle", beta=1.0)
    book.add("DALMC (oracle)", done([0.6]), mode="oracle", beta=2.0)
    assert table_of(book, "oracle-settings").texts() == [
        ["compare", "digits", "DALMC (oracle)", "beta=2.0"]
    ]


def test_costs_mark_the_lowest():
    book = Book()
    book.add("SLOW", done([0.5], fit_seconds=9.0, peak_bytes=100_000_000), suite="runtime")
    book.add("FAST", done([0.5], fit_seconds=0.25, peak_bytes=300_000_000), suite="runtime")
    time, memory = table_of(book, "runtime"), table_of(book, "memory")
    assert time.texts() == [["digits", "9.00", "0.25"]]
    assert memory.texts() == [["digits", "100", "300"]]
    assert marks_of(time)[0]["FAST"] == "best"
    assert marks_of(memory)[0]["SLOW"] == "best"


def test_points_are_rows_from_low_to_high():
    book = Book("one", "two")
    for beta in (0.1, 0.0001, 10.0):
        book.add("DALMC", done([beta / 100] * 2), "two", suite="beta", point=beta)
    texts = table_of(book, "beta-two").texts()
    assert [row[0] for row in texts] == ["0.0001", "0.1", "10"]
    assert texts[2][1:] == ["10.00 ± 0.00"] * 5


def test_missing_rates_have_columns_for_each_method_and_metric():
    book = Book()
    for column, score in (("DALMC", 0.9), ("DALMC on imputed means", 0.8)):
        book.add(column, done([score] * 3), suite="incomplete", point=0.3)
    table = table_of(book, "incomplete-digits")
    assert table.labels()[1:] == [
        f"{metric} {column}"
        for metric in ("ACC", "NMI")
        for column in ("DALMC", "DALMC on imputed means")
    ]
    assert marks_of(table)[0]["NMI DALMC"] == "best"
    assert "removed once for each share, so the deviation is that of K-means alone" in table.caption
    assert "single runs are not tested" in table.caption
    assert "(auto)" not in table.caption
    book.add("DALMC (auto)", done([0.9]), mode="auto", suite="incomplete", point=0.3)
    assert "(auto) is one fit at each share" in table_of(book, "incomplete-digits").caption


def test_captions_say_what_runs_and_deviations_are():
    book = whole_book("Flower17", published_as="Flower17")
    names = ("compare-acc", "ablation-acc", "beta-flower17", "anchors-flower17")
    for name in (*names, "incomplete-flower17", "published-flower17"):
        assert "divisor n" in table_of(book, name).caption
    compare = table_of(book, "compare-acc").caption
    assert "Columns without brackets: the default settings of the method." in compare
    assert "A run is one start" in compare
    assert f'see the table "{table_of(book, "own-labels").title}"' in compare


def test_convergence_tells_where_dalmc_stops_by_default(monkeypatch):
    monkeypatch.setitem(DALMC.__init__.__kwdefaults__, "tol", 0.05)
    book = Book()
    curve = (20.0, 15.0, 12.0, 11.0, 10.6, 10.4)
    book.add("DALMC", done([0.5], objective=curve), suite="convergence")
    table = table_of(book, "convergence")
    assert "0.05 is where DALMC stops by default" in table.caption
    shown = rows_of(table)["digits"]
    assert shown["change < 0.05"] == "4"
    assert shown["fewer than 20"] == "yes"


@pytest.mark.parametrize(
    ("last", "monotone"), [(2.0 + 1e-12, "yes"), (2.0 + 1e-6, "no"), (1.9, "yes")]
)
def test_convergence_tells_whether_it_is_monotone_and_fast(last, monotone):
    book = Book("fast", "slow", "never", "lost")
    falling = (4.0, 3.0, 2.9, 2.899, 2.89899, 2.898989, 2.8989889)
    book.add("DALMC", done([0.5], objective=falling), "fast", suite="convergence")
    slow = (*np.linspace(20, 1, 20).tolist(), 1 - 1e-7)
    book.add("DALMC", done([0.5], objective=slow), "slow", suite="convergence")
    book.add("DALMC", done([0.5], objective=(3.0, 2.0, last)), "never", suite="convergence")
    book.add("DALMC", Result("time", "slow"), "lost", suite="convergence")
    texts = table_of(book, "convergence").texts()
    assert texts[0] == ["fast", "3", "3", "4", "4", "5", "yes", "yes"]
    assert texts[1] == ["slow", "20", "20", "20", "20", "20", "yes", "no"]
    if last == 1.9:
        assert texts[2] == ["never", *["> 2"] * 5, "yes", "no"]
    assert texts[2][-2] == monotone
    assert texts[3] == ["lost", *"-------"]


def test_ranks_leave_out_data_sets_that_are_not_finished():
    book = Book("one", "two")
    for data in ("one", "two"):
        book.add("AMGL", done([0.5]), data)
        book.add("DALMC", done([0.6]) if data == "one" else None, data)
    table = table_of(book, "ranks")
    assert table.title == "Mean ranks over 1 data set"
    assert table.notes == ("Without two: not every column was run there.",)


def test_enough_data_sets_are_tested():
    names = [f"set {i}" for i in range(6)]
    book = Book(*names)
    for number, data in enumerate(names):
        for column, score in (("AMGL", 0.5), ("BMVC", 0.6), ("DALMC", 0.8)):
            book.add(column, done([score + number * (0.01 if column == "AMGL" else 0.02)]), data)
    assert table_of(book, "ranks").notes[0].startswith("Friedman test that all are alike")
    tests = rows_of(table_of(book, "ranks-tests"))
    assert set(tests) == {"AMGL", "BMVC"}
    # Six differences of one sign: 2 / 2**6, twice by Holm's correction.
    assert tests["AMGL"]["ACC"] == "0.0625"
    told = table_of(book, "ranks-tests").caption
    assert "allow no p-value below 0.0625, so nothing can be significant at 5 %." in told


def test_enough_data_sets_to_be_significant():
    names = [f"set {i}" for i in range(7)]
    book = Book(*names)
    for number, data in enumerate(names):
        for column, score in (("AMGL", 0.5), ("BMVC", 0.6), ("DALMC", 0.8)):
            book.add(column, done([score + number * (0.01 if column == "AMGL" else 0.02)]), data)
    table = table_of(book, "ranks-tests")
    assert rows_of(table)["AMGL"]["ACC"] == "0.0312"
    assert "allow no p-value below 0.0312." in table.caption
    assert "nothing can be significant" not in table.caption


def test_no_results_make_no_tables_but_that_of_the_data():
    assert [table.name for table in tables(Book().frame(), Book().sets)] == ["data"]


def test_names_of_files_are_safe_and_differ():
    book = Book("a/b", "a b")
    for name in ("a/b", "a b"):
        book.add("DALMC", done([0.5]), name, suite="beta", point=1.0)
    names = [table.name for table in tables(book.frame(), book.sets)]
    assert names == ["data", "beta-a-b", "beta-a-b-2"]


@pytest.fixture(scope="module")
def odd_tables():
    book = whole_book(ODD, "digits")
    return tables(book.frame(), book.sets)


def test_markdown_shows_odd_names_in_their_own_cell(odd_tables):
    escaped = r'a\|b &amp; c\_d 50% \#1 &lt;b&gt;"x" \$y\$'
    for table in odd_tables:
        text = table.markdown()
        assert "<b>" not in text
        assert "<i>" not in text
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns) + 1}
    (acc,) = (table for table in odd_tables if table.name == "compare-acc")
    assert f"| {escaped} | - |" in acc.markdown()
    assert "**" in acc.markdown()
    # GitHub drops <u>.
    assert "<u>" not in acc.markdown()
    assert "<ins>" in acc.markdown()


def test_latex_is_escaped_and_balanced(odd_tables):
    for table in odd_tables:
        text = table.latex()
        plain = re.sub(r"\\[&%$#_{}\\]", "", text)
        assert "#" not in plain
        assert "%" not in plain
        assert "<" not in plain
        assert plain.count("{") == plain.count("}")
        assert plain.count("$") % 2 == 0
        for tabular in re.findall(r"\\begin{tabular}.*?\\end{tabular}", text, flags=re.S):
            alignment = re.match(r"\\begin{tabular}{([lr]+)}", tabular)[1]
            rows = [r for r in tabular.splitlines() if r.endswith(r"\\") and "multicol" not in r]
            assert rows
            assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(alignment) - 1}


def test_latex_marks_groups_and_words():
    book = three_columns()
    book.add("DALMC (oracle)", done([0.99] * 20), mode="oracle")
    text = table_of(book, "compare-acc").latex()
    assert r"\textbf{90.00 $\pm$ 0.58}" in text
    assert r"\underline{89.95 $\pm$ 0.58 $^\dagger$}" in text
    assert r"\multicolumn{3}{c}{default} & \multicolumn{1}{c}{oracle} \\" in text
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-5}" in text
    assert r"\shortstack{DALMC\\(oracle)}" in text


def test_wide_latex_tables_go_on_below():
    columns = [Column("data", kind="text")]
    columns += [Column(f"{mode}{i}", mode) for mode in ("default", "oracle") for i in range(9)]
    row = (Cell(text="digits"), *(Cell(i / 100) for i in range(18)))
    text = ResultTable("wide", "Wide", "All.", tuple(columns), (row,)).latex()
    assert text.count(r"\begin{tabular}{lrrrrrrrrr}") == 2
    assert text.count("digits & ") == 2
    assert text.count("17.00") == 1


def test_csv_has_the_numbers_as_they_are():
    book = Book("digits", ODD)
    runs = [0.123456789012345, 1 / 3]
    book.add("DALMC", done(runs))
    book.add("DALMC", Result("time", "slow"), ODD)
    frame = book.frame()
    table = table_of(book, "compare-acc")
    read = pd.read_csv(io.StringIO(table.csv()))
    assert read["data"].tolist() == ["digits", ODD]
    assert read["DALMC mean"][0] == pytest.approx(frame["ACC"][0], rel=1e-14)
    assert read["DALMC deviation"][0] == pytest.approx(frame["ACC_deviation"][0], rel=1e-14)
    assert read["DALMC status"].tolist() == ["done", "time"]
    assert read["DALMC mean"].isna().tolist() == [False, True]


def test_csv_has_a_dash_for_words_that_are_not_there():
    book = Book("fine", "lost", "later")
    book.add("DALMC", done([0.5], objective=(2.0, 1.0, 1.0)), "fine", suite="convergence")
    book.add("DALMC", Result("time", "slow"), "lost", suite="convergence")
    book.add("DALMC", None, "later", suite="convergence")
    text = table_of(book, "convergence").csv()
    assert text.splitlines()[1:] == ["fine,2,2,2,2,2,yes,yes", "lost,-,-,-,-,-,-,-", "later,,,,,,,"]


def test_csv_of_every_table_parses(odd_tables):
    for table in odd_tables:
        read = pd.read_csv(io.StringIO(table.csv()))
        assert len(read) == len(table.rows)
        assert read.columns.is_unique
