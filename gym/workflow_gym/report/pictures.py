"""Files as data URIs, small enough that a page which holds all of them can be mailed."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image as Picture

_QUALITY = 70
_THUMB = (192, 128)


def data_uri(content: bytes, kind: str) -> str:
    """Return bytes as a data URI of the media type `kind`."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


class Album:
    """The screenshots of a trial. Each is read once, and equal pictures are kept once."""

    def __init__(self, root: Path) -> None:
        """Read from the trial's folder `root`."""
        self._root = root.resolve()
        self._places: dict[str, int | None] = {}
        self._known: dict[str, int] = {}
        self.pictures: list[str] = []
        """Every picture in full size, as a data URI."""
        self.thumbs: list[str] = []
        """The same pictures, small."""

    def add(self, name: str) -> int | None:
        """Return the index of the screenshot `name` (relative to the trial's folder), or None if it cannot be read."""
        if name not in self._places:
            self._places[name] = self._load(name)
        return self._places[name]

    def _load(self, name: str) -> int | None:
        path = (self._root / name).resolve()
        if not path.is_relative_to(self._root):
            return None  # A record from elsewhere must not pull the reader's own files into a page.
        try:
            with Picture.open(path) as file:
                picture = file.convert("RGB")
        except (OSError, SyntaxError, ValueError, Picture.DecompressionBombError):
            return None  # A crash can leave half a picture; Pillow's readers say so in all these ways.
        whole = _jpeg(picture, _QUALITY)
        if whole not in self._known:
            self._known[whole] = len(self.pictures)
            self.pictures.append(whole)
            picture.thumbnail(_THUMB, Picture.Resampling.LANCZOS)
            self.thumbs.append(_jpeg(picture, _QUALITY))
        return self._known[whole]


def _jpeg(picture: Picture.Image, quality: int) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, optimize=True)
    return data_uri(buffer.getvalue(), "image/jpeg")
