"""The trial as a film: for every action the screen on which it was decided, and at the end the last screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from workflow_gym.actions import Size
from workflow_gym.record import StepRecord, Trial
from workflow_gym.report.marks import Mark, Pixel, chip, headline, long_text, mark_for, pointer_after, stated
from workflow_gym.report.pictures import Album


@dataclass(frozen=True)
class View:
    """One picture of the film."""

    anchor: str
    """Its address in the page: "step-12" shows what was decided as action 12; "end" is the last screen."""
    label: str
    """What it is called in the strip: the action's number, or "end"."""
    picture: int | None
    """Which picture of the album is shown; None when it is lost."""
    title: str
    """The action in one line."""
    opens: bool = True
    """Whether it is the first action of its round; the others have the same note."""
    where: str = ""
    """Round, and place within the round."""
    time: str = ""
    """When the action was over, since the trial began."""
    took: str = ""
    """How long its round took."""
    note: str = ""
    """The agent's thought or the expert's caption."""
    text: str = ""
    """The text that the action carries, when the title does not hold all of it."""
    stated: str = ""
    """The coordinates as the agent stated them, when they were not pixels."""
    chip: str = ""
    """The caption over the picture."""
    mark: Mark | None = None
    """What is drawn on the picture."""
    earlier: tuple[Mark, ...] = ()
    """Marks of the actions before it in the same round, which the picture does not show yet."""
    settled: bool = True
    """Whether the screen came to rest afterwards."""
    error: str = ""
    """Why the round was refused."""

    def as_json(self) -> dict[str, Any]:
        """Return what the page's script needs."""
        return dataclasses.asdict(self)


def film(trial: Trial, album: Album) -> tuple[View, ...]:
    """Return the views of a trial in order, and add the screenshots they show to `album`."""
    views: list[View] = []
    seen: int | None = None
    pointer: Pixel | None = None
    for _, members in groupby(trial.steps, key=lambda step: step.round):
        steps = tuple(members)
        round_views, pointer = _round(steps, trial.record.screen, seen, pointer)
        views += round_views
        seen = album.add(steps[-1].screenshot)
    if trial.steps:
        views.append(_end(trial, seen))
    return tuple(views)


def _round(
    steps: Sequence[StepRecord], screen: Size, seen: int | None, pointer: Pixel | None
) -> tuple[list[View], Pixel | None]:
    """Return the views of one round, all on the screen `seen`, and where the pointer is afterwards."""
    views: list[View] = []
    earlier: tuple[Mark, ...] = ()
    for place, step in enumerate(steps, start=1):
        if step.action is None:
            continue
        mark = mark_for(step.action, screen, pointer)
        part = f", action {place} of {len(steps)}" if len(steps) > 1 else ""
        views.append(
            View(
                anchor=f"step-{step.number}",
                label=str(step.number),
                picture=seen,
                title=headline(step.action, screen),
                opens=place == 1,
                where=f"Round {step.round}{part}",
                time=clock(step.at),
                took=f"{step.seconds:.1f} s",
                note=step.note,
                text=long_text(step.action),
                stated=stated(step.action),
                chip=chip(step.action),
                mark=mark,
                earlier=earlier,
                settled=step.settled,
                error=step.error or "",
            )
        )
        earlier += (mark,) if mark else ()
        if not step.error:
            pointer = pointer_after(step.action, screen, pointer)
        elif len(steps) > 1:
            pointer = None  # The record does not say which action of the round was refused.
    return views, pointer


def _end(trial: Trial, seen: int | None) -> View:
    if trial.steps[-1].action is None:
        title = "The first screen; no action followed"
    else:
        title = "The last screen" if trial.result else "The last screen before the trial was cut off"
    return View(anchor="end", label="end", picture=seen, title=title, time=clock(trial.steps[-1].at))


def clock(seconds: float) -> str:
    """Return a duration as "1:05" or "2:01:05"."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
