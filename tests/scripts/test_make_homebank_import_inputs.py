"""The inputs of the bank-import task are what its script makes; its checks ask for what the statement holds."""

from __future__ import annotations

import runpy
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from workflow_gym.tasks import load_task
from workflow_gym_checkers.homebank_rules import AccountBroughtUpToDate
from workflow_gym_checkers.xhb import Ledger

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_homebank_import_inputs.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_inputs_are_what_the_script_makes(script: dict[str, Any]) -> None:
    assert (script["INPUTS"] / "harbour-lane-cycles.xhb").read_bytes() == script["books"]().encode()
    assert (script["INPUTS"] / "statement-2026-12.qif").read_bytes() == script["statement"]().encode("ascii")


def test_the_checks_ask_for_each_line_of_the_statement_but_those_that_are_there(script: dict[str, Any]) -> None:
    checkers = [check.build() for check in load_task("finance/homebank/bank-import").spec.checks]
    (checker,) = [checker for checker in checkers if isinstance(checker, AccountBroughtUpToDate)]
    asked = Counter((entry.date.day, entry.amount, entry.memo) for entry in checker.transactions)
    lines = Counter((day, Decimal(amount.replace(",", "")), text) for day, amount, text, _ in script["STATEMENT"])
    there = {(1, Decimal("-1520.00"), "RIVERSIDE PROPERTIES STO"), (15, Decimal("-60.00"), "CHEQUE 000214")}
    assert asked == lines - Counter(there)


def test_the_books_are_sound(script: dict[str, Any]) -> None:
    ledger = Ledger.parse(script["books"]().encode())
    assert [account.name for account in ledger.accounts] == [name for name, _, _ in script["ACCOUNTS"]]
    assert len(ledger.transactions) == len(script["ENTRIES"])
    assert "?" not in repr(ledger)
