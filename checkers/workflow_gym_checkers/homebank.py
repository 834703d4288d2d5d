"""Checks HomeBank files (.xhb): accounts, transactions, scheduled transactions, budgets, and what must stay as it was.

A file that is missing, foreign, cut off, oversized or malicious gives unmet criteria. `workflow_gym_checkers.xhb` reads
the format.
"""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from workflow_gym.grading import Checker, Criterion, Evidence
from workflow_gym_checkers.xhb import (
    INEFFECTIVE,
    Account,
    AccountType,
    Ledger,
    PaymentMode,
    Rule,
    Schedule,
    Split,
    Status,
    Transaction,
    Unit,
    Weekend,
    XhbError,
    cents,
)

Money = Annotated[Decimal, AfterValidator(cents)]

_NEARLY = 2
"""With at most this many differences, an entry is taken for a wrong version of what is wanted."""


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
    """The status; None accepts any but those that make an entry ineffective."""
    tags: tuple[str, ...] | None = None
    """Tags, in any order."""
    transfer_to: str = ""
    """The other account, where it is an internal transfer."""
    splits: tuple[SplitIs, ...] = ()
    """The parts of a split transaction, in any order."""

    _special: ClassVar[frozenset[str]] = frozenset({"splits"})
    """Fields that are not compared for equality."""

    def differences(self, found: Transaction | Schedule) -> list[str]:
        """Return what is wrong with an entry, nothing when it is right."""
        problems = []
        for name in (name for name in type(self).model_fields if name not in self._special):
            expected, value = getattr(self, name), getattr(found, name)
            if name == "tags" and expected is not None:
                expected = tuple(sorted(expected))
            if expected is not None and value != expected:
                problems.append(f"{name} is {_text(value)} instead of {_text(expected)}")
        if self.status is None and found.status in INEFFECTIVE:
            problems.append(f"status is {found.status}")
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
    """How many units lie between two postings. 2 weeks and 14 days are the same, and so are 1 year and 12 months."""
    unit: Unit | None = None
    """The unit."""
    limit: int | None = None
    """After how many postings it ends; 0 for never."""
    weekend: Weekend | None = None
    """What is done when the day is none of a working week."""

    _special: ClassVar[frozenset[str]] = frozenset({"splits", "every", "unit"})

    @model_validator(mode="after")
    def _whole_interval(self) -> ScheduleIs:
        if (self.every is None) != (self.unit is None):
            raise ValueError("give both `every` and `unit`, or none")
        return self

    def differences(self, found: Transaction | Schedule) -> list[str]:
        """Return what is wrong with an entry, nothing when it is right."""
        problems = super().differences(found)
        if self.every is not None and isinstance(found, Schedule):
            if _interval(found.every, found.unit) != _interval(self.every, self.unit):
                problems.append(f"it is due every {found.every} {found.unit} instead of {self.every} {self.unit}")
        return problems


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
    """There is one open account of that name, and it has the given properties."""

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

    _LABELS: ClassVar[dict[str, str]] = {
        "type": "type", "currency": "currency", "initial": "start balance", "number": "number", "bank": "institution",
        "minimum": "overdraft limit",
    }  # fmt: skip

    def requirements(self) -> list[str]:
        """Return the account and its properties."""
        return [self._exists, *(self._has(name) for name in self._asked())]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare each property."""
        names = ", ".join(account.name + (" (closed)" if account.closed else "") for account in ledger.accounts)
        found = ledger.account(self.name)
        found = None if found and found.closed else found
        yield Criterion(
            name=self._exists, met=found is not None, expected=self.name, found=_short(names), kind="complete"
        )
        for name in self._asked():
            expected = getattr(self, name)
            value = None if found is None else getattr(found, name)
            text = "no such account" if found is None else _short(_text(value))
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
        return f"the account {self.name} has the right {self._LABELS[name]}"

    def _asked(self) -> list[str]:
        return [name for name in self._LABELS if getattr(self, name) is not None]


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
            expected=_count(wanted, "transaction"),
            found=_count(len(found), "transaction"),
            kind="complete",
        )
        titles = [self._title(entry) for entry in self.transactions]
        criteria, rest = _compare(titles, self.transactions, found)
        yield from criteria
        if self.complete:
            known = ledger.account(self.account) is not None
            yield Criterion(
                name=self._nothing_else,
                met=known and not rest,
                expected="none",
                found=_some(map(_line, rest)) if known else "no such account",
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
        return f"{self.account}: {_count(len(self.transactions), 'transaction')} entered"

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
        found = list(ledger.schedules)
        lost: list[Schedule] = []
        if self.since:
            lost, found = _difference(Ledger.load(evidence.inputs / self.since).schedules, found)
        yield Criterion(
            name=self._all_there,
            met=len(found) >= len(self.schedules),
            expected=_count(len(self.schedules), "scheduled transaction"),
            found=_count(len(found), "scheduled transaction"),
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
        return f"{_count(len(self.schedules), 'scheduled transaction')} set up"

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

    That is accounts with their properties, transactions, payees and categories, apart from those that are named; rules,
    templates and budgets, unless other checks look at them.
    """

    since: str
    """The input file that the task began with."""
    accounts: tuple[str, ...] = ()
    """Accounts whose transactions other checks look at, and accounts that are to be added."""
    payees: tuple[str, ...] = ()
    """Payees that are to be added."""
    categories: tuple[str, ...] = ()
    """Categories that are to be added, as paths."""
    rules: bool = False
    """Whether other checks look at the assignment rules."""
    schedules: bool = False
    """Whether other checks look at the templates."""
    budgets: bool = False
    """Whether other checks look at the budgets."""

    def requirements(self) -> list[str]:
        """Return the one requirement."""
        return ["everything else is unchanged"]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Compare line by line."""
        start = Ledger.load(evidence.inputs / self.since)
        added = set(self.accounts) - {account.name for account in start.accounts}
        lost, extra = _difference(self._lines(start, added), self._lines(ledger, added))
        changes = [*(f"- {line}" for line in lost), *(f"+ {line}" for line in extra)]
        name = self.requirements()[0]
        yield Criterion(name=name, met=not changes, expected="unchanged", found=_some(changes, "unchanged", most=6))

    def _lines(self, ledger: Ledger, added: set[str]) -> Iterator[str]:
        """Return a line for each entry that must not change."""
        yield from (_line(account) for account in ledger.accounts if account.name not in added)
        yield from (_line(entry) for entry in ledger.transactions if entry.account not in self.accounts)
        yield from (f"payee {name}" for name in ledger.payees if name not in self.payees)
        for category in ledger.categories:
            if category.path not in self.categories:
                yield f"category {category.path} of {'income' if category.income else 'expense'}"
            if not self.budgets and any(category.budget):
                yield f"budget of {category.path}: {_year(category.budget)}"
        yield from (_line(rule) for rule in ledger.rules if not self.rules)
        yield from (_line(entry) for entry in ledger.schedules if not self.schedules)


def _difference[T](before: Iterable[T], after: Iterable[T]) -> tuple[list[T], list[T]]:
    """Return what of `before` is lost and what of `after` is new; equal entries are paired off."""
    old, new = Counter(before), Counter(after)
    return list((old - new).elements()), list((new - old).elements())


def _compare[F: (Transaction, Schedule)](
    titles: Sequence[str], wanted: Sequence[_EntryIs], found: Sequence[F]
) -> tuple[list[Criterion], list[F]]:
    """Pair what is wanted with what is found; return one criterion for each wanted entry, and what is left over.

    An entry that is nearly the wanted one is taken for it, and is wrong; it is not left over.
    """
    rest = list(found)
    results: dict[int, tuple[F, list[str]]] = {}
    for most in (0, *range(1, _NEARLY + 1)):
        for index, entry in enumerate(wanted):
            if index in results:
                continue
            for item in rest:
                if len(problems := entry.differences(item)) <= most:
                    results[index] = item, problems
                    rest.remove(item)
                    break
    criteria = []
    for index, (title, entry) in enumerate(zip(titles, wanted, strict=True)):
        match, problems = results.get(index, (None, ["not found"]))
        criteria.append(
            Criterion(
                name=title,
                met=not problems,
                expected=entry.summary(),
                found=_short("; ".join(problems) or _line(match) if match else "not found"),
                kind="accurate" if match else "complete",
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _interval(every: int, unit: str | None) -> tuple[int, str | None]:
    match unit:
        case "week":
            return every * 7, "day"
        case "year":
            return every * 12, "month"
        case _:
            return every, unit


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:.2f}" if value == round(value, 2) else str(value)
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


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _some(lines: Iterable[str], otherwise: str = "none", most: int = 3) -> str:
    every = list(lines)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return " | ".join(map(_short, every[:most])) + more if every else otherwise
