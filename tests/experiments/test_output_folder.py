"""Outputs replace those of the previous suite, but no other files in the folder."""

import json

import pytest

from anchorview.experiments.output_folder import write_outputs
from helpers.handmade import Book, done

pytest.importorskip("bokeh")
pytest.importorskip("matplotlib")


def write_suite(out, suite="beta", **options):
    book = Book()
    book.add("DALMC", done([0.5, 0.6]), suite=suite, point=0.1)
    return write_outputs(out, book.entries, book.results, book.sets, [], **options).paths


def files(out):
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_another_suite_replaces_the_outputs(tmp_path):
    write_suite(tmp_path)
    assert {"tables/beta-digits.md", "figures/beta.svg"} <= files(tmp_path)
    (tmp_path / "tables" / "mine.md").write_text("my own")
    (tmp_path / "results.sqlite").write_text("hours of work")
    paths = write_suite(tmp_path, "anchors")
    written = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert files(tmp_path) == written | {"tables/mine.md", "results.sqlite"}
    assert {"tables/anchors-digits.md", "figures/anchors.svg", "outputs.json"} <= written
    assert not any("beta" in name for name in written)
    listed = json.loads((tmp_path / "outputs.json").read_text())
    assert set(listed) == written - {"outputs.json"}


def test_same_suite_keeps_all_files(tmp_path):
    write_suite(tmp_path)
    before = files(tmp_path)
    listed = json.loads((tmp_path / "outputs.json").read_text())
    odd = [name.replace("tables/", "tables/./") for name in listed]
    (tmp_path / "outputs.json").write_text(json.dumps(odd))
    write_suite(tmp_path)
    assert files(tmp_path) == before


def test_manifest_never_removes_other_files(tmp_path):
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
    write_suite(out)
    assert [path.read_text() for path in kept] == ["stays"] * len(kept)
    assert (out / "tables" / "link.md").is_symlink()
    assert not (out / "tables" / "gone.md").exists()


@pytest.mark.parametrize(
    "content", ["", "{", '{"a": 1}', "3", '[1, null, ["tables/mine.md"]]', "[" * 100_000, "\ud800"]
)
def test_invalid_manifest_is_ignored(tmp_path, content):
    (tmp_path / "tables").mkdir()
    mine = tmp_path / "tables" / "mine.md"
    mine.write_text("my own")
    (tmp_path / "outputs.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    write_suite(tmp_path)
    assert mine.read_text() == "my own"
    assert "tables/beta-digits.md" in json.loads((tmp_path / "outputs.json").read_text())


def test_command_is_on_one_line_without_escapes(tmp_path):
    write_suite(tmp_path, command="anchorview 'my  suite.toml'\n--data 'a\tb'")
    shown = "\n    anchorview 'my  suite.toml' --data 'a\tb'\n"
    assert shown in (tmp_path / "summary.md").read_text()
