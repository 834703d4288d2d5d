"""The page of a trial: what it shows, that hostile text stays text, and that broken trials still give a page."""

from __future__ import annotations

import base64
import io
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from workflow_gym.actions import (
    GRID_1000,
    Action,
    Click,
    Done,
    Drag,
    GiveUp,
    HoldKey,
    Key,
    MouseDown,
    MouseUp,
    Move,
    Point,
    Screenshot,
    Scroll,
    Size,
    TypeText,
    Wait,
    Zoom,
    click,
)
from workflow_gym.env import Outcome
from workflow_gym.errors import FormatError
from workflow_gym.grading import Criterion, Verdict
from workflow_gym.machines.base import Frame
from workflow_gym.machines.fake import Desktop
from workflow_gym.paths import TrialPaths
from workflow_gym.record import Recorder, ResultRecord, TrialRecord
from workflow_gym.report.film import clock
from workflow_gym.report.marks import Mark, chip, headline, long_text, mark_for, pointer_after
from workflow_gym.report.page import write_report

SCREEN = Size(640, 400)
HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 ' \" {{ 7 * 7 }}"


class Page(HTMLParser):
    """What a browser would make of the page: its elements, its text, and the data of its script."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self.feed(self.source)
        self.close()
        self.text = re.sub(r"\s+", " ", " ".join(self.words))
        self.data: dict[str, Any] = json.loads(self.raw["data"])
        self.views: list[dict[str, Any]] = self.data["views"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data
        else:
            self.words.append(data)

    def having(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.elements if name == tag and attributes.items() <= found.items()]


def frame(text: str) -> Frame:
    return Desktop(text=text).picture(SCREEN)


def info(number: int, carried_out: int = 1, error: str | None = None, settled: bool = True) -> dict[str, Any]:
    return {
        "round": number,
        "seconds": 1.25,
        "settled": settled,
        "carried_out": carried_out,
        "action_error": error,
    }


def new_trial(root: Path, title: str = "Write a letter", instruction: str = "Write it.\nSave it.") -> Recorder:
    record = TrialRecord(
        task="office/editor/letter",
        title=title,
        instruction=instruction,
        domain="Office",
        agent="expert",
        provider="fake",
        seed=None,
        screen=SCREEN,
        started=datetime(2025, 11, 29, 21, 4, tzinfo=UTC),
        versions={"workflow-gym": "0.1.0"},
    )
    return Recorder(TrialPaths.new(root, "office/editor/letter", "expert"), record)


def result(outcome: Outcome, verdict: Verdict | None = None, error: str | None = None) -> ResultRecord:
    return ResultRecord(outcome=outcome, verdict=verdict, reward=0, rounds=3, actions=4, seconds=3725, error=error)


def page_of(recorder: Recorder) -> Page:
    path = write_report(recorder.paths)
    assert path == recorder.paths.report
    return Page(path)


def picture_of(page: Page, view: int) -> Frame:
    uri: str = page.data["pictures"][page.views[view]["picture"]]
    head, content = uri.split(",")
    assert head == "data:image/jpeg;base64"
    return np.asarray(Picture.open(io.BytesIO(base64.b64decode(content))))


@pytest.fixture
def played(tmp_path: Path) -> Recorder:
    """A trial of three rounds, the second with two actions."""
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame("at first"), info(0))
    recorder.add((click(100, 50),), "Open the menu", frame("after one"), info(1))
    recorder.add(
        (TypeText(text="Dear"), Key(keys="ctrl+s")), "Write and save", frame("after two"), info(2, 2, settled=False)
    )
    recorder.add((Done(answer="It is saved."),), "", frame("after two"), info(3))
    return recorder


def test_a_finished_trial(played: Recorder) -> None:
    criteria = (
        Criterion(name="A letter exists", met=True, expected="a file", found="letter.txt", kind="complete"),
        Criterion(name="It is signed", met=False, expected="a name", found="nothing"),
    )
    (played.paths.artifacts / "letter.txt").write_bytes(b"Dear")
    played.finish(result(Outcome.FAILED, Verdict(criteria=criteria)))
    page = page_of(played)
    for words in (
        "Write a letter", "office/editor/letter", "Save it.", "Failed", "expert", "fake", "1:02:05", "It is saved.",
        "1 of 2 criteria met", "✓ met", "A letter exists", "complete", "letter.txt", "✗ not met", "a name", "accurate",
        "workflow-gym", "0.1.0", "Write and save", "Press Ctrl + S",
    ):  # fmt: skip
        assert words in page.text
    assert [view["anchor"] for view in page.views] == ["step-1", "step-2", "step-3", "step-4", "end"]
    assert [link["href"] for link in page.having("a") if "aria-label" in link and "title" in link] == [
        "#step-1", "#step-2", "#step-3", "#step-4", "#end"
    ]  # fmt: skip
    (link,) = page.having("a", download="letter.txt")
    assert link["href"] == "data:application/octet-stream;base64," + base64.b64encode(b"Dear").decode()


def test_an_action_is_drawn_on_the_screen_on_which_it_was_decided(played: Recorder) -> None:
    page = page_of(played)
    shown = [view["picture"] for view in page.views]
    assert shown == [0, 1, 1, 2, 2], "the second round has two actions, and the third changed nothing"
    assert len(page.data["pictures"]) == 3
    for view, text in ((0, "at first"), (1, "after one"), (4, "after two")):
        seen = picture_of(page, view).astype(int)
        assert seen.shape == (400, 640, 3)
        assert np.abs(seen - frame(text)).mean() < 3
    assert page.views[0]["mark"] == {"shape": "click", "points": [[100, 50]], "count": 1, "direction": [0, 0]}
    assert page.views[0]["note"] == "Open the menu"
    assert [view["where"] for view in page.views[1:3]] == ["Round 2, action 1 of 2", "Round 2, action 2 of 2"]
    assert page.text.count("Write and save") == 1, "the note of a round is told once"
    assert [view["chip"] for view in page.views] == ["", "Dear", "Ctrl + S", "Done: It is saved.", ""]
    assert [view["settled"] for view in page.views] == [True, False, False, True, True]


def test_the_page_stands_alone(played: Recorder) -> None:
    page = page_of(played)
    for _, attributes in page.elements:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert "@import" not in page.raw["style"] and "url(" not in page.raw["style"]
    (policy,) = page.having("meta", **{"http-equiv": "Content-Security-Policy"})
    assert "default-src 'none'" in (policy["content"] or "")
    assert not [path for path in played.paths.root.iterdir() if path.name.startswith(".")], (
        "a half-written page is left"
    )


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path, title=HOSTILE, instruction=HOSTILE)
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((TypeText(text=HOSTILE),), HOSTILE, frame("a"), info(1, 0, HOSTILE))
    recorder.add((Done(answer=HOSTILE),), HOSTILE, frame("b"), info(2))
    criterion = Criterion(name=HOSTILE, met=False, expected=HOSTILE, found=HOSTILE)
    (recorder.paths.artifacts / "a\"><img src=x onerror='alert(1)'>.txt").write_bytes(HOSTILE.encode())
    recorder.finish(result(Outcome.MACHINE_ERROR, Verdict(criteria=(criterion,)), error=HOSTILE))
    page = page_of(recorder)
    assert [attributes for _, attributes in page.elements if any(name.startswith("on") for name in attributes)] == []
    assert len(page.having("script")) == 2
    assert page.source.count("</script>") == 2
    assert "<!--" not in page.source
    assert page.views[0]["note"] == HOSTILE
    assert page.views[0]["error"] == HOSTILE
    assert page.views[1]["text"] == HOSTILE
    shown = re.sub(r"\s+", " ", HOSTILE)
    assert page.text.count(shown) >= 9, "title, instruction, answer, criterion (3), error, note (2), refusal"


@pytest.mark.parametrize("torn", [False, True])
def test_a_trial_that_was_cut_off(played: Recorder, torn: bool) -> None:
    if torn:
        with played.paths.steps.open("a", encoding="utf-8") as file:
            file.write('{"number": 5, "rou')
    page = page_of(played)
    assert "Cut off" in page.text and "There is no verdict" in page.text
    assert page.views[-1]["title"] == "The last screen before the trial was cut off"
    assert re.search(r"Rounds\s+3 Actions\s+4", page.text)


def test_a_trial_without_steps(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.finish(result(Outcome.MACHINE_ERROR, error="QEMU ended with status 1"))
    page = page_of(recorder)
    assert page.views == [] and page.data["pictures"] == []
    assert "No screen was recorded." in page.text and "QEMU ended with status 1" in page.text


def test_a_trial_with_nothing_but_the_reset(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame("at first"), info(0))
    page = page_of(recorder)
    assert [(view["anchor"], view["picture"]) for view in page.views] == [("end", 0)]
    assert "Steps as text" not in page.text


def test_no_trial(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        write_report(TrialPaths(tmp_path))


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_badge(tmp_path: Path, outcome: Outcome) -> None:
    recorder = new_trial(tmp_path)
    recorder.finish(result(outcome))
    assert outcome.value.replace("_", " ").capitalize() in page_of(recorder).text


def test_a_lost_or_broken_screenshot_costs_only_that_picture(played: Recorder) -> None:
    (played.paths.screenshots / "0000.png").unlink()
    broken = played.paths.screenshots / "0001.png"
    broken.write_bytes(broken.read_bytes()[:200])
    page = page_of(played)
    assert [view["picture"] for view in page.views] == [None, None, None, 0, 0]


def test_files_outside_the_trial_are_not_read(played: Recorder, tmp_path: Path) -> None:
    Picture.fromarray(frame("private")).save(tmp_path / "private.png")
    lines = played.paths.steps.read_text(encoding="utf-8").replace("screenshots/0000.png", "../private.png")
    played.paths.steps.write_text(lines, encoding="utf-8")
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (played.paths.artifacts / "link.txt").symlink_to(secret)
    page = page_of(played)
    assert page.views[0]["picture"] is None
    assert "link.txt" not in page.source


def test_large_files_are_named_but_not_carried(played: Recorder) -> None:
    (played.paths.artifacts / "large.bin").write_bytes(bytes(1_000_000))
    page = page_of(played)
    assert "large.bin" in page.text and "1.0 MB, too large" in page.text
    assert page.having("a", download="large.bin") == []


def test_a_refused_round(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    refusal = "the point (900, 5) is outside the screen"
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((click(900, 5),), "Close it", frame(""), info(1, 0, refusal))
    recorder.finish(result(Outcome.OUT_OF_ROUNDS).model_copy(update={"actions": 0}))
    page = page_of(recorder)
    view = page.views[0]
    assert (view["mark"], view["state"], view["error"]) == (None, "refused", refusal)
    assert view["title"] == "Click at (900, 5) off the screen"
    assert f"Refused: {refusal}" in page.text, "also when no action at all was carried out"


def test_a_round_that_was_refused_midway(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame(""), info(0))
    actions = (click(5, 5), click(999, 5), click(50, 60), Click())
    recorder.add(actions, "", frame("a"), info(1, 1, "off the screen"))
    recorder.add((Click(),), "", frame("b"), info(2))
    page = page_of(recorder)
    assert [view["state"] for view in page.views] == ["done", "refused", "skipped", "skipped", "done", "done"]
    assert [view["error"] for view in page.views] == [
        "", "off the screen", "step 2 was not carried out", "step 2 was not carried out", "", ""
    ]  # fmt: skip
    assert [view["mark"] and view["mark"]["points"] for view in page.views] == [
        [[5, 5]], None, [[50, 60]], [[50, 60]], [[5, 5]], None
    ], "a skipped action shows where it was meant, and moves no pointer"  # fmt: skip
    assert [len(view["earlier"]) for view in page.views] == [0, 1, 1, 1, 0, 0], "only what was done is on the way"
    assert page.text.count("Refused: ") == 1 and page.text.count("Skipped: ") == 2
    links = [link for link in page.having("a") if "title" in link]
    assert [link["class"] for link in links] == ["done", "refused", "skipped", "skipped", "done", "done"]
    assert [(link["aria-label"] or "").rsplit(", ", 1)[-1] for link in links[1:4]] == ["refused", "skipped", "skipped"]


def test_the_round_in_which_the_machine_broke(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((click(900, 5),), "", frame(""), info(1, 0, "off the screen"))
    recorder.add((click(5, 5), Done()), "Close it", frame(""), info(2, 0, "QEMU ended"))
    recorder.finish(result(Outcome.MACHINE_ERROR, error="QEMU ended"))
    page = page_of(recorder)
    assert [view["state"] for view in page.views] == ["refused", "broke", "skipped", "done"]
    assert "Broke: QEMU ended" in page.text and page.text.count("Refused: ") == 1


def test_the_enlarged_picture_is_beside_the_screen(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    zoom = Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=100, y=50))
    enlarged = frame("enlarged")[:320]
    recorder.add((None,), "", frame("at first"), info(0))
    recorder.add((zoom,), "", frame("at first"), info(1) | {"zoom": enlarged})
    recorder.add((zoom, click(5, 5)), "", frame("at first"), info(2, 2) | {"zoom": enlarged})
    page = page_of(recorder)
    shown = page.views[0]["zoom"]
    assert [view["zoom"] for view in page.views] == [shown, shown, None, None]
    assert len(page.data["pictures"]) == 2, "equal pictures are kept once"
    assert page.source.count(page.data["pictures"][shown]) == 1
    page.views[0]["picture"] = shown
    seen = picture_of(page, 0).astype(int)
    assert seen.shape == (320, 640, 3)
    assert np.abs(seen - enlarged).mean() < 3
    assert page.having("div", **{"class": "player zooms"})


def test_a_zoom_that_showed_nothing_has_no_picture(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    first, second = (Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=x, y=50)) for x in (100, 200))
    extra = {"zoom": frame("enlarged")}
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((first, second), "", frame(""), info(1, 2) | extra)
    recorder.add((first, click(999, 5), second), "", frame(""), info(2, 1, "off the screen") | extra)
    recorder.add((second,), "", frame(""), info(3, 0, "QEMU ended") | extra)
    views = page_of(recorder).views
    assert [view["zoom"] is not None for view in views] == [False, True, True, False, False, False, False], (
        "only the last zoom of a round that was carried out is shown to the agent"
    )


def test_a_lost_enlarged_picture_costs_only_that_picture(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    zoom = Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=100, y=50))
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((zoom,), "", frame(""), info(1) | {"zoom": frame("enlarged")})
    (recorder.paths.screenshots / "0001-zoom.png").unlink()
    page = page_of(recorder)
    assert (page.views[0]["zoom"], page.views[0]["picture"]) == (None, 0)
    assert page.having("div", **{"class": "player"})


def test_a_hundred_screens_fit_into_a_mail(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame(""), info(0))
    for number in range(1, 101):
        recorder.add((TypeText(text="x"),), "", frame("A line of text\n" * (number % 20) + str(number)), info(number))
    path = write_report(recorder.paths)
    assert path.stat().st_size < 10_000_000


def test_earlier_actions_of_a_round_and_the_pointer(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame(""), info(0))
    recorder.add(
        (Move(point=Point(x=10, y=20)), MouseDown(), Move(point=Point(x=90, y=80)), MouseUp()),
        "",
        frame(""),
        info(1, 4),
    )
    recorder.add((Click(),), "", frame(""), info(2))
    recorder.add((click(5, 5), click(999, 5)), "", frame(""), info(3, 1, "off the screen"))
    recorder.add((Click(),), "", frame(""), info(4))
    views = page_of(recorder).views
    assert [view["mark"] and view["mark"]["points"] for view in views] == [
        [[10, 20]], [[10, 20]], [[90, 80]], [[90, 80]], [[90, 80]], [[5, 5]], None, [[5, 5]], None
    ]  # fmt: skip
    assert [len(view["earlier"]) for view in views] == [0, 1, 2, 3, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("action", "mark", "words", "caption"),
    [
        (click(3, 4), Mark("click", ((3, 4),)), "Click at (3, 4)", ""),
        (
            Click(point=Point(x=500, y=250), space=GRID_1000, button="right", clicks=2, modifiers=("ctrl",)),
            Mark("click", ((320, 100),), count=2),
            "Ctrl + right-double-click at (320, 100)",
            "Ctrl + right-double-click",
        ),
        (Click(), Mark("click", ((7, 8),)), "Click at the pointer", ""),
        (click(640, 0), None, "Click at (640, 0) off the screen", ""),
        (Move(point=Point(x=1, y=2)), Mark("move", ((1, 2),)), "Move to (1, 2)", ""),
        (MouseDown(), Mark("press", ((7, 8),)), "Press the left button at the pointer", "Press the left button"),
        (MouseUp(), Mark("release", ((7, 8),)), "Release the left button at the pointer", "Release the left button"),
        (
            Drag(path=(Point(x=0, y=0), Point(x=500, y=0), Point(x=500, y=500)), space=GRID_1000),
            Mark("drag", ((0, 0), (320, 0), (320, 200))),
            "Drag from (0, 0) to (320, 200) through 1 point",
            "",
        ),
        (
            Scroll(dx=-2, dy=5),
            Mark("scroll", ((7, 8),), direction=(-2, 5)),
            "Scroll down 5 and left 2 at the pointer",
            "Scroll down 5 and left 2",
        ),
        (Key(keys="cmd+Return", repeat=3), None, "Press Super + Enter × 3", "Super + Enter × 3"),
        (
            HoldKey(keys="shift_r+kp_4", seconds=2),
            None,
            "Hold Right Shift + Keypad 4 for 2 s",
            "Right Shift + Keypad 4 for 2 s",
        ),
        (TypeText(text="a\tb\n"), None, "Type “a⇥b↵”", "a⇥b↵"),
        (Wait(seconds=0.5), None, "Wait 0.5 s", "Wait 0.5 s"),
        (Screenshot(), None, "Look again", ""),
        (
            Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=500, y=500), space=GRID_1000),
            Mark("zoom", ((0, 0), (320, 200))),
            "Zoom into (0, 0) to (320, 200)",
            "Zoom",
        ),
        (Done(answer="42"), None, "Done", "Done: 42"),
        (GiveUp(), None, "Give up", "Give up"),
    ],
    ids=lambda value: value.type if hasattr(value, "type") else "",
)
def test_marks_and_words(action: Action, mark: Mark | None, words: str, caption: str) -> None:
    assert mark_for(action, SCREEN, (7, 8)) == mark
    assert headline(action, SCREEN) == words
    assert chip(action) == caption


def test_clicks_in_another_space_say_how_they_were_stated(tmp_path: Path) -> None:
    recorder = new_trial(tmp_path)
    recorder.add((None,), "", frame(""), info(0))
    recorder.add((Click(point=Point(x=1000, y=500), space=GRID_1000),), "", frame(""), info(1))
    view = page_of(recorder).views[0]
    assert view["mark"]["points"] == [[639, 200]]
    assert view["stated"] == "(1000, 500) of 1000 × 1000"


def test_nobody_knows_where_the_pointer_is_at_first() -> None:
    assert mark_for(Click(), SCREEN, None) is None
    assert mark_for(Scroll(dy=1), SCREEN, None) == Mark("scroll", ((320, 200),), direction=(0, 1))
    assert pointer_after(Click(), SCREEN, None) is None
    assert pointer_after(click(1, 2), SCREEN, None) == (1, 2)
    assert pointer_after(click(900, 2), SCREEN, (5, 5)) == (5, 5)
    assert pointer_after(Drag(path=(Point(x=1, y=1), Point(x=9, y=9))), SCREEN, None) == (9, 9)


def test_long_text_is_shortened_in_the_headline_and_kept_whole_below() -> None:
    action = TypeText(text="x" * 500)
    assert len(headline(action, SCREEN)) < 90 and headline(action, SCREEN).endswith("…”")
    assert long_text(action) == "x" * 500
    assert long_text(TypeText(text="short")) == ""


@pytest.mark.parametrize(("seconds", "words"), [(0, "0:00"), (65.9, "1:05"), (7265, "2:01:05")])
def test_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words
