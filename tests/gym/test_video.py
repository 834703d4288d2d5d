from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from workflow_gym.errors import FormatError
from workflow_gym.video import write_video


def picture(value: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.full((101, 201, 3), value, dtype=np.uint8)


def test_frames_are_shown_for_as_long_as_they_should(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    write_video(path, [(picture(10), 0.5), (picture(120), 1.5), (picture(240), 1.0)])
    with av.open(str(path)) as container:
        frames = [
            (float(frame.time or 0), int(frame.to_ndarray(format="rgb24").mean()))
            for frame in container.decode(video=0)
        ]
        assert [round(time, 2) for time, _ in frames] == [0.0, 0.5, 2.0, 3.0]
        assert [abs(found - sent) < 4 for (_, found), sent in zip(frames, [10, 120, 240, 240], strict=True)] == [
            True
        ] * 4
        assert (container.streams.video[0].width, container.streams.video[0].height) == (200, 100)


def test_no_frames_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        write_video(tmp_path / "video.mp4", [])
    assert list(tmp_path.iterdir()) == []
