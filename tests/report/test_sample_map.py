"""Samples on the page: texts, thumbnails, and what the map tells its script."""

import base64
import io

import numpy as np
import pytest

from anchorview import DALMC, load_digits
from anchorview.report import sample_map, write_fit_report
from anchorview.report.findings import CheckedFit, inspect_fit, inspect_level
from anchorview.report.sample_map import SampleContents, pattern_names, thumbnail
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
    assert head in ("data:image/jpeg;base64", "data:image/png;base64")
    return images.open(io.BytesIO(base64.b64decode(content)))


def test_thumbnails_are_small_jpegs_and_unreadable_images_are_named(pictures, tmp_path):
    small = decoded(thumbnail(pictures[0], 0))
    assert small.format == "JPEG"
    assert small.size == (96, 48)
    transparent = tmp_path / "transparent.png"
    images.new("RGBA", (10, 10), (255, 0, 0, 0)).save(transparent)
    # Transparent pixels are white.
    assert min(decoded(thumbnail(transparent, 0)).getpixel((5, 5))) > 250
    path = tmp_path / "broken.png"
    path.write_bytes(b"not an image")
    contents = SampleContents(None, None, [None, path], on_map=True)
    with pytest.raises(ValueError, match=r"image of sample 1, '.*broken.png', cannot be read"):
        contents.link(1)


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


@pytest.fixture
def drawn(incomplete_fit, set_constants):
    """A map of the odd samples."""
    model, data, target, sample_ids = incomplete_fit
    rows = np.arange(1, 240, 2)
    positions = np.random.RandomState(0).rand(120, 2) * [3, 1] - 5
    set_constants(sample_map, map_layout=lambda *_, **__: (rows, positions))
    fit = CheckedFit(model, data, target=target, sample_ids=sample_ids)
    contents = SampleContents(sample_ids, None, None, on_map=True)
    levels = {"only": (fit, inspect_fit(fit))}
    return sample_map.sample_map(levels, "only", contents).values, rows, positions


def test_points_have_the_values_of_their_samples_and_keep_their_shape(drawn, incomplete_fit):
    model, data, target, sample_ids = incomplete_fit
    payload, rows = drawn[0]["payload"], drawn[1]
    assert payload["rows"] == rows.tolist()
    assert payload["ids"] == [sample_ids[row] for row in rows]
    assert payload["partitions"]["only"]["codes"] == model.labels_[rows].tolist()
    assert payload["confidence"] == np.floor(100 * model.confidence_[rows]).tolist()
    classes = payload["partitions"]["class"]
    assert [classes["names"][code] for code in classes["codes"]] == target[rows].tolist()
    availability = payload["partitions"]["availability"]
    for row, code in zip(rows, availability["codes"], strict=True):
        assert data.available[row, list(data.groups[code].views)].all()
        assert data.available[row].sum() == len(data.groups[code].views)
    assert availability["names"] == pattern_names(data)
    assert list(drawn[0]["colorings"]) == ["cluster", "class", "confidence", "availability"]
    payload, positions = drawn[0]["payload"], drawn[2]
    placed = np.column_stack([payload["x"], payload["y"]])
    assert placed.min(axis=0).tolist() == [0, 0]
    assert placed.max() == 2**16 - 1
    ratio = np.ptp(positions, axis=0)
    assert np.ptp(placed, axis=0) / placed.max() == pytest.approx(ratio / ratio.max(), abs=1e-4)
    assert np.argsort(placed[:, 0]).tolist() == np.argsort(positions[:, 0]).tolist()
    assert placed[:, 1].argmin() == positions[:, 1].argmax()


def test_points_have_their_cluster_at_each_level(nested_fit):
    views, model = nested_fit
    fit = CheckedFit(model, views)
    level = fit.at_level(9)
    levels = {"Coarse": (fit, inspect_fit(fit)), "Fine": (level, inspect_level(level))}
    contents = SampleContents(None, None, None, on_map=True)
    drawn = sample_map.sample_map(levels, "Coarse", contents).values
    assert drawn["levels"] == {"Coarse": 3, "Fine": 9}
    codes = drawn["payload"]["partitions"]["Fine"]["codes"]
    assert codes == model.labels_at(9)[drawn["payload"]["rows"]].tolist()


def test_pixels_are_thumbnails():
    digits = load_digits()
    pixels = digits.views["pixels"].reshape(-1, 16, 15)
    picture = decoded(thumbnail(pixels[0], 0))
    assert (picture.format, picture.size) == ("PNG", (15, 16))
    dark = np.asarray(picture.convert("L")) < 128
    ink = pixels[0] > pixels[0].max() / 2
    assert (dark == ink).mean() > 0.9
    fit = CheckedFit(
        DALMC(2, random_state=0).fit(pixels.reshape(len(pixels), -1)), thumbnails=pixels
    )
    contents = SampleContents(None, None, fit.thumbnails, on_map=True)
    assert contents.link(7).has_thumbnail
