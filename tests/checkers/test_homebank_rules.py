"""Rules, corrections, imported transactions: what is accepted, what is refused, and that no file makes them raise."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from workflow_gym.grading import Criterion, Evidence
from workflow_gym_checkers.homebank import TransactionIs, XhbChecker
from workflow_gym_checkers.homebank_rules import AccountBroughtUpToDate, Correction, RuleIs, RulesAdded

HEAD = (
    '<homebank v="1.5" d="050806"><properties title="Test" curr="1"/><cur key="1" iso="GBP" name="Pound"/>'
    '<account key="1" pos="1" type="1" curr="1" name="Bank" initial="0"/>'
    '<account key="2" pos="2" type="2" curr="1" name="Cash" initial="0"/>'
    '<pay key="1" name="Shell"/><pay key="2" name="Water"/>'
    '<cat key="1" name="Vehicle"/><cat key="2" parent="1" flags="1" name="Fuel"/><cat key="3" name="Utilities"/>'
)
OLD_RULE = '<asg key="1" flags="6" pos="1" name="WATER" payee="2" category="3" amount="0"/>'
RULE = '<asg key="2" flags="6" pos="2" name="SHELL" payee="1" category="2" amount="0"/>'
DAY = 739951
"""1 December 2026."""


def entry(day: int, amount: str, memo: str = "", **more: str) -> str:
    fields = {"date": str(DAY - 1 + day), "amount": amount, "account": "1", "wording": memo, **more}
    return f"<ope {' '.join(f'{name}={quoteattr(value)}' for name, value in fields.items())}/>"


OLD = entry(1, "-4.5", "Parking")
WRONG = entry(1, "-1250", "Rent", paymode="7", category="3")
RIGHT = entry(1, "-1520", "Rent", paymode="7", category="3")
FUEL = entry(2, "-58.399999999999999", "SHELL 4417", payee="1", category="2")
CHARGES = entry(3, "-8.5", "CHARGES")

RULES = RulesAdded(
    file="after.xhb", since="before.xhb", rules=(RuleIs(text="SHELL", payee="Shell", category="Vehicle:Fuel"),)
)
FUEL_IS = TransactionIs.model_validate(
    {"date": "2026-12-02", "amount": "-58.40", "memo": "SHELL 4417", "payee": "Shell", "category": "Vehicle:Fuel"}
)
CHARGES_IS = TransactionIs.model_validate(
    {"date": "2026-12-03", "amount": "-8.50", "memo": "CHARGES", "payee": "", "category": ""}
)
CORRECTION = Correction.model_validate({"date": "2026-12-01", "amount": "-1250", "to_amount": "-1520"})
IMPORT = AccountBroughtUpToDate(
    file="after.xhb",
    since="before.xhb",
    account="Bank",
    corrections=(CORRECTION,),
    transactions=(FUEL_IS, FUEL_IS, CHARGES_IS),
)
DONE = (OLD, RIGHT, FUEL, FUEL, CHARGES)


def ledger(*parts: str) -> bytes:
    return f"{HEAD}{''.join(parts)}</homebank>".encode()


def criteria(folder: Path, checker: XhbChecker, content: bytes | None, before: bytes | None = None) -> list[Criterion]:
    before = ledger(OLD_RULE, OLD, WRONG) if before is None else before
    (folder / "before.xhb").write_bytes(before)
    missing = {"after.xhb": "it does not exist"} if content is None else {}
    if content is not None:
        (folder / "after.xhb").write_bytes(content)
    return list(checker.check(Evidence(artifacts=folder, inputs=folder, missing=missing)))


def unmet(folder: Path, checker: XhbChecker, content: bytes | None) -> list[str]:
    return [criterion.name for criterion in criteria(folder, checker, content) if not criterion.met]


@pytest.mark.parametrize(
    "rule",
    [
        RULE,
        RULE.replace('flags="6"', 'flags="6" field="0"'),
        RULE.replace("SHELL", "Shell"),
        RULE.replace('flags="6"', 'flags="262"'),  # A regular expression of plain letters finds the same.
        RULE.replace('pos="2"', 'pos="9" notes="fuel cards"'),
    ],
)
def test_a_rule_that_does_what_is_asked_is_accepted(tmp_path: Path, rule: str) -> None:
    assert unmet(tmp_path, RULES, ledger(OLD_RULE, rule)) == []
    assert unmet(tmp_path, RULES, ledger(rule, OLD_RULE)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('name="SHELL"', 'name="SHELL "'), "no such rule"),
        (('name="SHELL"', 'name=""'), "no such rule"),
        (('flags="6"', 'flags="6" field="1"'), "looks in the payee"),
        (('flags="6"', 'flags="6" field="7"'), "looks in the field 7"),
        (('flags="6"', 'flags="7"'), "tells upper from lower case"),
        (('flags="6"', 'flags="134"'), "asks for an amount"),
        (('flags="6"', 'flags="4"'), "leaves the payee alone"),
        (('flags="6"', 'flags="516"'), "overwrites the payee"),
        (('flags="6"', 'flags="2"'), "leaves the category alone"),
        (('flags="6"', 'flags="1026"'), "overwrites the category"),
        (('flags="6"', 'flags="14" paymode="6"'), "sets the payment mode"),
        (('flags="6"', 'flags="22"'), "sets tags"),
        (('flags="6"', 'flags="0"'), "leaves the payee alone; leaves the category alone"),
        (('payee="1"', 'payee="2"'), "sets the payee Water"),
        (('payee="1"', ""), "sets the payee (none)"),
        (('category="2"', 'category="1"'), "sets the category Vehicle"),
        (('category="2"', 'category="99"'), "sets the category ?99"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_rule_that_does_something_else_is_refused_and_said_why(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    found = criteria(tmp_path, RULES, ledger(OLD_RULE, RULE.replace(*change)))
    assert not found[0].met
    assert found[0].found == said


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ([OLD_RULE], ["the rule SHELL sets Shell and Vehicle:Fuel"]),
        ([OLD_RULE, RULE, RULE.replace('key="2"', 'key="3"')], ["no other rules were added"]),
        ([OLD_RULE, RULE, RULE.replace("SHELL", "BP")], ["no other rules were added"]),
        ([OLD_RULE, RULE, OLD_RULE], ["no other rules were added"]),
        ([RULE], ["the earlier rules are unchanged"]),
        (
            [RULE, OLD_RULE.replace('category="3"', 'category="1"')],
            ["no other rules were added", "the earlier rules are unchanged"],
        ),
    ],
)
def test_rules_are_added_once_and_others_left_alone(tmp_path: Path, rules: Sequence[str], names: list[str]) -> None:
    assert unmet(tmp_path, RULES, ledger(*rules)) == names


def test_of_two_rules_for_the_same_text_the_better_one_counts(tmp_path: Path) -> None:
    worse = RULE.replace('key="2" flags="6"', 'key="3" flags="7"')
    assert unmet(tmp_path, RULES, ledger(OLD_RULE, worse, RULE)) == ["no other rules were added"]


def test_a_text_with_a_meaning_as_a_regular_expression_is_refused() -> None:
    with pytest.raises(ValidationError):
        RuleIs(text="S.ELL", payee="Shell", category="Vehicle:Fuel")


@pytest.mark.parametrize("order", [DONE, DONE[::-1], (FUEL, RIGHT, CHARGES, FUEL, OLD)])
def test_the_right_account_is_accepted_in_any_order(tmp_path: Path, order: Sequence[str]) -> None:
    assert unmet(tmp_path, IMPORT, ledger(*order)) == []
    assert unmet(tmp_path, IMPORT, ledger(*order, entry(2, "-1", "elsewhere", account="2"))) == []


CORRECTED = "Bank: 2026-12-01 -1250.00 was corrected to -1520.00"
KEPT = "Bank: the earlier transactions are unchanged"
ALL_THERE = "Bank: 3 transactions were added"
FUEL_TITLE = "Bank: 2026-12-02 -58.40 SHELL 4417"
CHARGES_TITLE = "Bank: 2026-12-03 -8.50 CHARGES"
NOTHING_ELSE = "Bank: no other transactions were added, and none twice"


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ((OLD, WRONG, FUEL, FUEL, CHARGES), [CORRECTED, NOTHING_ELSE]),
        ((OLD, WRONG, RIGHT, FUEL, FUEL, CHARGES), [CORRECTED, NOTHING_ELSE]),
        ((OLD, FUEL, FUEL, CHARGES), [CORRECTED]),
        ((OLD, RIGHT.replace("1520", "1502"), FUEL, FUEL, CHARGES), [CORRECTED, NOTHING_ELSE]),
        ((OLD, RIGHT.replace('paymode="7"', ""), FUEL, FUEL, CHARGES), [CORRECTED, NOTHING_ELSE]),
        ((OLD, RIGHT.replace(str(DAY), str(DAY + 1)), FUEL, FUEL, CHARGES), [CORRECTED, NOTHING_ELSE]),
        ((*DONE, RIGHT), [NOTHING_ELSE]),
        ((RIGHT, FUEL, FUEL, CHARGES), [KEPT]),
        ((OLD.replace("Parking", "Train"), RIGHT, FUEL, FUEL, CHARGES), [KEPT, NOTHING_ELSE]),
        ((OLD.replace("account", 'st="2" account'), RIGHT, FUEL, FUEL, CHARGES), [KEPT, NOTHING_ELSE]),
        ((*DONE, OLD), [NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, CHARGES), [ALL_THERE, FUEL_TITLE]),
        ((*DONE, FUEL), [NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("8.5", "8.49")), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("-8.5", "8.5")), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace(str(DAY + 2), str(DAY + 32))), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("CHARGES", "Charges")), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("account", 'payee="2" account')), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("account", 'category="3" account')), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace("account", 'st="4" account')), [CHARGES_TITLE, NOTHING_ELSE]),
        ((OLD, RIGHT, FUEL, FUEL, CHARGES.replace('account="1"', 'account="2"')), [ALL_THERE, CHARGES_TITLE]),
        ((OLD, RIGHT, FUEL, FUEL.replace('category="2"', ""), CHARGES), [FUEL_TITLE, NOTHING_ELSE]),
        ((), [CORRECTED, KEPT, ALL_THERE, FUEL_TITLE, FUEL_TITLE, CHARGES_TITLE]),
    ],
)
def test_an_account_with_one_thing_wrong_is_refused(tmp_path: Path, entries: Sequence[str], names: list[str]) -> None:
    assert unmet(tmp_path, IMPORT, ledger(*entries)) == names


def test_what_is_almost_right_is_told(tmp_path: Path) -> None:
    found = criteria(tmp_path, IMPORT, ledger(OLD, WRONG, FUEL, FUEL, CHARGES.replace("8.5", "8.05")))
    by_name = {criterion.name: criterion.found for criterion in found}
    assert by_name[CORRECTED].startswith("2026-12-01 -4.50, Parking | 2026-12-01 -1250.00, Rent")
    assert by_name[CHARGES_TITLE] == "amount is -8.05 instead of -8.50"


def test_a_date_can_be_corrected(tmp_path: Path) -> None:
    correction = Correction.model_validate({"date": "2026-12-01", "amount": "-1250", "to_date": "2026-12-05"})
    checker = IMPORT.model_copy(update={"corrections": (correction,), "transactions": (CHARGES_IS,)})
    moved = WRONG.replace(str(DAY), str(DAY + 4))
    assert unmet(tmp_path, checker, ledger(OLD, moved, CHARGES)) == []
    assert unmet(tmp_path, checker, ledger(OLD, WRONG, CHARGES)) == [
        "Bank: 2026-12-01 -1250.00 was corrected to 2026-12-05",
        NOTHING_ELSE,
    ]


@pytest.mark.parametrize(
    "correction",
    [
        {"date": "2026-12-01", "amount": "-1"},
        {"date": "2026-12-01", "amount": "-1250"},
        {"date": "2026-12-01", "amount": "-1250", "to_amount": "-1250"},
    ],
)
def test_a_task_that_corrects_nothing_is_at_fault_itself(tmp_path: Path, correction: dict[str, str]) -> None:
    checker = IMPORT.model_copy(update={"corrections": (Correction.model_validate(correction),)})
    with pytest.raises(ValueError, match="transactions of|corrects nothing"):
        criteria(tmp_path, checker, ledger(*DONE))


@pytest.mark.parametrize("checker", [RULES, IMPORT], ids=["rules", "import"])
@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"\n",
        b"\x89PNG\r\n\x1a\n\x00",
        b"\xff" * 100,
        b"<html/>",
        b"<homebank/>",
        b"<homebank><properties/></homebank>",
        ledger(OLD_RULE, RULE, *DONE)[:-20],
        b'<!DOCTYPE x [<!ENTITY a "b">]>' + ledger(OLD_RULE, RULE, *DONE),
        ledger(OLD_RULE, RULE, *DONE) + b" " * (9 << 20),
        ledger('<ope date="x" amount="1" account="1"/>'),
        ledger('<ope date="1" amount="nan" account="1"/>'),
        ledger('<asg key="1" flags="many" name="SHELL"/>'),
    ],
    ids=lambda content: repr(content)[:40],
)
def test_a_broken_file_is_unmet_throughout_and_never_raises(
    tmp_path: Path, checker: XhbChecker, content: bytes | None
) -> None:
    found = criteria(tmp_path, checker, content)
    assert [criterion.name for criterion in found] == checker.requirements()
    assert not all(criterion.met for criterion in found)
    assert all(criterion.found for criterion in found)


@pytest.mark.parametrize("checker", [RULES, IMPORT], ids=["rules", "import"])
def test_a_file_full_of_near_misses_is_judged_in_time(tmp_path: Path, checker: XhbChecker) -> None:
    near = [FUEL.replace("4417", str(number)) for number in range(9_000)]
    rules = [RULE.replace('key="2"', f'key="{number}" field="1"') for number in range(9_000)]
    start = time.monotonic()
    assert unmet(tmp_path, checker, ledger(*near, *rules))
    assert time.monotonic() - start < 30


def test_long_names_are_told_in_short(tmp_path: Path) -> None:
    long = "X" * 100_000
    entries = (OLD.replace("Parking", long), WRONG, FUEL, FUEL, CHARGES.replace("CHARGES", long))
    rules = (RULE.replace('flags="6"', 'flags="7"'), OLD_RULE.replace("WATER", long))
    content = ledger(*rules, *entries).decode().replace("Shell", long).encode()
    for checker in (RULES, IMPORT):
        assert all(len(criterion.found) < 1000 for criterion in criteria(tmp_path, checker, content))


def test_requirements_and_criteria_have_the_same_names(tmp_path: Path) -> None:
    for checker in (RULES, IMPORT):
        found = criteria(tmp_path, checker, ledger(OLD_RULE, RULE, *DONE))
        assert [criterion.name for criterion in found] == checker.requirements()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_damage_to_a_right_file_makes_the_checks_raise(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(ledger(OLD_RULE, RULE, *DONE))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    for checker in (RULES, IMPORT):
        found = criteria(tmp_path, checker, bytes(content))
        assert [criterion.name for criterion in found] == checker.requirements()
        assert all(Criterion.model_validate_json(criterion.model_dump_json()) == criterion for criterion in found)


def test_the_noise_of_binary_fractions_does_not_count(tmp_path: Path) -> None:
    assert FUEL_IS.amount == Decimal("-58.40")
    assert unmet(tmp_path, IMPORT, ledger(*(text.replace("58.399999999999999", "58.4") for text in DONE))) == []
