"""Frames seen during a step, thinned out evenly so that they stay few."""

from __future__ import annotations

from workflow_gym.machines.base import Frame


class Film:
    """Keeps at most so many of the frames that it is shown, spread evenly over all of them."""

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` frames, at least two."""
        self._limit = max(limit, 2)
        self._kept: list[Frame] = []
        self._stride = 1
        self._seen = 0

    def add(self, frame: Frame) -> None:
        """Show it a frame."""
        if self._seen % self._stride == 0:
            if len(self._kept) == self._limit:
                self._kept = self._kept[::2]
                self._stride *= 2
            if self._seen % self._stride == 0:
                self._kept.append(frame)
        self._seen += 1

    @property
    def frames(self) -> list[Frame]:
        """The kept frames, oldest first; none when nothing was seen to change."""
        return list(self._kept)
