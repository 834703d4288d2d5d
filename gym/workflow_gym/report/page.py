"""Writes `report.html`: one page that shows a trial to people, offline and without any other file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import assert_never

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from workflow_gym.actions import Done, GiveUp
from workflow_gym.env import Outcome
from workflow_gym.paths import TrialPaths, write_atomically
from workflow_gym.record import ResultRecord, Trial, read_trial
from workflow_gym.report.film import clock, film
from workflow_gym.report.pictures import Album, data_uri

_PACKAGE = "workflow_gym.report"
_FILE_LIMIT = 1_000_000
"""The largest collected file, in bytes, that the page carries."""
_FILES_LIMIT = 10_000_000
"""How many bytes of collected files the page carries altogether."""


@dataclass(frozen=True)
class Badge:
    """How the trial ended, in words."""

    label: str
    """The outcome."""
    tone: str
    """Its colour: good, bad, even or fault."""
    meaning: str
    """What it means, in a sentence."""


@dataclass(frozen=True)
class Totals:
    """How much was done."""

    rounds: int
    """Rounds that were played."""
    actions: int
    """Actions that were recorded."""
    time: str
    """Wall time."""


@dataclass(frozen=True)
class Attachment:
    """A collected file."""

    name: str
    """Its path below the folder of collected files."""
    size: str
    """Its size, for people."""
    uri: str | None
    """Its content, or None when it is too large to be carried."""


def write_report(paths: TrialPaths) -> Path:
    """Write the page of a trial, finished or cut off, into its folder; return the page's path.

    Raises:
        FormatError: the folder holds no trial.
    """
    write_atomically(paths.report, render(read_trial(paths), paths))
    return paths.report


def render(trial: Trial, paths: TrialPaths) -> str:
    """Return the page of a trial whose pictures and collected files lie at `paths`."""
    album = Album(paths.root)
    views = film(trial, album)
    data = {
        "screen": [trial.record.screen.width, trial.record.screen.height],
        "pictures": album.pictures,
        "views": [view.as_json() for view in views],
    }
    style, script = _shipped("trial.css"), _shipped("trial.js")
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("trial.html.j2").render(
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        record=trial.record,
        result=trial.result,
        badge=_badge(trial.result),
        totals=_totals(trial),
        answer=_answer(trial),
        views=views,
        thumbs=album.thumbs,
        attachments=list(_attachments(paths.artifacts)),
        data=data,
    )


def _shipped(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a content security policy under which nothing runs and nothing loads but what this package ships."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _badge(result: ResultRecord | None) -> Badge:
    if result is None:
        return Badge(
            "Cut off", "fault", "The trial has no result: it is still running, or it was stopped before its end."
        )
    match result.outcome:
        case Outcome.PASSED:
            return Badge("Passed", "good", "Every criterion is met.")
        case Outcome.FAILED:
            return Badge("Failed", "bad", "The agent said it was done, but not every criterion is met.")
        case Outcome.GAVE_UP:
            return Badge("Gave up", "even", "The agent declared the task infeasible.")
        case Outcome.OUT_OF_ROUNDS:
            return Badge("Out of rounds", "even", "The agent used all its rounds without saying that it was done.")
        case Outcome.AGENT_ERROR:
            return Badge("Agent error", "fault", "Not scored: the agent or its model failed.")
        case Outcome.MACHINE_ERROR:
            return Badge("Machine error", "fault", "Not scored: the machine failed.")
        case Outcome.CHECKER_ERROR:
            return Badge("Checker error", "fault", "Not scored: the result could not be graded.")
    assert_never(result.outcome)


def _totals(trial: Trial) -> Totals:
    if trial.result:
        return Totals(trial.result.rounds, trial.result.actions, clock(trial.result.seconds))
    last = trial.steps[-1] if trial.steps else None
    return Totals(
        rounds=last.round if last else 0,
        actions=sum(step.action is not None for step in trial.steps),
        time=clock(last.at if last else 0.0),
    )


def _answer(trial: Trial) -> str:
    """Return what the agent said at the end."""
    match trial.steps[-1].action if trial.steps else None:
        case Done(answer=words) | GiveUp(reason=words):
            return words
        case _:
            return ""


def _attachments(folder: Path) -> Iterator[Attachment]:
    carried = 0
    # A link could lead out of the trial; only files that lie here themselves are shown.
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    for path in files:
        size = path.stat().st_size
        fits = size < _FILE_LIMIT and carried + size <= _FILES_LIMIT
        carried += size if fits else 0
        yield Attachment(
            name=os.fsencode(path.relative_to(folder)).decode("utf-8", "replace"),
            size=_bytes(size),
            uri=data_uri(path.read_bytes(), "application/octet-stream") if fits else None,
        )


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
