"""A folder of outputs has those of the last suite, and what is the user's own."""

import json

import pytest

from anchorview.experiments.output.output_folder import write_outputs
from helpers.handmade import Book, done

pytest.importorskip("bokeh")
pytest.importorskip("matplotlib")


def one_suite(suite, point=None):
    book = Book()
    book.add("DALMC", done([0.5, 0.6]), suite=suite, point=point)
    return book


def write(out, book, **more):
    return write_outputs(out, book.entries, book.results, book.sets, [], **more).paths


def files(out):
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_another_suite_replaces_what_there_was(tmp_path):
    write(tmp_path, one_suite("beta", 0.1))
    assert {"tables/beta-digits.md", "figures/beta.svg"} <= files(tmp_path)
    (tmp_path / "tables" / "mine.md").write_text("my own")
    (tmp_path / "results.sqlite").write_text("hours of work")
    paths = write(tmp_path, one_suite("anchors", 10.0))
    written = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert files(tmp_path) == written | {"tables/mine.md", "results.sqlite"}
    assert {"tables/anchors-digits.md", "figures/anchors.svg", "outputs.json"} <= written
    assert not any("beta" in name for name in written)
    listed = json.loads((tmp_path / "outputs.json").read_text())
    assert set(listed) == written - {"outputs.json"}


def test_the_same_suite_keeps_all_its_files(tmp_path):
    write(tmp_path, one_suite("beta", 0.1))
    before = files(tmp_path)
    listed = json.loads((tmp_path / "outputs.json").read_text())
    odd = [name.replace("tables/", "tables/./") for name in listed]
    (tmp_path / "outputs.json").write_text(json.dumps(odd))
    write(tmp_path, one_suite("beta", 0.1))
    assert files(tmp_path) == before


def test_a_list_never_removes_what_is_no_output(tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    for folder in (out / "tables", out / "sub", elsewhere):
        folder.mkdir(parents=True)
    kept = [
        tmp_path / "x",
        elsewhere / "x.md",
        out / "results.sqlite",
        out / "sub" / "x.md",
        out / "tables" / "absolute.md",
        out / "tables" / "round.md",
    ]
    for path in kept:
        path.write_text("stays")
    (out / "tables" / "link").symlink_to(elsewhere)
    (out / "tables" / "link.md").symlink_to(elsewhere / "x.md")
    (out / "tables" / "gone.md").write_text("an earlier output")
    names = [
        *("../x", "tables/../../x", "tables/../tables/round.md", "results.sqlite", "sub/x.md"),
        *(str(tmp_path / "x"), str(out / "tables" / "absolute.md")),
        *("tables/link/x.md", "tables/link.md", "tables", ".", "", "\0", "tables/not there"),
        "tables/gone.md",
    ]
    (out / "outputs.json").write_text(json.dumps(names))
    write(out, one_suite("beta", 0.1))
    assert [path.read_text() for path in kept] == ["stays"] * len(kept)
    assert (out / "tables" / "link.md").is_symlink()
    assert not (out / "tables" / "gone.md").exists()


@pytest.mark.parametrize(
    "content", ["", "{", '{"a": 1}', "3", '[1, null, ["tables/mine.md"]]', "[" * 100_000, "\ud800"]
)
def test_a_broken_list_is_ignored(tmp_path, content):
    (tmp_path / "tables").mkdir()
    mine = tmp_path / "tables" / "mine.md"
    mine.write_text("my own")
    (tmp_path / "outputs.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    write(tmp_path, one_suite("beta", 0.1))
    assert mine.read_text() == "my own"
    assert "tables/beta-digits.md" in json.loads((tmp_path / "outputs.json").read_text())


def test_the_command_is_told_as_it_is_on_one_line(tmp_path):
    command = "anchorview experiment run 'my  suite.toml'\n--data 'a\tb'"
    write(tmp_path, one_suite("beta", 0.1), command=command)
    shown = "\n    anchorview experiment run 'my  suite.toml' --data 'a\tb'\n"
    assert shown in (tmp_path / "summary.md").read_text()
