"""An MP4 of a trial, made of its screenshots (PyAV; no ffmpeg on the host is needed)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image as Picture

from workflow_gym.errors import FormatError, MissingDependencyError
from workflow_gym.machines.base import Frame
from workflow_gym.paths import TrialPaths
from workflow_gym.record import read_trial

if TYPE_CHECKING:
    import av

_MILLISECOND = Fraction(1, 1000)
_SHOWN_AT_LEAST, _SHOWN_AT_MOST = 0.2, 2.0
"""Seconds for which a screen is shown, however long the step took."""


def write_video(path: Path, frames: Iterable[tuple[Frame, float]]) -> None:
    """Write frames, each with the seconds for which it is shown, as an H.264 MP4 file.

    Args:
        path: the file to write.
        frames: (height, width, 3) uint8 pictures of one size, and seconds.

    Raises:
        MissingDependencyError: PyAV is not installed.
        FormatError: there are no frames.
    """
    try:
        import av
    except ImportError:
        raise MissingDependencyError("videos need PyAV: pip install 'workflow-gym[video]'") from None
    temporary = path.with_name(f".{path.name}.part")
    shown, stream = 0.0, None
    try:
        with av.open(str(temporary), "w", format="mp4") as container:
            for frame, seconds in frames:
                if stream is None:
                    stream = _stream(container, frame)
                _encode(container, stream, frame, shown)
                shown += seconds
                last = frame
            if stream is None:
                raise FormatError(f"{path}: there are no frames to make a video of")
            _encode(container, stream, last, shown)  # Without it the last screen would not last.
            container.mux(stream.encode(None))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _stream(container: av.container.OutputContainer, frame: Frame) -> av.VideoStream:
    stream = container.add_stream("libx264", rate=30, options={"crf": "23", "preset": "veryfast"})
    # The encoder wants even sizes.
    stream.width, stream.height = frame.shape[1] // 2 * 2, frame.shape[0] // 2 * 2
    stream.pix_fmt = "yuv420p"
    stream.codec_context.time_base = _MILLISECOND
    return stream


def _encode(container: av.container.OutputContainer, stream: av.VideoStream, frame: Frame, shown: float) -> None:
    import av

    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame[: stream.height, : stream.width]), format="rgb24")
    picture.pts, picture.time_base = round(shown * 1000), _MILLISECOND
    container.mux(stream.encode(picture))


def write_trial_video(paths: TrialPaths) -> Path:
    """Write `video.mp4` of a trial into its folder, finished or cut off, and return its path; see `write_video`."""
    steps = read_trial(paths).steps

    def frames() -> Iterable[tuple[Frame, float]]:
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if following is not None and following.screenshot == step.screenshot:
                continue
            seconds = following.at - step.at if following is not None else _SHOWN_AT_MOST
            picture = Picture.open(paths.root / step.screenshot).convert("RGB")
            yield np.asarray(picture), min(max(seconds, _SHOWN_AT_LEAST), _SHOWN_AT_MOST)

    write_video(paths.video, frames())
    return paths.video
