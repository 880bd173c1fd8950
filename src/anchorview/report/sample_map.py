"""Samples on the page: what is shown of each, and the map with everything its script tells."""

import base64
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview._utils.typing import Array
from anchorview.plotting.axes import CLUSTER_COLORS
from anchorview.plotting.drawn_samples import map_layout, normalizes_embedding, stored_embedding
from anchorview.report.findings import CheckedFit, Findings
from anchorview.report.page import Interactive, Text
from anchorview.views.container import MultiViewData

RESOLUTION = 2**16 - 1
"""Positions are rounded to this number of steps, which no zoom of the map shows."""

TEXT_LENGTH, MAX_TEXT_BYTES = 160, 1_500_000
"""Maximum length of a text on the page, and size of all of them."""

THUMBNAIL_SIZE, MAX_THUMBNAIL_BYTES = 96, 1_500_000
"""Maximum width and height of a thumbnail in pixels, and size of all of them."""

FEW_PIXELS = 32
"""Width and height up to which images are not compressed with loss, and range of values that are
not yet brightness."""

SCRIPTS = ("map_points.js", "map_plane.js", "sample_map.js")


@dataclass(frozen=True)
class SampleLink:
    """A sample that is named on the page."""

    row: int
    id: str
    text: str
    has_thumbnail: bool
    on_map: bool

    def __str__(self) -> str:
        return self.id


@dataclass(eq=False)
class SampleContents:
    """Ids, texts and images of the samples; images are read as far as their total size allows."""

    sample_ids: "Sequence[object] | pd.Index[Any] | None"
    texts: Sequence[object] | Array | None
    images: Any
    """Files, or arrays of pixels."""
    on_map: bool
    _thumbnails: dict[int, str] = field(default_factory=dict)
    _size: int = 0

    def link(self, row: int) -> SampleLink:
        """Return a sample to be named, with its thumbnail if there is room."""
        sample_id = str(row) if self.sample_ids is None else str(self.sample_ids[row])
        text = "" if self.texts is None else _short(self.texts[row])
        return SampleLink(row, sample_id, text, self._embed(row), self.on_map)

    def short_texts(self, rows: Array) -> dict[int, str] | None:
        """Texts of samples on the map, evenly over the rows if there is no room for all."""
        if self.texts is None:
            return None
        short = {row: _short(self.texts[row]) for row in _spread(rows)}
        sizes = np.cumsum([len(text.encode("utf-8", "replace")) for text in short.values()])
        kept = int(np.searchsorted(sizes, MAX_TEXT_BYTES, side="right"))
        return dict(list(short.items())[:kept])

    def thumbnails(self, rows: Array) -> dict[int, str] | None:
        """Thumbnails by row: those of linked samples, and of as many others as there is room."""
        if self.images is None:
            return None
        for row in _spread(rows):
            self._embed(row)
        return self._thumbnails

    def _embed(self, row: int) -> bool:
        if self.images is None or self.images[row] is None:
            return False
        if row not in self._thumbnails and self._size < MAX_THUMBNAIL_BYTES:
            picture = thumbnail(self.images[row], row)
            self._thumbnails[row] = picture
            self._size += len(picture)
        return row in self._thumbnails


def _short(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 1]}…"


def _spread(rows: Array) -> Iterable[int]:
    """Rows, shuffled: every prefix is a uniform sample."""
    return np.random.RandomState(0).permutation(rows).tolist()


def thumbnail(image: Any, row: int) -> str:
    """Read an image, a file or its pixels, and return a small one as a data URI."""
    images = optional_import("PIL.Image", "Thumbnails", "report")
    try:
        opened = _from_pixels(image) if isinstance(image, np.ndarray) else images.open(image)
        with opened:
            opened.draft("RGB", (THUMBNAIL_SIZE, THUMBNAIL_SIZE))
            small = opened.convert("RGBA")
            small.thumbnail((THUMBNAIL_SIZE, THUMBNAIL_SIZE))
    except (OSError, ValueError, TypeError, images.DecompressionBombError) as error:
        what = "" if isinstance(image, np.ndarray) else f", {os.fspath(image or '')!r},"
        raise ValueError(
            f"thumbnails: the image of sample {row}{what} cannot be read: "
            f"{error}. Give None for samples without an image."
        ) from error
    flat = images.new("RGB", small.size, "white")
    flat.paste(small, mask=small.getchannel("A"))
    stream = io.BytesIO()
    # Few pixels stay what they are.
    kind, options = ("PNG", {}) if max(flat.size) <= FEW_PIXELS else ("JPEG", {"quality": 75})
    flat.save(stream, kind, optimize=True, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(stream.getvalue()).decode()}"


def _from_pixels(pixels: Array) -> Any:
    """Image of pixels; numbers other than bytes are scaled, the largest to black."""
    images = optional_import("PIL.Image", "Thumbnails", "report")
    if pixels.dtype != np.uint8 or pixels.max() < FEW_PIXELS:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = (255 * (1 - (pixels - low) / max(high - low, 1e-12))).astype(np.uint8)
    return images.fromarray(pixels)


def sample_map(
    levels: Mapping[str, tuple[CheckedFit, Findings]], chosen: str, contents: SampleContents
) -> Interactive | Text:
    """Lay out the map, or say that there is nothing to lay it out by."""
    fit, findings = levels[chosen]
    if not fit.has_coordinates:
        return Text(
            f"There is no map of the samples: {fit.model_name} computes no embedding, and the "
            "report was written without the views."
        )
    normalize = stored_embedding(fit.model) is not None and normalizes_embedding(fit.model)
    rows, positions = map_layout(fit.embedding, fit.labels, normalize=normalize)
    payload = {
        **_positions(positions),
        "rows": rows.tolist(),
        "ids": None if fit.sample_ids is None else [str(fit.sample_ids[row]) for row in rows],
        "level": chosen,
        "palette": list(CLUSTER_COLORS),
        "texts": contents.short_texts(rows),
        "thumbnails": contents.thumbnails(rows),
    }
    colorings = {"cluster": "cluster"}
    # By the names of levels, or of colorings.
    partitions: dict[str, dict[str, Any]] = {
        name: _partition(of_level.titles, level.labels[rows], level.cluster_names)
        for name, (level, of_level) in levels.items()
    }
    if fit.classes is not None:
        colorings["class"] = "known class"
        codes, names = pd.factorize(fit.classes[rows], sort=True)
        partitions["class"] = _partition(names, codes, range(len(names)))
    if findings.certainty is not None:
        colorings["confidence"] = "confidence"
        confidence = findings.certainty.confidence[rows]
        payload["confidence"] = np.floor(100 * confidence).astype(int).tolist()
        partitions[chosen]["second"] = findings.certainty.second_labels[rows].tolist()
    if fit.data is not None and fit.data.available is not None:
        colorings["availability"] = "available views"
        pattern = np.empty(len(fit.data), dtype=int)
        for group in fit.data.groups:
            pattern[group.rows] = group.group
        partitions["availability"] = _partition(pattern_names(fit.data), pattern[rows])
    payload["partitions"] = partitions
    values = {
        "payload": payload,
        "colorings": colorings,
        "n_samples": len(fit.labels),
        "n_points": len(rows),
        "levels": {name: f.n_clusters for name, (f, _) in levels.items()},
        "chosen": chosen,
    }
    return Interactive("sample_map.html.jinja", SCRIPTS, values)


def _partition(names: Iterable[Any], codes: Array, short: Iterable[Any] = ()) -> dict[str, Any]:
    """Names of groups, the group of each point, -1 without one, and short names."""
    return {"names": list(map(str, names)), "codes": codes.tolist(), "short": list(map(str, short))}


def _positions(positions: Array) -> dict[str, list[int]]:
    """Coordinates from the top left corner, as integers."""
    low = positions.min(axis=0)
    steps = RESOLUTION / max(float(np.ptp(positions, axis=0).max()), 1e-12)
    scaled = np.rint((positions - low) * steps).astype(int)
    return {"x": scaled[:, 0].tolist(), "y": (scaled[:, 1].max() - scaled[:, 1]).tolist()}


def pattern_names(data: MultiViewData) -> list[str]:
    """Names of the groups of samples, by the fewer of the available and the lacking views."""
    names, texts = np.asarray(data.names, dtype=object), list[str]()
    for group in data.groups:
        lacking = np.delete(names, group.views)
        only = 2 * len(group.views) < len(names)
        text = f"only {', '.join(names[list(group.views)])}" if only else "all views"
        texts.append(f"without {', '.join(lacking)}" if len(lacking) and not only else text)
    return texts
