from __future__ import annotations

import pytest

from workflow_gym.errors import ActionError
from workflow_gym.machines.fake import FakeProvider
from workflow_gym.machines.typist import Typist, usable_keys, with_symbols

MAP = """xkb_keymap {
xkb_keycodes "evdev" {
    <ESC> = 9;
    <AE01> = 10;
    <FK01> = 67;
    <AB11> = 97;
    <MUTE> = 121;
    <LOW> = 8;
};
xkb_types "complete" {
};
xkb_symbols "pc+us" {
    key  <ESC> {         [          Escape ] };
    key <AE01> {         [               1,          exclam ] };
    key <FK01> {
        type= "CTRL+ALT",
        symbols[Group1]= [              F1,              F1, XF86Switch_VT_1 ]
    };
    key <MUTE> {         [   XF86AudioMute ] };
};
};
"""


def test_free_and_media_keys_are_usable_and_no_others() -> None:
    assert usable_keys(MAP) == {"97": "AB11", "121": "MUTE"}


def test_symbols_are_given_once_and_the_rest_stays() -> None:
    changed = with_symbols(MAP, {"AB11": "U0430", "MUTE": "U0431"})
    assert changed.count("U0430") == changed.count("U0431") == 1
    assert changed.index("xkb_symbols") < changed.index("U0430")
    assert "XF86AudioMute" not in changed
    assert all(kept in changed for kept in ("Escape", "exclam", "XF86Switch_VT_1", "<MUTE> = 121;"))


@pytest.mark.parametrize("text", ["a\x00b", "a\x1bb", "\x7f", "\ud800"])
def test_what_is_no_character_is_refused_before_anything_is_typed(text: str) -> None:
    provider = FakeProvider()
    with provider.fork(provider.image_template("homebank")) as machine, pytest.raises(ActionError):
        Typist(machine).type(text)
