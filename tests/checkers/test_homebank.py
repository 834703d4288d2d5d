"""HomeBank files: what is read from them, and that nothing wrong passes and nothing broken crashes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workflow_gym.grading import Criterion, Evidence
from workflow_gym_checkers.homebank import (
    AccountIs,
    BalanceIs,
    BudgetsAre,
    RestUnchanged,
    SchedulesAre,
    TransactionsAre,
    XhbChecker,
    XhbSaved,
)
from workflow_gym_checkers.xhb import MAX_BYTES, MAX_ENTRIES, Ledger, Split, XhbError, cents

# As HomeBank 5.8.6 writes it. 739982 is 1 January 2027.
BOOK = """<?xml version="1.0"?>
<homebank v="1.5" d="050806">
<properties title="Mill &amp; Son" curr="1" auto_smode="2" auto_weekday="1" auto_nbmonths="1" earnbyh="0"/>
<cur key="1" flags="0" iso="USD" name="US Dollar" symb="$" syprf="1" dchar="." gchar="," frac="2" rate="0" mdate="0"/>
<account key="1" pos="1" type="6" curr="1" name="Checking" number="77-1" bankname="Alder" initial="100.10000000000001" minimum="-50" maximum="0"/>
<account key="2" pos="2" type="2" curr="1" name="Cash" initial="0" minimum="0" maximum="0"/>
<account key="3" flags="2" pos="3" type="7" curr="1" name="Old Savings" initial="0" minimum="0" maximum="0"/>
<pay key="1" name="Corner Shop" category="3"/>
<pay key="2" name="Employer"/>
<cat key="1" flags="2" name="Pay"/>
<cat key="2" name="Food"/>
<cat key="3" parent="2" flags="9" name="Groceries" b0="-520"/>
<cat key="4" parent="2" flags="13" name="Dining" b6="-126"/>
<tag key="1" name="trip"/>
<asg key="1" flags="6" pos="1" name="SHOP" payee="1" category="3" amount="0"/>
<fav key="1" amount="-86.400000000000006" account="1" flags="516" payee="1" category="3" nextdate="740013" every="2" unit="1" limit="1"/>
<fav key="2" amount="-60" account="2" paymode="3" payee="1" category="3" wording="weekly" every="1" unit="2"/>
<ope date="739982" amount="-12.300000000000001" account="1" paymode="6" st="2" payee="1" category="3" wording="bread &amp; jam" info="17" tags="trip eve"/>
<ope date="739983" amount="-86.400000000000006" account="1" flags="256" payee="1" category="4" scat="3||4" samt="-52.149999999999999||-34.25" smem="a||"/>
<ope date="739984" amount="2000" account="1" flags="2" payee="2" category="1"/>
<ope date="739985" amount="-40" account="1" dst_account="2" flags="8" kxfer="1"/>
<ope date="739985" amount="40" account="2" dst_account="1" flags="10" kxfer="1"/>
<ope date="739986" amount="-7" account="1" st="4" payee="1" category="3"/>
</homebank>
"""  # noqa: E501

WANTED: list[dict[str, Any]] = [
    {"date": "2027-01-01", "amount": "-12.30", "payee": "Corner Shop", "category": "Food:Groceries",
     "mode": "debit card", "memo": "bread & jam", "number": "17", "status": "reconciled", "tags": ["trip", "eve"]},
    {"date": "2027-01-02", "amount": "-86.40", "payee": "Corner Shop", "splits": [
        {"category": "Food:Dining", "amount": "-34.25"},
        {"category": "Food:Groceries", "amount": "-52.15", "memo": "a"}]},
    {"date": "2027-01-03", "amount": "2000", "payee": "Employer", "category": "Pay"},
    {"date": "2027-01-04", "amount": "-40.00", "transfer_to": "Cash"},
    {"date": "2027-01-05", "amount": "-7", "status": "void"},
]  # fmt: skip
SCHEDULES: list[dict[str, Any]] = [
    {"account": "Checking", "amount": "-86.40", "payee": "Corner Shop", "category": "Food:Groceries", "every": 2,
     "unit": "week", "next_date": "2027-02-01", "limit": 0, "weekend": "possible"},
    {"account": "Cash", "amount": "-60", "scheduled": False, "mode": "cash", "memo": "weekly"},
]  # fmt: skip

Judge = Callable[..., list[Criterion]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Returns what a checker says of a book, with BOOK as the input file; fields of the checker by name."""

    def check(checker: type[XhbChecker], book: str | bytes | None = BOOK, **fields: Any) -> list[Criterion]:
        artifacts, inputs = tmp_path / "artifacts", tmp_path / "inputs"
        for folder, content in ((artifacts, book), (inputs, BOOK)):
            folder.mkdir(exist_ok=True)
            path = folder / "book.xhb"
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        evidence = Evidence(artifacts=artifacts, inputs=inputs, missing={"book.xhb": "gone"} if book is None else {})
        return list(checker.model_validate({"file": "book.xhb"} | fields).check(evidence))

    return check


def unmet(criteria: list[Criterion]) -> list[str]:
    return [criterion.name for criterion in criteria if not criterion.met]


def changed(old: str, new: str, book: str = BOOK) -> str:
    assert book.count(old) == 1, f"{old!r} occurs {book.count(old)} times"
    return book.replace(old, new)


# What is read.


def test_a_book_is_read_with_names_dates_and_exact_amounts() -> None:
    ledger = Ledger.parse(BOOK.encode())
    assert (ledger.title, ledger.currency) == ("Mill & Son", "USD")
    first = ledger.account("Checking")
    assert first is not None and (first.type, first.currency, first.bank) == ("checking", "USD", "Alder")
    assert first.initial == Decimal("100.10") and str(first.initial) == "100.10" and first.minimum == -50
    assert [account.closed for account in ledger.accounts] == [False, False, True]
    assert [category.path for category in ledger.categories] == ["Pay", "Food", "Food:Groceries", "Food:Dining"]
    shop = ledger.transactions[0]
    assert (shop.date, shop.amount, shop.payee) == (dt.date(2027, 1, 1), Decimal("-12.30"), "Corner Shop")
    assert (shop.mode, shop.status, shop.tags) == ("debit card", "reconciled", ("eve", "trip"))
    assert ledger.rules[0].payee == "Corner Shop" and ledger.rules[0].category == "Food:Groceries"


def test_a_split_has_parts_and_no_category_of_its_own() -> None:
    split = Ledger.parse(BOOK.encode()).transactions[1]
    assert split.category == ""
    assert split.splits == (
        Split("Food:Groceries", Decimal("-52.15"), "a"),
        Split("Food:Dining", Decimal("-34.25"), ""),
    )


def test_budgets_are_read_by_month() -> None:
    ledger = Ledger.parse(BOOK.encode())
    groceries, dining = ledger.category("Food:Groceries"), ledger.category("Food:Dining")
    assert groceries is not None and groceries.budget == (Decimal(-520),) * 12
    assert dining is not None and dining.budget == (*(Decimal(0),) * 5, Decimal(-126), *(Decimal(0),) * 6)


def test_the_limit_of_a_schedule_counts_only_when_it_is_switched_on() -> None:
    assert Ledger.parse(BOOK.encode()).schedules[0].limit == 0
    limited = changed('flags="516"', 'flags="644"')
    assert Ledger.parse(limited.encode()).schedules[0].limit == 1


def test_a_void_transaction_does_not_count_in_the_balance() -> None:
    assert Ledger.parse(BOOK.encode()).balance("Checking") == Decimal("1961.40")


def test_files_of_5_9_keep_schedule_and_status_elsewhere() -> None:
    book = changed('d="050806"', 'd="050902"')
    book = changed('flags="516" payee="1"', 'payee="1" recflg="3"', book)
    book = changed('st="4"', 'st="3"', book)
    ledger = Ledger.parse(book.encode())
    assert ledger.schedules[0].scheduled and ledger.schedules[0].limit == 1
    assert ledger.transactions[-1].status == "void"


def test_unknown_keys_give_names_that_equal_nothing() -> None:
    book = changed('account="1" paymode="6" st="2" payee="1"', 'account="9" paymode="77" st="2" payee="8"')
    entry = Ledger.parse(book.encode()).transactions[0]
    assert (entry.account, entry.payee, entry.mode) == ("?9", "?8", "?77")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("-38.600000000000001", "-38.60"), ("0.1", "0.10"), ("-0", "0.00"), ("1e-9", "0.00"), ("12.344", "12.344")],
)
def test_amounts_lose_the_noise_of_binary_fractions_only(value: str, expected: str) -> None:
    assert str(cents(Decimal(value))) == expected


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e13", "1e999999", "1e999999999"])
def test_absurd_amounts_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="no sum of money"):
        cents(Decimal(value))


# What is broken.

BROKEN = {
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "text": b"This is no XML.",
    "cut off": BOOK.encode()[:900],
    "without its end": BOOK.encode().replace(b"</homebank>", b""),
    "other XML": b"<?xml version='1.0'?><svg><rect/></svg>",
    "no properties": b"<homebank v='1.5' d='050806'></homebank>",
    "two roots": BOOK.encode() + b"<homebank/>",
    "bad encoding": b"<?xml version='1.0' encoding='klingon'?><homebank/>",
    "bad date": changed('date="739982"', 'date="99999999999"').encode(),
    "worded date": changed('date="739982"', 'date="tomorrow"').encode(),
    "no date": changed('date="739982" ', "").encode(),
    "bad amount": changed('amount="2000"', 'amount="1,5"').encode(),
    "nan": changed('amount="2000"', 'amount="nan"').encode(),
    "infinite": changed('amount="2000"', 'amount="-inf"').encode(),
    "huge exponent": changed('amount="2000"', 'amount="1e999999999"').encode(),
    "uneven split": changed('scat="3||4"', 'scat="3"').encode(),
    "long number": changed('date="739982"', f'date="{"9" * 5000}"').encode(),
    "deep": b"<homebank>" + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</homebank>",
    "too many entries": BOOK.replace("</homebank>", '<pay key="5" name="x"/>' * MAX_ENTRIES + "</homebank>").encode(),
    "too large": BOOK.encode() + b" " * MAX_BYTES,
    "entity": b'<!DOCTYPE h [<!ENTITY a "Cash">]>' + BOOK.encode().split(b"?>", 1)[1].replace(b'"Cash"', b'"&a;"'),
    "outside entity": b'<!DOCTYPE h [<!ENTITY a SYSTEM "file:///etc/passwd">]><homebank><x>&a;</x></homebank>',
    "billion laughs": b'<!DOCTYPE h [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><homebank x="&b;"/>',
    "document type": b"<!DOCTYPE homebank>" + BOOK.encode().split(b"?>", 1)[1],
}
CHECKERS: list[tuple[type[XhbChecker], dict[str, Any]]] = [
    (XhbSaved, {}),
    (AccountIs, {"name": "Checking", "type": "checking", "initial": "100.10", "currency": "USD"}),
    (BalanceIs, {"account": "Checking", "balance": "1961.40"}),
    (TransactionsAre, {"account": "Checking", "transactions": WANTED}),
    (TransactionsAre, {"account": "Cash", "transactions": [], "since": "book.xhb"}),
    (SchedulesAre, {"schedules": SCHEDULES}),
    (BudgetsAre, {"budgets": [{"category": "Food:Groceries", "monthly": "-520"}], "since": "book.xhb"}),
    (RestUnchanged, {"since": "book.xhb"}),
]


@pytest.mark.parametrize(("checker", "fields"), CHECKERS)
def test_every_checker_passes_the_right_book(judge: Judge, checker: type[XhbChecker], fields: dict[str, Any]) -> None:
    criteria = judge(checker, **fields)
    assert criteria and unmet(criteria) == []


@pytest.mark.parametrize(("checker", "fields"), CHECKERS)
def test_a_missing_file_meets_nothing(judge: Judge, checker: type[XhbChecker], fields: dict[str, Any]) -> None:
    criteria = judge(checker, None, **fields)
    assert criteria and not any(criterion.met for criterion in criteria)
    assert {criterion.found for criterion in criteria} == {"gone"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_meets_nothing(judge: Judge, name: str) -> None:
    for checker, fields in CHECKERS:
        criteria = judge(checker, BROKEN[name], **fields)
        assert criteria and not any(criterion.met for criterion in criteria), checker.__name__


def test_the_names_of_requirements_do_not_depend_on_the_file(judge: Judge) -> None:
    for checker, fields in CHECKERS:
        right, missing = judge(checker, **fields), judge(checker, None, **fields)
        assert [criterion.name for criterion in right] == [criterion.name for criterion in missing]


@given(content=st.binary(max_size=200), place=st.integers(0, len(BOOK)))
def test_damage_is_an_xhb_error_or_another_book(content: bytes, place: int) -> None:
    book = BOOK.encode()
    try:
        Ledger.parse(book[:place] + content + book[place + len(content) :])
    except XhbError:
        pass


# What is wrong.


@pytest.mark.parametrize(
    ("old", "new", "requirement"),
    [
        ('type="6"', 'type="1"', "type"),
        ('curr="1" name="Checking"', 'curr="2" name="Checking"', "currency"),
        ('initial="100.10000000000001"', 'initial="100.11"', "start balance"),
        ('initial="100.10000000000001"', 'initial="-100.1"', "start balance"),
    ],
)
def test_a_wrong_property_of_an_account(judge: Judge, old: str, new: str, requirement: str) -> None:
    criteria = judge(AccountIs, changed(old, new), name="Checking", type="checking", currency="USD", initial="100.10")
    assert unmet(criteria) == [f"the account Checking has the right {requirement}"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name="Checking"', 'name="checking"'),
        ('key="1" pos="1"', 'key="1" flags="2" pos="1"'),
        ('key="2" pos="2" type="2" curr="1" name="Cash"', 'key="2" pos="2" type="2" curr="1" name="Checking"'),
    ],
)
def test_an_account_that_is_missing_closed_or_there_twice(judge: Judge, old: str, new: str) -> None:
    assert len(unmet(judge(AccountIs, changed(old, new), name="Checking", type="checking"))) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('date="739982"', 'date="739983"'),
        ('amount="-12.300000000000001"', 'amount="12.300000000000001"'),
        ('amount="-12.300000000000001"', 'amount="-12.31"'),
        ('amount="-12.300000000000001"', 'amount="-12.304"'),
        ('account="1" paymode="6"', 'account="2" paymode="6"'),
        ('paymode="6"', 'paymode="1"'),
        ('st="2"', 'st="1"'),
        ('payee="1" category="3" wording="bread', 'payee="2" category="3" wording="bread'),
        ('category="3" wording="bread', 'category="2" wording="bread'),
        ("bread &amp; jam", "bread &amp; Jam"),
        ('info="17"', 'info="7"'),
        ('tags="trip eve"', 'tags="trip"'),
        ('scat="3||4"', 'scat="4||3"'),
        ('samt="-52.149999999999999||-34.25"', 'samt="-52.16||-34.24"'),
        ('smem="a||"', 'smem="b||"'),
        ('scat="3||4" samt="-52.149999999999999||-34.25" smem="a||"', ""),
        ('dst_account="2" flags="8"', 'dst_account="3" flags="8"'),
        ('account="1" dst_account="2" flags="8"', 'account="1"'),
        ('account="1" flags="2" payee="2"', 'account="1" flags="2" payee="2" dst_account="2"'),
        ('<ope date="739984" amount="2000" account="1" flags="2" payee="2" category="1"/>\n', ""),
        (
            '<ope date="739984"',
            '<ope date="739984" amount="2000" account="1" flags="2" payee="2" category="1"/>\n<ope date="739984"',
        ),
    ],
)
def test_a_wrong_transaction(judge: Judge, old: str, new: str) -> None:
    assert unmet(judge(TransactionsAre, changed(old, new), account="Checking", transactions=WANTED))


def test_what_is_found_instead_is_said(judge: Judge) -> None:
    book = changed('date="739984"', 'date="739985"')
    criteria = judge(TransactionsAre, book, account="Checking", transactions=WANTED)
    texts = {criterion.name: criterion.found for criterion in criteria}
    assert texts["Checking: 2027-01-03 +2000.00 Employer"] == "date is 2027-01-04 instead of 2027-01-03"
    assert unmet(criteria) == ["Checking: 2027-01-03 +2000.00 Employer"]


def test_what_was_not_done_is_told_from_what_was_done_wrong(judge: Judge) -> None:
    book = changed('<ope date="739984" amount="2000" account="1" flags="2" payee="2" category="1"/>\n', "")
    book = changed('amount="-40" account="1"', 'amount="-41" account="1"', book)
    criteria = judge(TransactionsAre, book, account="Checking", transactions=WANTED)
    kinds = {criterion.name: criterion.kind for criterion in criteria if not criterion.met}
    assert kinds == {
        "Checking: 5 transactions entered": "complete",
        "Checking: 2027-01-03 +2000.00 Employer": "complete",
        "Checking: 2027-01-04 -40.00 Cash": "accurate",
    }


@pytest.mark.parametrize("status", ["3", "4"])
def test_an_entry_that_has_no_effect_is_wrong_unless_it_is_asked_for(judge: Judge, status: str) -> None:
    book = changed('amount="2000" account="1"', f'amount="2000" account="1" st="{status}"')
    assert unmet(judge(TransactionsAre, book, account="Checking", transactions=WANTED))


def test_earlier_transactions_must_still_be_there(judge: Judge) -> None:
    new = '<ope date="739990" amount="-5" account="2" payee="1" category="3"/>\n</homebank>'
    wanted = [{"date": "2027-01-09", "amount": "-5", "payee": "Corner Shop", "category": "Food:Groceries"}]
    fields = {"account": "Cash", "transactions": wanted, "since": "book.xhb"}
    book = changed("</homebank>", new)
    assert unmet(judge(TransactionsAre, book, **fields)) == []
    assert unmet(judge(TransactionsAre, BOOK, **fields))[0] == "Cash: 1 transaction entered"
    lost = changed('<ope date="739985" amount="40"', '<ope date="739985" amount="41"', book)
    assert unmet(judge(TransactionsAre, lost, **fields)) == [
        "Cash: no other transactions were entered",
        "Cash: the earlier transactions are unchanged",
    ]


def test_long_names_are_told_in_short(judge: Judge) -> None:
    book = changed('name="Employer"', f'name="{"E" * 100_000}"').replace('name="Checking"', f'name="{"C" * 100_000}"')
    book = changed('account="1" paymode="6"', 'account="2" paymode="6"', book)
    for checker, fields in CHECKERS:
        assert all(len(criterion.found) < 3000 for criterion in judge(checker, book, **fields))


def test_an_account_that_is_not_there_has_no_right_transactions(judge: Judge) -> None:
    assert not any(criterion.met for criterion in judge(TransactionsAre, account="Till", transactions=WANTED))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('account="1" flags="516"', 'account="2" flags="516"'),
        ('amount="-86.400000000000006" account="1" flags="516"', 'amount="86.4" account="1" flags="516"'),
        ('amount="-86.400000000000006" account="1" flags="516"', 'amount="-86.41" account="1" flags="516"'),
        ('flags="516"', 'flags="512"'),
        ('flags="516"', 'flags="644"'),
        ('payee="1" category="3" nextdate', 'payee="2" category="3" nextdate'),
        ('category="3" nextdate', 'category="4" nextdate'),
        ('nextdate="740013"', 'nextdate="740014"'),
        ('every="2"', 'every="1"'),
        ('unit="1" limit', 'unit="2" limit'),
        ('limit="1"', 'limit="1" weekend="1"'),
        ('<fav key="2"', '<fav key="3" amount="-1" account="1"/><fav key="2"'),
        ('<fav key="2"', '<favourite key="2"'),
    ],
)
def test_a_wrong_schedule(judge: Judge, old: str, new: str) -> None:
    assert unmet(judge(SchedulesAre, changed(old, new), schedules=SCHEDULES))


def test_equal_intervals_in_other_units_are_right(judge: Judge) -> None:
    book = changed('every="2" unit="1"', 'every="14" unit="0"')
    assert unmet(judge(SchedulesAre, book, schedules=SCHEDULES)) == []


def test_earlier_schedules_must_still_be_there(judge: Judge) -> None:
    new = '<fav key="3" amount="-9" account="1" flags="4" nextdate="740013" every="1" unit="2"/>\n<ope date="739982"'
    book = changed('<ope date="739982"', new)
    fields = {"schedules": [{"account": "Checking", "amount": "-9"}], "since": "book.xhb"}
    assert unmet(judge(SchedulesAre, book, **fields)) == []
    lost = changed('wording="weekly"', 'wording="daily"', book)
    assert "the earlier scheduled transactions are unchanged" in unmet(judge(SchedulesAre, lost, **fields))


BUDGETS = [
    {"category": "Food:Groceries", "monthly": "-520"},
    {"category": "Food:Dining", "months": {"6": "-126"}},
]


@pytest.mark.parametrize(
    ("old", "new", "requirement"),
    [
        ('b0="-520"', 'b0="520"', "the budget of Food:Groceries"),
        ('b0="-520"', 'b0="-52"', "the budget of Food:Groceries"),
        ('b0="-520"', 'b1="-520"', "the budget of Food:Groceries"),
        ('b6="-126"', 'b7="-126"', "the budget of Food:Dining"),
        ('b6="-126"', 'b6="-126" b12="-1"', "the budget of Food:Dining"),
        ('flags="13"', 'flags="9"', "the budget of Food:Dining"),
        ('<cat key="2"', '<cat key="2" b0="-1"', "the budgets of all other categories are unchanged"),
    ],
)
def test_a_wrong_budget(judge: Judge, old: str, new: str, requirement: str) -> None:
    assert unmet(judge(BudgetsAre, changed(old, new), budgets=BUDGETS, since="book.xhb")) == [requirement]


def test_the_same_amount_in_twelve_months_is_a_monthly_budget(judge: Judge) -> None:
    months = " ".join(f'b{month}="-520"' for month in range(1, 13))
    book = changed('flags="9" name="Groceries" b0="-520"', f'flags="13" name="Groceries" {months}')
    assert unmet(judge(BudgetsAre, book, budgets=BUDGETS)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('number="77-1"', 'number="77-2"'),
        ('flags="2" pos="3"', 'pos="3"'),
        ('name="Old Savings"', 'name="Older Savings"'),
        ('amount="-40"', 'amount="-40.01"'),
        ('st="2"', 'st="1"'),
        ('name="Corner Shop"', 'name="Corner Store"'),
        ('<pay key="2"', '<pay key="3" name="Corner Shop Ltd"/><pay key="2"'),
        ('<cat key="2"', '<cat key="5" name="Fees"/><cat key="2"'),
        ('<cat key="1" flags="2"', '<cat key="1"'),
        ('b0="-520"', 'b0="-521"'),
        ('name="SHOP"', 'name="STORE"'),
        ('every="1" unit="2"', 'every="2" unit="2"'),
        ('<ope date="739984" amount="2000" account="1" flags="2" payee="2" category="1"/>\n', ""),
    ],
)
def test_a_change_elsewhere(judge: Judge, old: str, new: str) -> None:
    criteria = judge(RestUnchanged, changed(old, new), since="book.xhb")
    assert unmet(criteria) == ["everything else is unchanged"] and criteria[0].found.startswith(("- ", "+ "))


def test_what_is_asked_for_is_no_change_elsewhere(judge: Judge) -> None:
    book = changed('<pay key="2"', '<pay key="3" name="Baker"/><pay key="2"')
    book = changed('<cat key="2"', '<cat key="5" name="Fees"/><cat key="2"', book)
    book = changed('<account key="2"', '<account key="4" curr="1" name="Till" initial="5"/><account key="2"', book)
    book = changed("</homebank>", '<ope date="739985" amount="1" account="4"/></homebank>', book)
    book = changed('name="SHOP"', 'name="STORE"', book)
    book = changed('every="1" unit="2"', 'every="2" unit="2"', book)
    book = changed('b0="-520"', 'b0="-521"', book)
    asked: dict[str, Any] = {"accounts": ["Till"], "payees": ["Baker"], "categories": ["Fees"]}
    asked |= {"rules": True, "schedules": True, "budgets": True}
    assert unmet(judge(RestUnchanged, book, since="book.xhb", **asked)) == []


def test_the_properties_of_an_account_must_stay_even_when_transactions_are_entered_in_it(judge: Judge) -> None:
    book = changed('number="77-1"', 'number="77-2"')
    assert unmet(judge(RestUnchanged, book, since="book.xhb", accounts=["Checking"]))


@pytest.mark.parametrize(
    ("checker", "fields"),
    [
        (AccountIs, {"name": "x", "type": "piggy bank"}),
        (BalanceIs, {"account": "x", "balance": "NaN"}),
        (TransactionsAre, {"account": "x", "transactions": [{"amount": "1"}]}),
        (TransactionsAre, {"account": "x", "transactions": [{"date": "2027-01-01", "amount": "1", "note": "x"}]}),
        (SchedulesAre, {"schedules": [{"account": "x", "amount": "1", "every": 2}]}),
        (BudgetsAre, {"budgets": [{"category": "x"}]}),
        (BudgetsAre, {"budgets": [{"category": "x", "months": {"13": "1"}}]}),
    ],
)
def test_a_task_that_asks_for_nonsense_is_refused(checker: type[XhbChecker], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        checker.model_validate({"file": "book.xhb"} | fields)
