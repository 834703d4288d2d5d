"""The trial as a film: for every action the screen on which it was decided, and at the end the last screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

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
    state: Literal["done", "refused", "skipped", "broke"] = "done"
    """What became of the action; "broke" is where the trial itself broke off."""
    error: str = ""
    """Why the action was not carried out."""
    zoom: int | None = None
    """Which picture of the album the action had enlarged."""

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
        round_views, pointer = _round(trial, steps, album, seen, pointer)
        views += round_views
        seen = album.add(steps[-1].screenshot)
    if trial.steps:
        views.append(_end(trial, seen))
    return tuple(views)


def _round(
    trial: Trial, steps: Sequence[StepRecord], album: Album, seen: int | None, pointer: Pixel | None
) -> tuple[list[View], Pixel | None]:
    """Return the views of one round, all on the screen `seen`, and where the pointer is afterwards."""
    screen = trial.record.screen
    views: list[View] = []
    earlier: tuple[Mark, ...] = ()
    aim = pointer  # Where the pointer would be if every action had been carried out.
    stop = next((step for step in steps if step.state == "refused"), None)
    # An environment shows the last zoom of a round, and the record may name its picture at the others too.
    zoomed = next((step for step in reversed(steps) if step.state == "done" and step.zoom), None)
    for place, step in enumerate(steps, start=1):
        if step.action is None:
            continue
        mark = mark_for(step.action, screen, aim)
        aim = pointer_after(step.action, screen, aim)
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
                state=_state(step, trial),
                error=_reason(step, stop),
                zoom=album.add(step.zoom) if step is zoomed and step.zoom else None,
            )
        )
        if step.state == "done":
            earlier += (mark,) if mark else ()
            pointer = aim
    return views, pointer


def _state(step: StepRecord, trial: Trial) -> Literal["done", "refused", "skipped", "broke"]:
    """Return the state of a step, and tell a refusal from what ended the whole trial."""
    broke = step.state == "refused" and step.error and trial.result and step.error == trial.result.error
    return "broke" if broke else step.state


def _reason(step: StepRecord, stop: StepRecord | None) -> str:
    """Return why a step was not carried out, or ""; `stop` is the step at which its round stopped."""
    if step.state == "skipped" and stop:
        return f"step {stop.number} was not carried out"
    return step.error or ""


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
