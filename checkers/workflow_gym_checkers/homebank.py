"""Checks HomeBank files (.xhb): accounts, transactions, scheduled transactions, budgets, and what must stay as it was.

`Ledger.load` reads a file into plain values with names instead of keys, ISO dates instead of day numbers and exact
decimals instead of binary fractions. The checkers below compare such ledgers. A file that is missing, foreign, cut off,
oversized or malicious gives unmet criteria.

Written against HomeBank 5.8; the places where 5.9 writes a file differently are read as well.
"""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Literal
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree as SafeElementTree
from defusedxml.common import DefusedXmlException
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from workflow_gym.grading import Checker, Criterion, Evidence

MAX_BYTES = 8 << 20
"""A larger file is refused; a household's ledger of ten years is below 1 MB."""

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
    if not value.is_finite() or abs(value) > _LARGEST:
        raise ValueError(f"the amount {value} is no sum of money")
    rounded = value.quantize(_CENT)
    return (rounded if abs(value - rounded) <= _NOISE else value) + 0  # + 0 turns -0.00 into 0.00


Money = Annotated[Decimal, AfterValidator(cents)]


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
        counted = (entry.amount for entry in self.transactions_of(account) if entry.status not in ("void", "remind"))
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
            category=_name(self._categories, item, "category"),
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
            category=_name(self._categories, item, "category"),
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
    except (ValueError, InvalidOperation):
        raise XhbError(f"{(text or '')[:40]!r} is no amount") from None


def _tags(item: Element) -> tuple[str, ...]:
    return tuple(sorted(item.get("tags", "").split()))


class _Table(BaseModel):
    """A table within a `[[checks]]` table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SplitIs(_Table):
    """A part that a transaction must have."""

    category: str
    """The path of its category."""
    amount: Money
    """Negative for an expense."""
    memo: str | None = None
    """The memo; None accepts any."""


class _EntryIs(_Table):
    """What transactions and templates have in common. None accepts anything."""

    amount: Money
    """Negative for an expense."""
    payee: str | None = None
    """The name of the payee."""
    category: str | None = None
    """The path of the category, such as "Food:Groceries"; "" for none."""
    mode: PaymentMode | None = None
    """The payment mode."""
    memo: str | None = None
    """The memo."""
    number: str | None = None
    """The number of the check or receipt."""
    status: Status | None = None
    """The status."""
    tags: tuple[str, ...] | None = None
    """Tags, in any order."""
    transfer_to: str = ""
    """The other account, where it is an internal transfer."""
    splits: tuple[SplitIs, ...] = ()
    """The parts of a split transaction, in any order."""

    def differences(self, found: Transaction | Schedule) -> list[str]:
        """Return what is wrong with an entry, nothing when it is right."""
        problems = []
        for name in (name for name in type(self).model_fields if name != "splits"):
            expected, value = getattr(self, name), getattr(found, name)
            if name == "tags" and expected is not None:
                expected = tuple(sorted(expected))
            if expected is not None and value != expected:
                problems.append(f"{name} is {_text(value)} instead of {_text(expected)}")
        if not _same_splits(self.splits, found.splits):
            problems.append(f"splits are {_split_text(found.splits)} instead of {_split_text(self.splits)}")
        return problems

    def summary(self) -> str:
        """Return the requirement in one line."""
        shown = ((name, getattr(self, name)) for name in type(self).model_fields if name != "splits")
        parts = [f"{name} {_text(value)}" for name, value in shown if value is not None and value != ""]
        return ", ".join([*parts, *([f"splits {_split_text(self.splits)}"] if self.splits else [])])


class TransactionIs(_EntryIs):
    """A transaction that there must be."""

    date: dt.date
    """When."""


class ScheduleIs(_EntryIs):
    """A template or scheduled transaction that there must be."""

    account: str
    """The name of the account."""
    scheduled: bool = True
    """Whether it is posted by the calendar."""
    next_date: dt.date | None = None
    """When it is posted next."""
    every: int | None = None
    """How many units lie between two postings."""
    unit: Unit | None = None
    """The unit."""
    limit: int | None = None
    """After how many postings it ends; 0 for never."""
    weekend: Weekend | None = None
    """What is done when the day is none of a working week."""


class BudgetIs(_Table):
    """The budget that a category must have."""

    category: str
    """The path of the category."""
    monthly: Money | None = None
    """The same amount in each month."""
    months: dict[int, Money] | None = None
    """Amounts by month, 1 to 12; months that are not named must have none."""

    @model_validator(mode="after")
    def _one_of_both(self) -> BudgetIs:
        if (self.monthly is None) == (self.months is None):
            raise ValueError("give either `monthly` or `months`")
        if self.months and not set(self.months) <= set(range(1, 13)):
            raise ValueError("months are numbered 1 to 12")
        return self

    @property
    def year(self) -> tuple[Decimal, ...]:
        """The budget of each month, January to December."""
        if self.months is None:
            return (self.monthly or Decimal(0),) * 12
        return tuple(self.months.get(month, Decimal("0.00")) for month in range(1, 13))


class XhbChecker(Checker):
    """A checker of one HomeBank file. It says first whether the file is there and sound."""

    file: str
    """The name of the collected file."""

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        """Read the file and check it."""
        try:
            ledger = self._load(evidence)
        except XhbError as error:
            for name in self.requirements():
                yield Criterion(name=name, met=False, found=str(error), kind="complete")
        else:
            yield from self.check_ledger(ledger, evidence)

    @abstractmethod
    def requirements(self) -> list[str]:
        """Return the names of what is looked at; all of it is unmet when the file cannot be read."""

    @abstractmethod
    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterable[Criterion]:
        """Yield one criterion for each requirement."""

    def _load(self, evidence: Evidence) -> Ledger:
        path = evidence.file(self.file)
        if path is None:
            raise XhbError(evidence.missing.get(self.file, f"{self.file} was not collected"))
        return Ledger.load(path)


class XhbSaved(XhbChecker):
    """The file is there and is a sound HomeBank file."""

    def requirements(self) -> list[str]:
        """Return the one requirement."""
        return [f"{self.file} is a HomeBank file"]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Say so."""
        yield Criterion(name=f"{self.file} is a HomeBank file", met=True, kind="complete")


class AccountIs(XhbChecker):
    """There is one account of that name, and it has the given properties."""

    name: str
    """Its name."""
    type: AccountType | None = None
    """Its type; None accepts any."""
    currency: str | None = None
    """The ISO code of its currency; None accepts any."""
    initial: Money | None = None
    """The balance it was opened with; None accepts any."""
    number: str | None = None
    """Its number; None accepts any."""
    bank: str | None = None
    """Its bank; None accepts any."""
    minimum: Money | None = None
    """Its overdraft limit; None accepts any."""
    closed: bool = False
    """Whether it is closed."""

    _PROPERTIES = ("type", "currency", "initial", "number", "bank", "minimum", "closed")

    def requirements(self) -> list[str]:
        """Return the account and its properties."""
        return [self._exists, *(self._has(name) for name in self._asked())]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare each property."""
        names = ", ".join(account.name for account in ledger.accounts)
        found = ledger.account(self.name)
        yield Criterion(name=self._exists, met=found is not None, expected=self.name, found=names, kind="complete")
        for name in self._asked():
            expected = getattr(self, name)
            value = None if found is None else getattr(found, name)
            text = "no such account" if found is None else _text(value)
            yield Criterion(
                name=self._has(name),
                met=found is not None and value == expected,
                expected=_text(expected),
                found=text,
            )

    @property
    def _exists(self) -> str:
        return f"the account {self.name} exists"

    def _has(self, name: str) -> str:
        return f"the account {self.name} has the right {'state' if name == 'closed' else name}"

    def _asked(self) -> list[str]:
        return [name for name in self._PROPERTIES if getattr(self, name) is not None]


class BalanceIs(XhbChecker):
    """The balance of an account, after all its transactions."""

    account: str
    """The name of the account."""
    balance: Money
    """The balance."""

    def requirements(self) -> list[str]:
        """Return the one requirement."""
        return [f"the balance of {self.account} is right"]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare the balance."""
        known = ledger.account(self.account) is not None
        found = ledger.balance(self.account)
        yield Criterion(
            name=self.requirements()[0],
            met=known and found == self.balance,
            expected=_text(self.balance),
            found=_text(found) if known else "no such account",
        )


class TransactionsAre(XhbChecker):
    """An account has the given transactions, each once, and no others.

    With `since`, those that the named input file already has must all still be there, and the rest is compared.
    """

    account: str
    """The name of the account."""
    transactions: tuple[TransactionIs, ...]
    """The transactions, in any order."""
    since: str | None = None
    """The input file that the task began with."""
    complete: bool = True
    """Whether other transactions are refused."""

    def requirements(self) -> list[str]:
        """Return one requirement for each transaction, and those on the whole."""
        return [
            self._all_there,
            *(self._title(entry) for entry in self.transactions),
            *([self._nothing_else] if self.complete else []),
            *([self._kept] if self.since else []),
        ]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Match the transactions with those that are wanted."""
        found = list(ledger.transactions_of(self.account))
        lost: list[Transaction] = []
        if self.since:
            before = Ledger.load(evidence.inputs / self.since).transactions_of(self.account)
            lost, found = _difference(before, found)
        wanted = len(self.transactions)
        yield Criterion(
            name=self._all_there,
            met=len(found) >= wanted,
            expected=f"{wanted} transactions",
            found=f"{len(found)} transactions",
            kind="complete",
        )
        titles = [self._title(entry) for entry in self.transactions]
        criteria, rest = _compare(titles, self.transactions, found)
        yield from criteria
        if self.complete:
            yield Criterion(
                name=self._nothing_else, met=not rest, expected="none", found=_some(_line(entry) for entry in rest)
            )
        if self.since:
            yield Criterion(
                name=self._kept,
                met=not lost,
                expected="all still there, unchanged",
                found="changed or missing: " + _some(map(_line, lost)) if lost else "all still there, unchanged",
            )

    @property
    def _all_there(self) -> str:
        return f"{self.account}: {len(self.transactions)} transactions were entered"

    @property
    def _nothing_else(self) -> str:
        return f"{self.account}: no other transactions were entered"

    @property
    def _kept(self) -> str:
        return f"{self.account}: the earlier transactions are unchanged"

    def _title(self, entry: TransactionIs) -> str:
        return f"{self.account}: {entry.date} {entry.amount:+.2f} {entry.payee or entry.transfer_to or ''}".rstrip()


class SchedulesAre(XhbChecker):
    """The file has the given templates and scheduled transactions, each once, and no others.

    With `since`, those that the named input file already has must all still be there, and the rest is compared.
    """

    schedules: tuple[ScheduleIs, ...]
    """Templates and scheduled transactions, in any order."""
    since: str | None = None
    """The input file that the task began with."""

    def requirements(self) -> list[str]:
        """Return one requirement for each template, and those on the whole."""
        return [
            self._all_there,
            *map(self._title, self.schedules),
            self._nothing_else,
            *([self._kept] if self.since else []),
        ]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Match the templates with those that are wanted."""
        found, lost = list(ledger.schedules), []
        if self.since:
            lost, found = _difference(Ledger.load(evidence.inputs / self.since).schedules, found)
        yield Criterion(
            name=self._all_there,
            met=len(found) >= len(self.schedules),
            expected=f"{len(self.schedules)} scheduled transactions",
            found=f"{len(found)} scheduled transactions",
            kind="complete",
        )
        criteria, rest = _compare([self._title(entry) for entry in self.schedules], self.schedules, found)
        yield from criteria
        yield Criterion(name=self._nothing_else, met=not rest, expected="none", found=_some(map(_line, rest)))
        if self.since:
            yield Criterion(
                name=self._kept,
                met=not lost,
                expected="all still there, unchanged",
                found="changed or missing: " + _some(map(_line, lost)) if lost else "all still there, unchanged",
            )

    @property
    def _all_there(self) -> str:
        return f"{len(self.schedules)} scheduled transactions were set up"

    _nothing_else = "no other scheduled transactions were set up"
    _kept = "the earlier scheduled transactions are unchanged"

    def _title(self, entry: ScheduleIs) -> str:
        return f"scheduled: {entry.amount:+.2f} {entry.payee or entry.transfer_to or entry.memo or ''}".rstrip()


class BudgetsAre(XhbChecker):
    """Categories have the given budgets; with `since`, all others have the budget that they had in that input file."""

    budgets: tuple[BudgetIs, ...]
    """The budgets."""
    since: str | None = None
    """The input file that the task began with."""

    def requirements(self) -> list[str]:
        """Return one requirement for each budget, and one for the others."""
        return [*map(self._title, self.budgets), *([self._kept] if self.since else [])]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare each budget, month by month."""
        for entry in self.budgets:
            found = ledger.category(entry.category)
            yield Criterion(
                name=self._title(entry),
                met=found is not None and found.budget == entry.year,
                expected=_year(entry.year),
                found=_year(found.budget) if found else "no such category",
                kind="accurate" if found and any(found.budget) else "complete",
            )
        if self.since:
            named = {entry.category for entry in self.budgets}
            before, after = (
                {category.path: category.budget for category in source.categories if category.path not in named}
                for source in (Ledger.load(evidence.inputs / self.since), ledger)
            )
            changed = [path for path in {**before, **after} if any(before.get(path, ())) or any(after.get(path, ()))]
            changed = [path for path in changed if before.get(path) != after.get(path)]
            yield Criterion(name=self._kept, met=not changed, expected="unchanged", found=_some(changed, "unchanged"))

    _kept = "the budgets of all other categories are unchanged"

    def _title(self, entry: BudgetIs) -> str:
        return f"the budget of {entry.category}"


class RestUnchanged(XhbChecker):
    """Everything that the task does not ask for is as it was in the input file.

    Accounts (with their properties) and transactions of accounts that are not named in `accounts`; payees, categories and
    rules, apart from new ones that are named. Templates, unless `schedules`. Budgets are left to `BudgetsAre`.
    """

    since: str
    """The input file that the task began with."""
    accounts: tuple[str, ...] = ()
    """Accounts that other checks look at."""
    payees: tuple[str, ...] = ()
    """Payees that are to be added."""
    categories: tuple[str, ...] = ()
    """Categories that are to be added, as paths."""
    rules: bool = False
    """Whether other checks look at the assignment rules."""
    schedules: bool = False
    """Whether other checks look at the templates."""

    def requirements(self) -> list[str]:
        """Return the parts that are compared."""
        parts = ["other accounts", "the transactions of other accounts", "payees", "categories"]
        parts += ([] if self.rules else ["assignment rules"]) + ([] if self.schedules else ["scheduled transactions"])
        return [f"{part} are unchanged" for part in parts]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare part by part."""
        before, after = (self._parts(source) for source in (Ledger.load(evidence.inputs / self.since), ledger))
        for name, old, new in zip(self.requirements(), before, after, strict=True):
            lost, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
            signs = [*(f"- {item}" for item in lost.elements()), *(f"+ {item}" for item in added.elements())]
            yield Criterion(name=name, met=not signs, expected="unchanged", found=_some(signs, "unchanged"))

    def _parts(self, ledger: Ledger) -> list[list[str]]:
        parts = [
            [_line(account) for account in ledger.accounts if account.name not in self.accounts],
            [_line(entry) for entry in ledger.transactions if entry.account not in self.accounts],
            [name for name in ledger.payees if name not in self.payees],
            [f"{entry.path} (income: {entry.income})" for entry in ledger.categories if entry.path not in self.categories],
        ]
        if not self.rules:
            parts.append([_line(rule) for rule in ledger.rules])
        if not self.schedules:
            parts.append([_line(entry) for entry in ledger.schedules])
        return parts


def _difference[T](before: Iterable[T], after: Iterable[T]) -> tuple[list[T], list[T]]:
    """Return what of `before` is lost and what of `after` is new; equal entries are paired off."""
    old, new = Counter(before), Counter(after)
    return list((old - new).elements()), list((new - old).elements())


def _compare[F: (Transaction, Schedule)](
    titles: Sequence[str], wanted: Sequence[_EntryIs], found: Sequence[F]
) -> tuple[list[Criterion], list[F]]:
    """Pair what is wanted with what is found; return one criterion for each wanted entry, and what is left over."""
    rest = list(found)
    pairs: dict[int, F] = {}
    for index, entry in enumerate(wanted):
        if (match := next((item for item in rest if not entry.differences(item)), None)) is not None:
            pairs[index] = match
            rest.remove(match)
    unmatched = list(rest)
    criteria = []
    for index, (title, entry) in enumerate(zip(titles, wanted, strict=True)):
        nearest = min((entry.differences(item) for item in unmatched), key=len, default=None)
        close = nearest is not None and len(nearest) <= 3
        criteria.append(
            Criterion(
                name=title,
                met=index in pairs,
                expected=entry.summary(),
                found=_line(pairs[index]) if index in pairs else "; ".join(nearest or ()) if close else "not found",
            )
        )
    return criteria, rest


def _same_splits(wanted: Sequence[SplitIs], found: Sequence[Split]) -> bool:
    rest = list(found)
    # Parts with a memo first, since one without accepts any memo and could take another's match.
    for part in sorted(wanted, key=lambda part: part.memo is None):
        match = next(
            (
                item
                for item in rest
                if (item.category, item.amount) == (part.category, part.amount) and part.memo in (None, item.memo)
            ),
            None,
        )
        if match is None:
            return False
        rest.remove(match)
    return not rest


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:.2f}" if value == value.quantize(_CENT) else str(value)
    if isinstance(value, tuple):
        return " ".join(map(_text, value)) or "none"
    return str(value) if value not in (None, "") else "none"


def _split_text(splits: Iterable[Split | SplitIs]) -> str:
    parts = (f"{part.category} {_text(part.amount)}" + (f" ({part.memo})" if part.memo else "") for part in splits)
    return " + ".join(parts) or "none"


def _line(entry: Account | Transaction | Schedule | Rule) -> str:
    """Return everything that an entry holds, in one line; equal entries give equal lines."""
    shown = []
    for item in fields(entry):
        value = getattr(entry, item.name)
        if value in ("", (), None, False) or (item.name == "mode" and value == "none"):
            continue
        text = _split_text(value) if item.name == "splits" else _text(value)
        shown.append(f"{item.name} {text}")
    return ", ".join(shown)


def _year(budget: Sequence[Decimal]) -> str:
    if len(set(budget)) == 1:
        return f"{_text(budget[0])} each month"
    return ", ".join(f"{month}: {_text(amount)}" for month, amount in enumerate(budget, 1) if amount)


def _some(lines: Iterable[str], otherwise: str = "none", most: int = 3) -> str:
    every = list(lines)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return " | ".join(line[:300] for line in every[:most]) + more if every else otherwise
