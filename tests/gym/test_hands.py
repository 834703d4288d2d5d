"""From actions to input events: nothing stays pressed, and nothing that was asked for is left out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workflow_gym.actions import (
    BUTTONS,
    Action,
    Button,
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
)
from workflow_gym.keys import KEYS, MODIFIERS, keys_for_character
from workflow_gym.machines.events import (
    ButtonChanged,
    Elapsed,
    InputEvent,
    KeyChanged,
    PointerMoved,
    TextEntered,
    WheelTurned,
)
from workflow_gym.machines.hands import events_for

SCREEN = Size(1280, 800)
_CHARACTERS = {keys_for_character(chr(code)): chr(code) for code in (9, 10, *range(32, 127))}

points = st.builds(Point, x=st.integers(0, 1279), y=st.integers(0, 799))
buttons: st.SearchStrategy[Button] = st.sampled_from(BUTTONS)
modifiers = st.lists(st.sampled_from(MODIFIERS), unique=True).map(tuple)
chords = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True).map("+".join)
clicks = st.builds(
    Click, point=st.none() | points, button=buttons, clicks=st.sampled_from([1, 2, 3]), modifiers=modifiers
)
drags = st.builds(Drag, path=st.lists(points, min_size=2, max_size=6).map(tuple), button=buttons, modifiers=modifiers)
scrolls = st.builds(Scroll, point=st.none() | points, dx=st.integers(-9, 9), dy=st.integers(-9, 9), modifiers=modifiers)
texts = st.builds(TypeText, text=st.text("aZ9~ \t\n\r\"'\\é世🎉", min_size=1, max_size=20))
balanced: st.SearchStrategy[Action] = st.one_of(
    clicks,
    drags,
    scrolls,
    texts,
    st.builds(Move, point=points, modifiers=modifiers),
    st.builds(Key, keys=chords, repeat=st.integers(1, 3)),
    st.builds(HoldKey, keys=chords, seconds=st.floats(0.01, 5)),
)


def replay(events: list[InputEvent]) -> list[str]:
    """Play the events, check that every press is followed by its release in reverse order, return what stays down."""
    down: list[str] = []
    for event in events:
        if isinstance(event, KeyChanged | ButtonChanged):
            name = event.key if isinstance(event, KeyChanged) else f"{event.button} button"
            if event.down:
                assert name not in down, f"{name} was pressed while it was down"
                down.append(name)
            else:
                assert down and down[-1] == name, f"{name} was released, but {down} were down"
                down.pop()
    return down


@given(balanced)
def test_every_press_has_its_release_in_reverse_order(action: Action) -> None:
    assert replay(events_for(action)) == []


@given(balanced)
def test_pauses_are_never_negative_and_the_pointer_stays_on_the_screen(action: Action) -> None:
    for event in events_for(action):
        if isinstance(event, Elapsed):
            assert event.seconds > 0
        if isinstance(event, PointerMoved):
            assert 0 <= event.x < SCREEN.width and 0 <= event.y < SCREEN.height
            assert isinstance(event.x, int) and isinstance(event.y, int)


@given(clicks)
def test_a_click_happens_at_its_point_with_modifiers_held(action: Click) -> None:
    events = events_for(action)
    presses = [index for index, event in enumerate(events) if isinstance(event, ButtonChanged) and event.down]
    assert len(presses) == action.clicks
    moves = [index for index, event in enumerate(events) if isinstance(event, PointerMoved)]
    assert [events[index] for index in moves] == (
        [PointerMoved(int(action.point.x), int(action.point.y))] if action.point else []
    )
    held = [index for index, event in enumerate(events) if isinstance(event, KeyChanged) and event.down]
    assert [event.key for event in events if isinstance(event, KeyChanged) and event.down] == list(action.modifiers)
    for press in presses:
        assert all(index < press for index in (*moves, *held))
    assert {event.button for event in events if isinstance(event, ButtonChanged)} == {action.button}


def test_two_clicks_are_quick_enough_for_a_double_click() -> None:
    events = events_for(Click(clicks=2))
    assert sum(event.seconds for event in events if isinstance(event, Elapsed)) < 0.4


@given(drags)
def test_a_drag_moves_through_every_point_with_the_button_down(action: Drag) -> None:
    events = events_for(action)
    press = events.index(ButtonChanged(action.button, True))
    release = events.index(ButtonChanged(action.button, False))
    before = [event for event in events[:press] if isinstance(event, PointerMoved)]
    during = [event for event in events[press:release] if isinstance(event, PointerMoved)]
    first, *rest = [PointerMoved(int(point.x), int(point.y)) for point in action.path]
    assert before == [first] and not any(isinstance(event, PointerMoved) for event in events[release:])
    remaining = iter(during)
    assert all(point in remaining for point in rest), "a point of the path is left out, or out of order"
    assert during[-1] == rest[-1]


@given(drags)
def test_a_drag_moves_in_small_steps_on_the_straight_line(action: Drag) -> None:
    moves = [event for event in events_for(action) if isinstance(event, PointerMoved)]
    for one, other in pairwise(moves):
        assert max(abs(one.x - other.x), abs(one.y - other.y)) <= 2 * 25 + 1
    assert len(moves) >= 1 + 4 * (len(action.path) - 1)


@given(scrolls)
def test_a_scroll_turns_the_wheel_click_by_click(action: Scroll) -> None:
    turns = [event for event in events_for(action) if isinstance(event, WheelTurned)]
    assert sum(turn.dx for turn in turns) == action.dx
    assert sum(turn.dy for turn in turns) == action.dy
    assert all(abs(turn.dx) + abs(turn.dy) == 1 for turn in turns)


@given(texts)
def test_what_is_typed_arrives_in_order_and_complete(action: TypeText) -> None:
    held: list[str] = []
    arrived = ""
    for event in events_for(action):
        if isinstance(event, TextEntered):
            assert not held
            arrived += event.text
        elif isinstance(event, KeyChanged):
            if event.down:
                held.append(event.key)
                arrived += _CHARACTERS.get(tuple(held), "")
            else:
                held.remove(event.key)
    assert arrived == action.text.replace("\r\n", "\n").replace("\r", "\n")


@given(chords, st.integers(1, 4))
def test_a_key_is_repeated_as_often_as_asked(keys: str, repeat: int) -> None:
    action = Key(keys=keys, repeat=repeat)
    pressed = [event.key for event in events_for(action) if isinstance(event, KeyChanged) and event.down]
    assert pressed == list(action.chord) * repeat


def test_a_key_is_held_for_the_time_that_was_asked() -> None:
    events = events_for(HoldKey(keys="shift+right", seconds=2.5))
    last_press = events.index(KeyChanged("right", True))
    first_release = events.index(KeyChanged("right", False))
    assert events[last_press + 1 : first_release] == [Elapsed(2.5)]


def test_mouse_down_stays_down_until_mouse_up() -> None:
    down = events_for(MouseDown(point=Point(x=1, y=2), button="right", modifiers=("shift",)))
    assert [event for event in down if isinstance(event, ButtonChanged)] == [ButtonChanged("right", True)]
    assert KeyChanged("shift", False) in down, "a modifier must not stay down"
    up = events_for(MouseUp(button="right"))
    assert up == [ButtonChanged("right", False)]


def test_actions_that_only_look_wait_or_end_touch_nothing() -> None:
    corner = Point(x=5, y=5)
    looks: list[Action] = [Screenshot(), Done(), GiveUp(), Zoom(top_left=Point(x=0, y=0), bottom_right=corner)]
    assert [events_for(action) for action in looks] == [[], [], [], []]
    assert events_for(Wait(seconds=3)) == [Elapsed(3)]
