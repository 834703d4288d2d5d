"""Checks of bookkeeping with bank statements in HomeBank: assignment rules, corrections, imported transactions."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from workflow_gym.grading import Criterion, Evidence
from workflow_gym_checkers.homebank import Money, TransactionIs, XhbChecker
from workflow_gym_checkers.xhb import Ledger, Rule, Transaction

# Bits of HomeBank's `Assign.flags`.
_CASE_SENSITIVE, _AMOUNT, _REGEX = 1 << 0, 1 << 7, 1 << 8
_PAYEE_IF_EMPTY, _CATEGORY_IF_EMPTY = 1 << 1, 1 << 2
_MODE_IF_EMPTY, _TAGS_IF_EMPTY = 1 << 3, 1 << 4
_PAYEE_ALWAYS, _CATEGORY_ALWAYS, _MODE_ALWAYS, _TAGS_ALWAYS = 1 << 9, 1 << 10, 1 << 11, 1 << 12
_FIELDS = ("memo", "payee")


class _Table(BaseModel):
    """A table within a `[[checks]]` table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleIs(_Table):
    """A rule that looks for a text in the memo, in upper or lower case, and fills in payee and category where empty."""

    text: str = Field(pattern=r"^\w+( \w+)*$")
    """The text; of letters, digits and single blanks, so that it means the same as a regular expression."""
    payee: str
    """The payee it sets."""
    category: str
    """The path of the category it sets."""

    def differences(self, found: Rule) -> list[str]:
        """Return what is wrong with a rule, nothing when it is right."""
        flags = found.flags
        wrong = {
            f"looks for {found.search!r}": not self.looks_alike(found),
            f"looks in the {_field(found)}": found.field != 0,
            "tells upper from lower case": flags & _CASE_SENSITIVE,
            "asks for an amount": flags & _AMOUNT,
            "leaves the payee alone": not flags & (_PAYEE_IF_EMPTY | _PAYEE_ALWAYS),
            "overwrites the payee": flags & _PAYEE_ALWAYS,
            f"sets the payee {found.payee or '(none)'}": found.payee != self.payee,
            "leaves the category alone": not flags & (_CATEGORY_IF_EMPTY | _CATEGORY_ALWAYS),
            "overwrites the category": flags & _CATEGORY_ALWAYS,
            f"sets the category {found.category or '(none)'}": found.category != self.category,
            "sets the payment mode": flags & (_MODE_IF_EMPTY | _MODE_ALWAYS),
            "sets tags": flags & (_TAGS_IF_EMPTY | _TAGS_ALWAYS),
        }
        return [text for text, is_wrong in wrong.items() if is_wrong]

    def looks_alike(self, found: Rule) -> bool:
        """Return whether a rule looks for the same text."""
        return found.search.casefold() == self.text.casefold()

    def nearest(self, rules: Iterable[Rule]) -> Rule | None:
        """Return the rule that looks for the same text and differs least, None when none looks for it."""
        alike = filter(self.looks_alike, rules)
        return min(alike, key=lambda rule: len(self.differences(rule)), default=None)

    @property
    def title(self) -> str:
        """The requirement, in a few words."""
        return f"the rule {self.text} sets {self.payee} and {self.category}"


class RulesAdded(XhbChecker):
    """Rules were added, each once, beside those of an input file; no others were, and those are unchanged."""

    since: str
    """The input file that the task began with."""
    rules: tuple[RuleIs, ...] = Field(min_length=1)
    """The rules."""

    def requirements(self) -> list[str]:
        """Return one requirement for each rule, and those on the whole."""
        return [*(rule.title for rule in self.rules), self._nothing_else, self._kept]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Match the rules with those that are wanted."""
        before, after = Counter(Ledger.load(evidence.inputs / self.since).rules), Counter(ledger.rules)
        lost, rest = list((before - after).elements()), list((after - before).elements())
        for wanted in self.rules:
            nearest = wanted.nearest(rest)
            problems = ["no such rule"] if nearest is None else wanted.differences(nearest)
            if nearest is not None:
                rest.remove(nearest)
            yield Criterion(
                name=wanted.title,
                met=not problems,
                expected="looks in the memo, in upper or lower case; fills in both where they are empty",
                found=_short("; ".join(problems) or "as expected"),
                kind="complete" if nearest is None else "accurate",
            )
        yield Criterion(name=self._nothing_else, met=not rest, expected="none", found=_some(map(_rule, rest)))
        yield Criterion(
            name=self._kept, met=not lost, expected="unchanged", found=_some(map(_rule, lost), "unchanged", "lost: ")
        )

    _nothing_else = "no other rules were added"
    _kept = "the earlier rules are unchanged"


class Correction(_Table):
    """A transaction whose date or amount is corrected; the rest of it stays as it is."""

    date: dt.date
    """Its date at the start."""
    amount: Money
    """Its amount at the start."""
    to_date: dt.date | None = None
    """The right date; None leaves it."""
    to_amount: Money | None = None
    """The right amount; None leaves it."""

    def apply(self, entries: Sequence[Transaction]) -> tuple[Transaction, Transaction]:
        """Return the transaction as it was and as it should be.

        Raises:
            ValueError: it is not exactly one, or nothing is corrected.
        """
        found = [entry for entry in entries if (entry.date, entry.amount) == (self.date, self.amount)]
        if len(found) != 1:
            raise ValueError(f"{len(found)} transactions of {self.date} have the amount {self.amount}")
        wrong = found[0]
        right = replace(wrong, date=self.to_date or wrong.date)
        right = right if self.to_amount is None else replace(right, amount=self.to_amount)
        if right == wrong:
            raise ValueError(f"the correction of {self.date} {self.amount} corrects nothing")
        return wrong, right

    @property
    def title(self) -> str:
        """The requirement, in a few words."""
        changes = [] if self.to_date is None else [str(self.to_date)]
        changes += [] if self.to_amount is None else [f"{self.to_amount:+.2f}"]
        return f"{self.date} {self.amount:+.2f} was corrected to {' '.join(changes)}"


class AccountBroughtUpToDate(XhbChecker):
    """An account has what an input file has, with corrections, and the given transactions, each once, and no others."""

    account: str
    """The name of the account."""
    since: str
    """The input file that the task began with."""
    corrections: tuple[Correction, ...] = ()
    """Transactions of that file that are corrected."""
    transactions: tuple[TransactionIs, ...] = Field(min_length=1)
    """Transactions that are added, in any order; equal ones as often as they are listed."""

    def requirements(self) -> list[str]:
        """Return one requirement for each correction and transaction, and those on the whole."""
        return [
            *(self._title(correction.title) for correction in self.corrections),
            self._kept,
            self._all_there,
            *map(self._entry_title, self.transactions),
            self._nothing_else,
        ]

    def check_ledger(self, ledger: Ledger, evidence: Evidence) -> Iterator[Criterion]:
        """Take away what was there, then what should have been added, and look at what is left."""
        before = Ledger.load(evidence.inputs / self.since).transactions_of(self.account)
        kept, rest = list(before), list(ledger.transactions_of(self.account))
        for correction in self.corrections:
            wrong, right = correction.apply(before)
            kept.remove(wrong)
            met = right in rest and Counter(rest)[wrong] < Counter(before)[wrong]
            same_day = [entry for entry in rest if entry.date == right.date]
            yield Criterion(
                name=self._title(correction.title),
                met=met,
                expected=_entry(right),
                found=_some(map(_entry, [right] if met else same_day), "not found"),
            )
            if right in rest:
                rest.remove(right)
        lost = [entry for entry in kept if not _take(rest, entry)]
        yield Criterion(
            name=self._kept,
            met=not lost,
            expected="all still there, unchanged",
            found=_some(map(_entry, lost), "all still there, unchanged", "changed or missing: "),
        )
        yield Criterion(
            name=self._all_there,
            met=len(rest) >= len(self.transactions),
            expected=f"{len(self.transactions)} transactions",
            found=f"{len(rest)} transactions",
            kind="complete",
        )
        matches = self._match(rest)
        for wanted, found in zip(self.transactions, matches, strict=True):
            yield Criterion(
                name=self._entry_title(wanted),
                met=found is not None,
                expected=wanted.summary(),
                found=_short(_entry(found) if found else _nearest(wanted, rest)),
            )
        yield Criterion(name=self._nothing_else, met=not rest, expected="none", found=_some(map(_entry, rest)))

    def _match(self, rest: list[Transaction]) -> list[Transaction | None]:
        """Return what matches each wanted transaction, and take it out of `rest`."""
        matches: list[Transaction | None] = []
        for wanted in self.transactions:
            same_day = (entry for entry in rest if entry.date == wanted.date)
            found = next((entry for entry in same_day if not wanted.differences(entry)), None)
            matches.append(found)
            if found is not None:
                rest.remove(found)
        return matches

    @property
    def _all_there(self) -> str:
        return self._title(f"{len(self.transactions)} transactions were added")

    @property
    def _nothing_else(self) -> str:
        return self._title("no other transactions were added, and none twice")

    @property
    def _kept(self) -> str:
        return self._title("the earlier transactions are unchanged")

    def _entry_title(self, entry: TransactionIs) -> str:
        return self._title(f"{entry.date} {entry.amount:+.2f} {entry.memo or entry.payee or ''}".rstrip())

    def _title(self, text: str) -> str:
        return f"{self.account}: {text}"


def _take(entries: list[Transaction], entry: Transaction) -> bool:
    """Remove one such entry; return whether there was one."""
    if entry in entries:
        entries.remove(entry)
        return True
    return False


def _nearest(wanted: TransactionIs, rest: Sequence[Transaction]) -> str:
    close = (entry for entry in rest if wanted.date == entry.date or wanted.amount == entry.amount)
    differences = min(map(wanted.differences, close), key=len, default=[])
    return "; ".join(differences) if 0 < len(differences) <= 3 else "not found"


def _field(rule: Rule) -> str:
    return _FIELDS[rule.field] if 0 <= rule.field < len(_FIELDS) else f"field {rule.field}"


def _rule(rule: Rule) -> str:
    return f"{rule.search!r} in the {_field(rule)}: {rule.payee or '(no payee)'}, {rule.category or '(no category)'}"


def _entry(entry: Transaction) -> str:
    parts = (f"{entry.date} {entry.amount:+.2f}", entry.memo, entry.payee, entry.category, entry.number, entry.status)
    return ", ".join(part for part in parts if part and part != "none")


def _some(lines: Iterable[str], otherwise: str = "none", prefix: str = "", most: int = 3) -> str:
    every = list(lines)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return prefix + " | ".join(map(_short, every[:most])) + more if every else otherwise


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
