"""Texts and thumbnails of samples."""

import base64
import io

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC
from anchorview.report import sample_map, write_fit_report
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.sample_map import SampleContents, thumbnail
from helpers.data import clustered_views

images = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Files of noisy images, one in each of 60 colors."""
    folder, random = tmp_path_factory.mktemp("pictures"), np.random.RandomState(0)
    paths = []
    for number in range(60):
        pixels = random.randint(0, 255, (150, 300, 3), dtype=np.uint8)
        paths.append(folder / f"{number}.png")
        images.fromarray(pixels).save(paths[-1])
    return paths


def decoded(uri):
    head, _, content = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return images.open(io.BytesIO(base64.b64decode(content)))


def test_thumbnails_are_small_jpegs_of_the_same_shape(pictures, tmp_path):
    small = decoded(thumbnail(pictures[0], 0))
    assert small.format == "JPEG"
    assert small.size == (96, 48)
    transparent = tmp_path / "transparent.png"
    images.new("RGBA", (10, 10), (255, 0, 0, 0)).save(transparent)
    # Transparent pixels are white.
    assert min(decoded(thumbnail(transparent, 0)).getpixel((5, 5))) > 250


def test_thumbnails_of_named_samples_come_first_and_the_size_is_limited(pictures, set_constants):
    size = len(thumbnail(pictures[0], 0))
    set_constants(sample_map, MAX_THUMBNAIL_BYTES=10 * size)
    contents = SampleContents(None, None, [None, *pictures], on_map=True)
    assert not contents.link(0).has_thumbnail
    assert contents.link(50).has_thumbnail
    embedded = contents.thumbnails(np.arange(61))
    assert 50 in embedded
    assert 0 not in embedded
    assert 8 <= len(embedded) <= 12
    missing = next(row for row in range(1, 61) if row not in embedded)
    assert not contents.link(missing).has_thumbnail


def test_unreadable_image_is_named(tmp_path):
    path = tmp_path / "broken.png"
    path.write_bytes(b"not an image")
    contents = SampleContents(None, None, [None, path], on_map=True)
    with pytest.raises(ValueError, match=r"image of sample 1, '.*broken.png', cannot be read"):
        contents.link(1)


def test_texts_are_shortened_and_their_size_is_limited(set_constants):
    contents = SampleContents(None, ["a" * 500, None, "b\n c"], None, on_map=True)
    assert contents.link(0).text == "a" * 159 + "…"
    assert [contents.link(row).text for row in (1, 2)] == ["", "b c"]
    set_constants(sample_map, MAX_TEXT_BYTES=200)
    many = SampleContents(None, ["x" * 50] * 30, None, on_map=True)
    assert len(many.short_texts(np.arange(30))) == 4


def test_contents_are_matched_by_sample_id():
    views, _ = clustered_views(30)
    ids = [f"s{row}" for row in range(30)]
    frames = {name: pd.DataFrame(view, index=ids) for name, view in views.items()}
    model = DALMC(n_clusters=3, random_state=0).fit(frames)
    texts = pd.Series([f"text of {name}" for name in ids], index=ids)
    fit = CheckedFit(model, frames, texts=texts.iloc[::-1])
    assert list(fit.texts) == texts.tolist()


def test_thumbnails_and_texts_are_on_cards_and_in_tooltips(open_page, pictures, tmp_path):
    views, _ = clustered_views(60)
    model = DALMC(n_clusters=3, random_state=0).fit(views)
    path = tmp_path / "report.html"
    texts = [f"<b>note {row}</b>" for row in range(60)]
    write_fit_report(path, model, views, texts=texts, thumbnails=pictures)
    page = open_page(path)
    link = page.page.locator("#cards button.link").first
    row = link.get_attribute("data-locate")
    picture = page.page.locator(f'#cards [data-thumbnail="{row}"] img')
    assert picture.evaluate("(image) => image.naturalWidth") == 96
    link.click()
    tip = page.page.locator("#map-tip")
    tip.wait_for(state="visible")
    assert f"<b>note {row}</b>" in tip.inner_text()
    assert tip.locator("img").get_attribute("src") == picture.get_attribute("src")
    assert page.problems == []
