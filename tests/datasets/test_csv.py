"""CSV files as programs write them: everything is detected, given or said."""

import warnings

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, read_views
from anchorview.datasets import convert, open_views
from helpers.csv_dialects import DIALECTS, planted, write_dialect
from helpers.view_files import error_of, write_tables


def only_view(path, **options):
    (view,) = read_views(path, **options).views.values()
    return view


def read_with_warnings(path, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        view = only_view(path, **options)
    return view, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("dialect", DIALECTS, ids=range(len(DIALECTS)))
def test_dialects_are_read_exactly(dialect, tmp_path):
    table = planted()
    path = write_dialect(tmp_path / "a.csv", table, **dialect)
    view, messages = read_with_warnings(path)
    expected = table.rename_axis(None)
    pd.testing.assert_frame_equal(view, expected, check_exact=True, check_dtype=False)
    unusual = {
        "';'": dialect["sep"] == ";",
        "decimal mark": dialect["decimal"] == ",",
        dialect["encoding"]: not dialect["encoding"].startswith("utf-8"),
        dialect["dates"]: dialect["dates"] != "%Y-%m-%d",
    }
    (message,) = messages or [""]
    assert all((word in message) == is_unusual for word, is_unusual in unusual.items())
    # What is given is not said.
    names = ("sep", "decimal", "encoding", "dates")
    given, messages = read_with_warnings(path, csv={name: dialect[name] for name in names})
    pd.testing.assert_frame_equal(given, view)
    assert messages == []


@pytest.mark.parametrize(
    ("sep", "header"), [(sep, header) for sep in ",;\t" for header in (True, False)] + [("|", True)]
)
def test_numbers_with_decimal_commas(sep, header, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)).round(3)).add_prefix("f")
    path = tmp_path / "a.csv"
    table.to_csv(path, sep=sep, decimal=",", header=header, index_label="id")
    with pytest.warns(UserWarning, match="decimal"):
        np.testing.assert_array_equal(only_view(path, header=header), table)


@pytest.mark.parametrize("beside", ["{}", "{},5", "{},5E+01"])
def test_points_between_thousands_are_no_decimal_marks(beside, tmp_path):
    rows = [f"s{i};{beside.format(i)};{f'{700 * i:,}'.replace(',', '.')}\n" for i in range(9)]
    (tmp_path / "a.csv").write_text("id;x;y\n" + "".join(rows))
    view, messages = read_with_warnings(tmp_path / "a.csv")
    assert view["y"].tolist()[1:3] == ["700", "1.400"]
    assert view["x"].dtype.kind in "if"
    assert "decimal mark" in messages[0]


@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), ("\t", "."), (";", ",")])
def test_few_numbers_with_three_digits_beside_integers(sep, decimal, tmp_path):
    text = "id,x,k\na,1.395,1\nb,2,2\n".replace(",", sep).replace(".", decimal)
    (tmp_path / "a.csv").write_text(text)
    view, _ = read_with_warnings(tmp_path / "a.csv")
    assert view["x"].tolist() == [1.395, 2]


def test_numbers_with_decimal_commas_are_no_ids(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n0,5;1\n1,5;2\n2;3\n")
    assert "numbers such as 0,5, which are not sample ids" in error_of(tmp_path / "a.csv")


def test_one_warning_for_files_that_are_alike(tmp_path):
    texts = {f"{name}_csv": "id;x\na;1,5\nb;2,5\n" for name in "abc"}
    folder = write_tables(tmp_path, **texts)
    with pytest.warns(UserWarning, match=r"'a\.csv', 'b\.csv', 'c\.csv'.*';'.*'1,5'") as caught:
        data = read_views(folder)
    assert len(caught) == 1
    assert data.views["b"]["x"].tolist() == [1.5, 2.5]
    with pytest.warns(UserWarning, match="decimal") as caught:
        opened = open_views(convert(folder, tmp_path / "new"))
    assert len(caught) == 1
    np.testing.assert_array_equal(opened.views["c"][:], [[1.5], [2.5]])


def test_only_empty_cells_are_missing(tmp_path):
    """Fault S2: a column of NA and EU vanished."""
    text = "id,region,x,y\na,NA,1,nan\nb,EU,,2\nc,,3,\nNA,None,4,5\n"
    (tmp_path / "a.csv").write_text(text)
    view = only_view(tmp_path / "a.csv")
    assert view["region"].tolist()[:2] == ["NA", "EU"]
    assert view.isna().to_numpy().tolist() == [
        [False, False, True],
        [False, True, False],
        [True, False, True],
        [False, False, False],
    ]
    assert view.index.tolist() == ["a", "b", "c", "NA"]
    named = only_view(tmp_path / "a.csv", csv={"na_values": ["NA", "None"]})
    assert named["region"].notna().tolist() == [False, True, False, False]
    assert named.index.tolist() == view.index.tolist()


@pytest.mark.parametrize(
    ("usual", "odd", "kind"),
    [("{}.5", "n/a1", "numbers"), ("{}", "?", "numbers"), ("13.04.20{:02d}", "13.04.20", "dates")],
)
def test_odd_values_of_columns_are_named(tmp_path, usual, odd, kind):
    rows = [f"s{i},{usual.format(i)}" for i in range(10, 30)]
    rows[7] = f"s17,{odd}"
    (tmp_path / "a.csv").write_text("\n".join(["id,x", *rows]))
    with pytest.warns(UserWarning, match=rf"'x' has {kind}.*{odd[:2]}.*row 8"):
        view = only_view(tmp_path / "a.csv")
    assert view["x"].tolist()[7] == odd
    view, _ = read_with_warnings(tmp_path / "a.csv", csv={"na_values": odd})
    assert view["x"].isna().sum() == 1
    assert view["x"].dtype.kind == ("M" if kind == "dates" else "f")


@pytest.mark.parametrize("code", ["007", "02139", " 02139"])
def test_codes_anywhere_in_a_column_are_texts(tmp_path, code):
    rows = [f"s{i},{100 + i},{i}" for i in range(2000)]
    rows[-1] = f"s1999,{code},1"
    (tmp_path / "a.csv").write_text("\n".join(["id,code,x", *rows]))
    view = only_view(tmp_path / "a.csv")
    assert view["code"].tolist()[-2:] == ["2098", code.strip()]
    assert view["x"].dtype == np.int64


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["2020-01-31", "2020-02-01 10:30"], None),
        (["31.1.2020", "1.2.2020"], "%d.%m.%Y"),
        (["1/2/2020", "1/31/2020"], "%m/%d/%Y"),
        (["1/2/2020", "31/1/2020"], "%d/%m/%Y"),
        (["31 Jan 2020", "01 Feb 2020"], "%d %b %Y"),
    ],
)
def test_order_of_dates(tmp_path, texts, order):
    (tmp_path / "a.csv").write_text(f"id,day\na,{texts[0]}\nb,{texts[1]}\nc,\n")
    view, messages = read_with_warnings(tmp_path / "a.csv")
    expected = [pd.to_datetime(t, format=order or "ISO8601") for t in texts]
    assert view["day"].tolist()[:2] == expected
    assert [order in message for message in messages] == ([] if order is None else [True])


@pytest.mark.parametrize(
    "form",
    [
        "{:,.2f}",
        "{:.1f} %",
        "${:.2f}",
        "{:.0f} kg",
        "\u2212{:.2f}",
        "{:.0f}/1/2020 1:15 PM",
        "{0:.0f}.01.20",
    ],
)
def test_numbers_and_dates_in_unknown_forms_are_named(tmp_path, form):
    values = np.random.default_rng(0).uniform(1001, 9999, 30)
    table = pd.DataFrame({"x": values**2 % 7, "odd": list(map(form.format, values))})
    table.to_csv(tmp_path / "a.csv", index_label="id")
    data = read_views(tmp_path / "a.csv")
    with pytest.warns(UserWarning, match="'odd' has texts such as"):
        DALMC(2, random_state=0).fit(data)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*texts such as")
        DALMC(2, random_state=0).fit(read_views(tmp_path / "a.csv", categorical=["odd"]))
        ages = table.assign(odd=np.where(values < 5000, "18-25", "26-35"))
        DALMC(2, random_state=0).fit(ages)


def test_blanks_after_separators_and_separators_at_the_end_of_lines(tmp_path):
    (tmp_path / "a.csv").write_text('id, x, word,\na, 1, "u, v",\nb, 2, w,\n')
    view = only_view(tmp_path / "a.csv")
    assert view.to_dict("list") == {"x": [1, 2], "word": ["u, v", "w"]}
    (tmp_path / "b.csv").write_text("id,x,\na,1,\nb,2,\n" + 200 * "c,1,\n" + "d,1,9\n")
    assert "more fields" in error_of(tmp_path / "b.csv")


def test_integers_beyond_64_bits_are_refused(tmp_path):
    rows = "".join(f"s{i},{2**70 + i}\n" for i in range(20))
    (tmp_path / "a.csv").write_text("id,x\n" + rows)
    assert "floating-point" in error_of(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("id,x\n" + rows + "b,1.5\nc,?\n")
    view, messages = read_with_warnings(tmp_path / "a.csv")
    assert view["x"].iloc[-2] == "1.5"
    assert "'?' in row 22" in messages[0]
