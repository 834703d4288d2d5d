"""Reads HomeBank files (.xhb) into plain values: names instead of keys, dates instead of day numbers, exact decimals.

Written against HomeBank 5.8; the places where 5.9 writes a file differently are read as well.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree as SafeElementTree
from defusedxml.common import DefusedXmlException

MAX_BYTES = 8 << 20
"""A larger file is refused; a household's ledger of ten years is below 1 MB."""
MAX_ENTRIES = 20_000
"""A file with more elements is refused."""

AccountType = Literal["none", "bank", "cash", "asset", "credit card", "liability", "checking", "savings"]
PaymentMode = Literal[
    "none", "credit card", "check", "cash", "bank transfer", "internal transfer", "debit card", "standing order",
    "electronic payment", "deposit", "fi fee", "direct debit", "mobile phone",
]  # fmt: skip
Status = Literal["none", "cleared", "reconciled", "remind", "void"]
Unit = Literal["day", "week", "month", "year"]
Weekend = Literal["possible", "before", "after", "skip"]

# The order is that of HomeBank's enumerations: the file holds the index.
ACCOUNT_TYPES: tuple[AccountType, ...] = (
    "none", "bank", "cash", "asset", "credit card", "liability", "checking", "savings",
)  # fmt: skip
PAYMENT_MODES: tuple[PaymentMode, ...] = (
    "none", "credit card", "check", "cash", "bank transfer", "internal transfer", "debit card", "standing order",
    "electronic payment", "deposit", "fi fee", "direct debit", "mobile phone",
)  # fmt: skip
STATUSES: tuple[Status, ...] = ("none", "cleared", "reconciled", "remind", "void")
UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")
WEEKENDS: tuple[Weekend, ...] = ("possible", "before", "after", "skip")

INEFFECTIVE = ("remind", "void")
"""Statuses of entries that do not count in a balance."""

_CENT = Decimal("0.01")
_NOISE = Decimal("0.000001")
_LARGEST = Decimal(10) ** 12
_CLOSED = 1 << 1
_INCOME_CATEGORY = 1 << 1
_CUSTOM_BUDGET = 1 << 2
_OLD_SCHEDULED, _OLD_LIMITED = 1 << 2, 1 << 7
_SCHEDULED, _LIMITED = 1 << 0, 1 << 1
_REMIND = 1 << 5
_VERSION_5_9 = 50900


class XhbError(ValueError):
    """Raised when a file is no HomeBank file, or no sound one."""


def cents(value: Decimal) -> Decimal:
    """Round away the noise of binary fractions.

    An amount that lies off a whole cent by more than that is kept, so that it equals no proper amount.

    Raises:
        ValueError: it is no number, or absurdly large.
    """
    if not value.is_finite() or value.copy_abs() > _LARGEST:
        raise ValueError(f"the amount {value} is no sum of money")
    rounded = value.quantize(_CENT)
    return (rounded if abs(value - rounded) <= _NOISE else value) + 0  # + 0 turns -0.00 into 0.00


@dataclass(frozen=True)
class Account:
    """An account."""

    name: str
    """Its name."""
    type: str
    """One of `ACCOUNT_TYPES`."""
    currency: str
    """ISO code."""
    initial: Decimal
    """The balance it was opened with."""
    number: str = ""
    """The number at the bank."""
    bank: str = ""
    """The bank's name."""
    minimum: Decimal = Decimal(0)
    """The overdraft limit."""
    closed: bool = False
    """Whether it was closed."""


@dataclass(frozen=True)
class Category:
    """A category, with its budget."""

    path: str
    """Its name, below a parent "Parent:Name"."""
    income: bool
    """Whether it is of income; otherwise of expense."""
    budget: tuple[Decimal, ...]
    """The budget of each month, January to December."""


@dataclass(frozen=True)
class Split:
    """A part of a transaction."""

    category: str
    """The path of its category, "" for none."""
    amount: Decimal
    """Negative for an expense."""
    memo: str = ""
    """The memo."""


@dataclass(frozen=True)
class Transaction:
    """A transaction."""

    account: str
    """The name of the account."""
    date: dt.date
    """When."""
    amount: Decimal
    """Negative for an expense."""
    payee: str = ""
    """The name of the payee."""
    category: str = ""
    """The path of the category; "" for none, as when it is split."""
    mode: str = "none"
    """One of `PAYMENT_MODES`."""
    memo: str = ""
    """The memo."""
    number: str = ""
    """The number of the check or receipt; HomeBank called it "info" before 5.8."""
    status: str = "none"
    """One of `STATUSES`."""
    tags: tuple[str, ...] = ()
    """Tags, sorted."""
    transfer_to: str = ""
    """The other account of an internal transfer."""
    splits: tuple[Split, ...] = ()
    """Its parts, in order."""


@dataclass(frozen=True)
class Schedule:
    """A template; when `scheduled`, one that is posted by the calendar."""

    account: str
    """The name of the account."""
    amount: Decimal
    """Negative for an expense."""
    scheduled: bool
    """Whether it is posted by the calendar."""
    next_date: dt.date | None = None
    """When it is posted next."""
    every: int = 0
    """How many units lie between two postings."""
    unit: str = "month"
    """One of `UNITS`."""
    limit: int = 0
    """After how many postings it ends; 0 for never."""
    weekend: str = "possible"
    """One of `WEEKENDS`: what is done when the day is none of a working week."""
    payee: str = ""
    """The name of the payee."""
    category: str = ""
    """The path of the category; "" for none, as when it is split."""
    mode: str = "none"
    """One of `PAYMENT_MODES`."""
    memo: str = ""
    """The memo."""
    number: str = ""
    """The number of the check or receipt."""
    status: str = "none"
    """One of `STATUSES`."""
    tags: tuple[str, ...] = ()
    """Tags, sorted."""
    transfer_to: str = ""
    """The other account of an internal transfer."""
    splits: tuple[Split, ...] = ()
    """Its parts, in order."""


@dataclass(frozen=True)
class Rule:
    """An assignment rule."""

    search: str
    """The text it looks for."""
    field: int
    """Where it looks, as in the file: 0 memo, 1 payee."""
    flags: int
    """What it does, as in the file."""
    payee: str = ""
    """The payee it sets."""
    category: str = ""
    """The category it sets."""
    mode: str = "none"
    """The payment mode it sets."""


@dataclass(frozen=True)
class Ledger:
    """What a HomeBank file holds."""

    title: str = ""
    """The owner's name."""
    currency: str = ""
    """ISO code of the base currency."""
    accounts: tuple[Account, ...] = ()
    """Its accounts."""
    payees: tuple[str, ...] = ()
    """The names of its payees."""
    categories: tuple[Category, ...] = ()
    """Its categories."""
    rules: tuple[Rule, ...] = ()
    """Its assignment rules."""
    schedules: tuple[Schedule, ...] = ()
    """Its templates, scheduled or not."""
    transactions: tuple[Transaction, ...] = ()
    """The transactions of all accounts."""

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """Read a file.

        Raises:
            XhbError: it is no sound HomeBank file.
        """
        try:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise XhbError(f"it cannot be read: {error.strerror}") from None
        return cls.parse(content)

    @classmethod
    def parse(cls, content: bytes) -> Ledger:
        """Read a file's content. Raises `XhbError`."""
        if len(content) > MAX_BYTES:
            raise XhbError(f"it is larger than {MAX_BYTES >> 20} MB")
        try:
            root = SafeElementTree.fromstring(content, forbid_dtd=True)
        except DefusedXmlException:
            raise XhbError("it declares a document type or entities, which HomeBank never does") from None
        except (ParseError, ValueError, LookupError) as error:
            raise XhbError(f"it is no well-formed XML: {error}") from None
        if root.tag != "homebank":
            raise XhbError(f"it is no HomeBank file: its root is <{root.tag[:40]}>")
        if len(root) > MAX_ENTRIES:
            raise XhbError(f"it holds more than {MAX_ENTRIES} entries")
        return _Reader(root).ledger()

    def account(self, name: str) -> Account | None:
        """Return the account of that name, or None when there is none (or more than one)."""
        found = [account for account in self.accounts if account.name == name]
        return found[0] if len(found) == 1 else None

    def category(self, path: str) -> Category | None:
        """Return the category with that path, or None when there is none (or more than one)."""
        found = [category for category in self.categories if category.path == path]
        return found[0] if len(found) == 1 else None

    def transactions_of(self, account: str) -> tuple[Transaction, ...]:
        """Return the transactions of an account, in the file's order."""
        return tuple(entry for entry in self.transactions if entry.account == account)

    def balance(self, account: str) -> Decimal:
        """Return the balance of an account after all its transactions; void and remind ones do not count."""
        counted = (entry.amount for entry in self.transactions_of(account) if entry.status not in INEFFECTIVE)
        found = self.account(account)
        return sum(counted, found.initial if found else Decimal(0))


class _Reader:
    """Reads the elements of a file, and turns keys into names."""

    def __init__(self, root: Element) -> None:
        self._root = root
        self._is_5_9 = _integer(root, "d") >= _VERSION_5_9
        self._currencies = {_key(item): item.get("iso", "") for item in root.iterfind("cur")}
        self._accounts = {_key(item): item.get("name", "") for item in root.iterfind("account")}
        self._payees = {_key(item): item.get("name", "") for item in root.iterfind("pay")}
        self._categories = self._category_paths()

    def ledger(self) -> Ledger:
        properties = self._root.find("properties")
        if properties is None:
            raise XhbError("it has no <properties>")
        return Ledger(
            title=properties.get("title", ""),
            currency=_name(self._currencies, properties, "curr"),
            accounts=tuple(self._account(item) for item in self._root.iterfind("account")),
            payees=tuple(name for key, name in self._payees.items() if key),
            categories=tuple(self._category(item) for item in self._root.iterfind("cat")),
            rules=tuple(self._rule(item) for item in self._root.iterfind("asg")),
            schedules=tuple(self._schedule(item) for item in self._root.iterfind("fav")),
            transactions=tuple(self._transaction(item) for item in self._root.iterfind("ope")),
        )

    def _category_paths(self) -> dict[int, str]:
        items = {_key(item): item for item in self._root.iterfind("cat")}
        paths = {}
        for key, item in items.items():
            parent = _integer(item, "parent")
            above = items[parent].get("name", "") + ":" if parent in items else f"?{parent}:" if parent else ""
            paths[key] = above + item.get("name", "")
        return paths

    def _account(self, item: Element) -> Account:
        return Account(
            name=item.get("name", ""),
            type=_word(ACCOUNT_TYPES, item, "type"),
            currency=_name(self._currencies, item, "curr"),
            initial=_money(item.get("initial")),
            number=item.get("number", ""),
            bank=item.get("bankname", ""),
            minimum=_money(item.get("minimum")),
            closed=bool(_integer(item, "flags") & _CLOSED),
        )

    def _category(self, item: Element) -> Category:
        flags = _integer(item, "flags")
        if flags & _CUSTOM_BUDGET:
            budget = tuple(_money(item.get(f"b{month}")) for month in range(1, 13))
        else:
            budget = (_money(item.get("b0")),) * 12
        return Category(self._categories[_key(item)], bool(flags & _INCOME_CATEGORY), budget)

    def _rule(self, item: Element) -> Rule:
        return Rule(
            search=item.get("name", ""),
            field=_integer(item, "field"),
            flags=_integer(item, "flags"),
            payee=_name(self._payees, item, "payee"),
            category=_name(self._categories, item, "category"),
            mode=_word(PAYMENT_MODES, item, "paymode"),
        )

    def _transaction(self, item: Element) -> Transaction:
        date = _date(item, "date")
        if date is None:
            raise XhbError("a transaction has no date")
        return Transaction(
            account=_name(self._accounts, item, "account"),
            date=date,
            amount=_money(item.get("amount")),
            payee=_name(self._payees, item, "payee"),
            category=self._category_of(item),
            mode=_word(PAYMENT_MODES, item, "paymode"),
            memo=item.get("wording", ""),
            number=item.get("info", ""),
            status=self._status(item),
            tags=_tags(item),
            transfer_to=_name(self._accounts, item, "dst_account"),
            splits=self._splits(item),
        )

    def _schedule(self, item: Element) -> Schedule:
        flags = _integer(item, "recflg" if self._is_5_9 else "flags")
        scheduled, limited = (_SCHEDULED, _LIMITED) if self._is_5_9 else (_OLD_SCHEDULED, _OLD_LIMITED)
        return Schedule(
            account=_name(self._accounts, item, "account"),
            amount=_money(item.get("amount")),
            scheduled=bool(flags & scheduled),
            next_date=_date(item, "nextdate"),
            every=_integer(item, "every"),
            unit=_word(UNITS, item, "unit"),
            limit=_integer(item, "limit") if flags & limited else 0,
            weekend=_word(WEEKENDS, item, "weekend"),
            payee=_name(self._payees, item, "payee"),
            category=self._category_of(item),
            mode=_word(PAYMENT_MODES, item, "paymode"),
            memo=item.get("wording", ""),
            number=item.get("info", ""),
            status=self._status(item),
            tags=_tags(item),
            transfer_to=_name(self._accounts, item, "dst_account"),
            splits=self._splits(item),
        )

    def _status(self, item: Element) -> str:
        if self._is_5_9:
            if _integer(item, "flags") & _REMIND:
                return "remind"
            if _integer(item, "st") == 3:
                return "void"
        return _word(STATUSES, item, "st")

    def _category_of(self, item: Element) -> str:
        # HomeBank keeps the category that an entry had before it was split, and ignores it.
        return "" if item.get("samt") else _name(self._categories, item, "category")

    def _splits(self, item: Element) -> tuple[Split, ...]:
        if not item.get("samt"):
            return ()
        amounts, keys, memos = (item.get(name, "").split("||") for name in ("samt", "scat", "smem"))
        if not len(amounts) == len(keys) == len(memos):
            raise XhbError("a split transaction has parts without an amount, a category or a memo")
        named = (_name(self._categories, key, "scat") for key in keys)
        return tuple(
            Split(category, _money(amount), memo) for category, amount, memo in zip(named, amounts, memos, strict=True)
        )


def _integer(item: Element, name: str) -> int:
    return _as_integer(item.get(name) or "0", name)


def _as_integer(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise XhbError(f"{name} is {text[:40]!r}, which is no whole number") from None


def _key(item: Element) -> int:
    return _integer(item, "key")


def _name(names: dict[int, str], item: Element | str, attribute: str) -> str:
    key = _as_integer(item, attribute) if isinstance(item, str) else _integer(item, attribute)
    return names.get(key, f"?{key}") if key else ""


def _word(words: Sequence[str], item: Element, attribute: str) -> str:
    index = _integer(item, attribute)
    return words[index] if 0 <= index < len(words) else f"?{index}"


def _date(item: Element, attribute: str) -> dt.date | None:
    number = _integer(item, attribute)  # GLib's Julian day is Python's ordinal: 1 is 1 January of year 1.
    try:
        return dt.date.fromordinal(number) if number else None
    except (ValueError, OverflowError):
        raise XhbError(f"{attribute} is {number}, which is no day") from None


def _money(text: str | None) -> Decimal:
    try:
        return cents(Decimal(text or "0"))
    except (ValueError, ArithmeticError):
        raise XhbError(f"{(text or '')[:40]!r} is no amount") from None


def _tags(item: Element) -> tuple[str, ...]:
    return tuple(sorted(item.get("tags", "").split()))
