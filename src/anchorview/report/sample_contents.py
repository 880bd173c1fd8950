"""What a reader sees of a sample: its id, a text, a small picture."""

import base64
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorview._utils.errors import optional_import
from anchorview._utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

TEXT_LENGTH = 160
"""Maximum length of a text on the page."""

MAX_TEXT_BYTES = 1_500_000
"""Maximum size of all texts on the page."""

THUMBNAIL_SIZE = 96
"""Maximum width and height of a thumbnail in pixels."""

MAX_THUMBNAIL_BYTES = 1_500_000
"""Maximum size of all thumbnails on the page."""


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
    images: Sequence[str | os.PathLike[str] | None] | Array | None
    on_map: bool
    """Whether samples can be shown on a map."""
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
            if self._size >= MAX_THUMBNAIL_BYTES:
                break
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
    """Rows in an order of which every beginning is spread over all."""
    return np.random.RandomState(0).permutation(rows).tolist()


def thumbnail(path: str | os.PathLike[str] | None, row: int) -> str:
    """Read an image and return a small JPEG as a data URI."""
    images = optional_import("PIL.Image", "Thumbnails", "report")
    try:
        with images.open(path) as image:
            image.draft("RGB", (THUMBNAIL_SIZE, THUMBNAIL_SIZE))
            small = image.convert("RGBA")
            small.thumbnail((THUMBNAIL_SIZE, THUMBNAIL_SIZE))
    except (OSError, ValueError, images.DecompressionBombError) as error:
        raise ValueError(
            f"thumbnails: the image of sample {row}, {os.fspath(path or '')!r}, cannot be read: "
            f"{error}. Give None for samples without an image."
        ) from error
    flat = images.new("RGB", small.size, "white")
    flat.paste(small, mask=small.getchannel("A"))
    stream = io.BytesIO()
    flat.save(stream, "JPEG", quality=75, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode()
