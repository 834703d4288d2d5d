"""Every spelling leads to one key, and every chord to keys in the order of pressing, or to an `ActionError`."""

from __future__ import annotations

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_gym.errors import ActionError
from workflow_gym.keys import KEYS, MODIFIERS, canonical_key, keys_for_character, parse_chord

PRINTABLE = [char for char in string.printable if char not in "\r\v\f"]


def test_canonical_names_spell_themselves() -> None:
    assert [canonical_key(key) for key in KEYS] == list(KEYS)
    assert set(MODIFIERS) <= set(KEYS)


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("Control_L", "ctrl"),
        ("CTRL", "ctrl"),
        ("leftctrl", "ctrl"),
        ("ControlLeft", "ctrl"),
        ("Shift_R", "shift_r"),
        ("option", "alt"),
        ("AltGr", "alt_r"),
        ("ISO_Level3_Shift", "alt_r"),
        ("cmd", "meta_l"),
        ("Super_L", "meta_l"),
        ("win", "meta_l"),
        ("Return", "ret"),
        ("ENTER", "ret"),
        ("\n", "ret"),
        ("KP_Enter", "kp_enter"),
        ("Escape", "esc"),
        ("BackSpace", "backspace"),
        ("Page_Down", "pgdn"),
        ("PageDown", "pgdn"),
        ("page down", "pgdn"),
        ("Page-Up", "pgup"),
        ("ArrowLeft", "left"),
        ("space", "spc"),
        (" ", "spc"),
        ("F12", "f12"),
        ("A", "a"),
        ("7", "7"),
        ("-", "minus"),
        (".", "dot"),
        ("\\", "backslash"),
        ("KP_7", "kp_7"),
        ("numpad7", "kp_7"),
        ("Caps_Lock", "caps_lock"),
        ("Print_Screen", "print"),
        ("  Tab ", "tab"),
    ],
)
def test_vendors_spellings(spelling: str, key: str) -> None:
    assert canonical_key(spelling) == key


@pytest.mark.parametrize("name", ["", "   ", "nokey", "ctrll", "f0", "f99", "é", "ab", "_", "ctrl+s"])
def test_an_unknown_key_is_refused_with_examples(name: str) -> None:
    with pytest.raises(ActionError, match="unknown key"):
        canonical_key(name)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a", ("a",)),
        ("ctrl+s", ("ctrl", "s")),
        ("Ctrl+Shift+S", ("ctrl", "shift", "s")),
        ("ctrl + s", ("ctrl", "s")),
        (" ctrl+s ", ("ctrl", "s")),
        ("+", ("shift", "equal")),
        ("ctrl++", ("ctrl", "shift", "equal")),
        ("ctrl+-", ("ctrl", "minus")),
        ("ctrl+!", ("ctrl", "shift", "1")),
        ("shift+!", ("shift", "1")),
        ("?", ("shift", "slash")),
        ("_", ("shift", "minus")),
        (" ", ("spc",)),
        ("\n", ("ret",)),
        ("\t", ("tab",)),
        ("ctrl+ctrl_l+a", ("ctrl", "a")),
        ("alt+F4", ("alt", "f4")),
        ("shift+page_down", ("shift", "pgdn")),
    ],
)
def test_chords(text: str, keys: tuple[str, ...]) -> None:
    assert parse_chord(text) == keys


@pytest.mark.parametrize("text", ["ctrl + -", "ctrl + !", "ctrl + ?", "ctrl + ."])
def test_blanks_around_the_plus_do_not_matter(text: str) -> None:
    assert parse_chord(text) == parse_chord(text.replace(" ", ""))


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("ctrl+", "ctrl++"), ("a++b", ""), ("ctrl+nokey", "nokey")])
def test_malformed_chords_are_refused(text: str, words: str) -> None:
    with pytest.raises(ActionError, match=None) as caught:
        parse_chord(text)
    assert words in str(caught.value)


@given(st.lists(st.sampled_from(KEYS), min_size=1, max_size=5, unique=True))
def test_a_chord_of_canonical_keys_comes_back_in_order(keys: list[str]) -> None:
    assert parse_chord("+".join(keys)) == tuple(keys)


@given(st.text("ctrlsifa+-_ !1\n\té", max_size=12))
def test_any_text_is_a_chord_of_known_keys_or_refused(text: str) -> None:
    try:
        keys = parse_chord(text)
    except ActionError:
        return
    assert keys and set(keys) <= set(KEYS) and len(set(keys)) == len(keys)


@given(st.text(max_size=3, alphabet="aZ1!+ _\n€ßéK世"))
def test_only_single_characters_have_keys_and_the_keys_are_known(text: str) -> None:
    keys = keys_for_character(text)
    assert set(keys) <= set(KEYS)
    if len(text) != 1:
        assert keys == ()


def test_every_printable_character_has_its_own_keys() -> None:
    keys = {char: keys_for_character(char) for char in PRINTABLE}
    assert all(keys.values())
    for one, other in itertools.combinations(PRINTABLE, 2):
        assert keys[one] != keys[other]
    assert all(key in KEYS for chord in keys.values() for key in chord)


@pytest.mark.parametrize("char", [*"äßé世€¼", "\u00a0", "\x00", "\x1b", "\u212a"])
def test_a_us_keyboard_has_no_such_character(char: str) -> None:
    assert keys_for_character(char) == ()


@pytest.mark.parametrize("char", PRINTABLE)
def test_a_character_as_a_chord_is_what_types_it(char: str) -> None:
    expected = keys_for_character(char)
    # In a chord a capital letter is the key with that letter, as every vendor writes "CTRL+S".
    assert parse_chord(char) == (expected[1:] if char.isupper() else expected)
