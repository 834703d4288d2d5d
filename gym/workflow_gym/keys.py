"""Keyboard keys: canonical names, and the many spellings that people and vendors use for them.

A canonical name is a QEMU qcode (https://www.qemu.org/docs/master/interop/qemu-qmp-ref.html, QKeyCode), because the
default provider sends those unchanged. Characters are typed on a US keyboard map, which every image sets.
"""

from __future__ import annotations

from workflow_gym.errors import ActionError

_LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"
_PLAIN = {
    " ": "spc", "\n": "ret", "\t": "tab", "-": "minus", "=": "equal", "[": "bracket_left", "]": "bracket_right",
    "\\": "backslash", ";": "semicolon", "'": "apostrophe", "`": "grave_accent", ",": "comma", ".": "dot", "/": "slash",
}  # fmt: skip
_SHIFTED = {
    "!": "1", "@": "2", "#": "3", "$": "4", "%": "5", "^": "6", "&": "7", "*": "8", "(": "9", ")": "0", "_": "minus",
    "+": "equal", "{": "bracket_left", "}": "bracket_right", "|": "backslash", ":": "semicolon", '"': "apostrophe",
    "~": "grave_accent", "<": "comma", ">": "dot", "?": "slash",
}  # fmt: skip
_SPELLINGS = {
    "ctrl": "ctrl control control_l ctrl_l lctrl leftctrl controlleft",
    "ctrl_r": "ctrl_r control_r rctrl rightctrl controlright",
    "shift": "shift shift_l lshift leftshift shiftleft",
    "shift_r": "shift_r rshift rightshift shiftright",
    "alt": "alt alt_l lalt leftalt altleft option option_l opt",
    "alt_r": "alt_r altgr ralt rightalt altright option_r iso_level3_shift",
    "meta_l": "meta_l super super_l win winleft windows meta cmd command command_l cmd_l os lwin hyper metaleft",
    "meta_r": "meta_r super_r winright rwin cmd_r command_r metaright",
    "ret": "ret return enter \n \r",
    "kp_enter": "kp_enter numpadenter num_enter",
    "esc": "esc escape",
    "backspace": "backspace back_space bksp",
    "delete": "delete del forward_delete",
    "insert": "insert ins",
    "tab": "tab \t",
    "spc": "spc space spacebar",
    "up": "up arrowup arrow_up uparrow up_arrow",
    "down": "down arrowdown arrow_down downarrow down_arrow",
    "left": "left arrowleft arrow_left leftarrow left_arrow",
    "right": "right arrowright arrow_right rightarrow right_arrow",
    "pgup": "pgup page_up pageup prior",
    "pgdn": "pgdn page_down pagedown next",
    "home": "home",
    "end": "end",
    "caps_lock": "caps_lock capslock caps",
    "num_lock": "num_lock numlock",
    "scroll_lock": "scroll_lock scrolllock",
    "print": "print printscreen print_screen prtsc prtscr sysrq",
    "pause": "pause break",
    "menu": "menu apps contextmenu context_menu",
    "minus": "minus hyphen subtract_key",
    "equal": "equal equals",
    "bracket_left": "bracket_left bracketleft",
    "bracket_right": "bracket_right bracketright",
    "backslash": "backslash",
    "semicolon": "semicolon",
    "apostrophe": "apostrophe quote quoteright",
    "grave_accent": "grave_accent grave backquote backtick quoteleft",
    "comma": "comma",
    "dot": "dot period",
    "slash": "slash",
    "kp_add": "kp_add numpadadd",
    "kp_subtract": "kp_subtract numpadsubtract",
    "kp_multiply": "kp_multiply numpadmultiply",
    "kp_divide": "kp_divide numpaddivide",
    "kp_decimal": "kp_decimal numpaddecimal",
}


def _build_table() -> dict[str, str]:
    table = {char: char for char in _LETTERS_AND_DIGITS}
    table |= {char: key for char, key in _PLAIN.items() if char != " "} | {" ": "spc"}
    table |= {f"f{number}": f"f{number}" for number in range(1, 13)}
    for digit in "0123456789":
        table |= dict.fromkeys((f"kp_{digit}", f"numpad{digit}"), f"kp_{digit}")
    for key, spellings in _SPELLINGS.items():
        table |= dict.fromkeys(spellings.split(" "), key)
    return table


_TABLE = _build_table()

KEYS: tuple[str, ...] = tuple(sorted(set(_TABLE.values())))
"""Every canonical key name."""

MODIFIERS: tuple[str, ...] = ("ctrl", "shift", "alt", "meta_l")
"""The keys that may be held during another action."""


def canonical_key(name: str) -> str:
    """Return the canonical name of the key that `name` spells, in any vendor's spelling.

    Raises:
        ActionError: no key is spelt so.
    """
    folded = name.lower() if len(name) == 1 else name.strip().lower().replace("-", "_").replace(" ", "_")
    key = _TABLE.get(folded) or _TABLE.get(folded.replace("_", ""))
    if key is None:
        raise ActionError(f"unknown key {name!r}; use names such as 'ctrl', 'shift', 'enter', 'page_down', 'f5' or 'a'")
    return key


def parse_chord(text: str) -> tuple[str, ...]:
    """Split a chord such as "ctrl+shift+s" or "ctrl++" into canonical key names, in the order of pressing.

    Raises:
        ActionError: it is empty or holds an unknown key.
    """
    parts: list[str] = []
    rest = text if text.strip() == "" else text.strip()
    while rest:
        cut = rest.find("+", 1)
        parts.append(rest if cut < 0 else rest[:cut])
        rest = "" if cut < 0 else rest[cut + 1 :]
        if cut >= 0 and not rest:
            raise ActionError(f"key chord {text!r} ends in '+'; to press plus itself write 'ctrl++'")
    keys: list[str] = []
    for part in (part.strip() or part for part in parts):
        keys += keys_for_character(part) if len(part) == 1 and part in _SHIFTED else (canonical_key(part),)
    if not keys:
        raise ActionError("an empty key chord was given")
    return tuple(dict.fromkeys(keys))


def keys_for_character(char: str) -> tuple[str, ...]:
    """Return the keys that type `char` on a US keyboard, or () when that keyboard has no such character."""
    if char in _PLAIN:
        return (_PLAIN[char],)
    if char in _SHIFTED:
        return ("shift", _SHIFTED[char])
    if len(char) != 1:
        return ()
    if char in _LETTERS_AND_DIGITS:
        return (char,)
    if char.isascii() and char.isalpha():
        return ("shift", char.lower())
    return ()
