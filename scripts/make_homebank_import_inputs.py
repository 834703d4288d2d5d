"""Makes the inputs of the task finance/homebank/bank-import: the books of a bicycle shop and its bank statement.

Usage: python scripts/make_homebank_import_inputs.py [--help]

Everything in them is invented. The task's checks read the statement's lines from task.toml, not from here.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from xml.sax.saxutils import quoteattr

INPUTS = Path(__file__).resolve().parents[1] / "tasks/finance/homebank/bank-import/inputs"

ACCOUNTS = (("Business Current", 1, 4310.25), ("Petty Cash", 2, 140.00), ("Tax Reserve", 1, 5200.00))
"""Name, HomeBank's type (1 bank, 2 cash), initial balance; keys count from 1."""
PAYEES = (
    "Riverside Properties", "Shell", "SumUp", "PayByPhone", "Viking Direct", "Madison Parts", "Northern Water",
    "Hull Sign Works", "HMRC", "Corner Bakery", "Post Office",
)  # fmt: skip
CATEGORIES = (
    ("Sales", True, ("Card takings", "Workshop")),
    ("Vehicle", False, ("Fuel", "Parking", "Servicing")),
    ("Premises", False, ("Rent", "Utilities")),
    ("Office", False, ("Supplies", "Telephone", "Postage")),
    ("Stock", False, ("Parts", "Bicycles")),
    ("Advertising", False, ()),
    ("Staff", False, ("Refreshments",)),
    ("Taxes", False, ("VAT",)),
)
"""Name, whether it is income, subcategories."""
RULES = (("MADISON", "Madison Parts", "Stock:Parts"), ("NORTHERN WATER", "Northern Water", "Premises:Utilities"))
"""Assignments that are there already: text in the memo, payee, category."""


@dataclass(frozen=True)
class Entry:
    """A transaction that is in the books at the start."""

    when: date
    amount: float
    account: str
    payee: str
    category: str
    memo: str
    mode: int = 0
    """HomeBank's payment: 2 cheque, 3 cash, 6 debit card, 7 standing order, 8 electronic, 11 direct debit."""
    number: str = ""
    status: int = 0
    """0 none, 1 cleared, 2 reconciled."""


def _november(day: int) -> date:
    return date(2026, 11, day)


def _december(day: int) -> date:
    return date(2026, 12, day)


BANK, CASH, RESERVE = (account[0] for account in ACCOUNTS)
ENTRIES = (
    Entry(_november(2), -1520.00, BANK, "Riverside Properties", "Premises:Rent", "Rent November", 7, status=2),
    Entry(_november(3), 455.10, BANK, "SumUp", "Sales:Card takings", "SUMUP PAYMENTS LTD 1103", 8, status=2),
    Entry(_november(5), -61.75, BANK, "Shell", "Vehicle:Fuel", "SHELL KINGSWAY 4417", 6, status=2),
    Entry(_november(9), -276.90, BANK, "Madison Parts", "Stock:Parts", "MADISON PARTS LTD INV 87106", 8, status=2),
    Entry(
        _november(12), -95.60, BANK, "Northern Water", "Premises:Utilities", "NORTHERN WATER DD 5520914", 11, status=2
    ),
    Entry(_november(16), 530.45, BANK, "SumUp", "Sales:Card takings", "SUMUP PAYMENTS LTD 1116", 8, status=2),
    Entry(_november(19), -23.50, CASH, "Corner Bakery", "Staff:Refreshments", "Team breakfast", 3),
    Entry(_november(24), -4.50, BANK, "PayByPhone", "Vehicle:Parking", "PAYBYPHONE HULL ZONE 3", 6, status=2),
    Entry(_november(27), -36.40, BANK, "Viking Direct", "Office:Supplies", "VIKING DIRECT 771204", 6, status=2),
    Entry(_november(30), 611.80, BANK, "SumUp", "Sales:Card takings", "SUMUP PAYMENTS LTD 1130", 8, status=2),
    Entry(_december(1), -1250.00, BANK, "Riverside Properties", "Premises:Rent", "Rent December", 7),
    Entry(_december(8), -7.35, CASH, "Post Office", "Office:Postage", "Parcel to customer", 3),
    Entry(_december(10), -60.00, BANK, "Hull Sign Works", "Advertising", "Window lettering", 2, number="000214"),
    Entry(_december(16), 85.00, CASH, "", "Sales:Workshop", "Wheel truing, paid in cash", 3),
    Entry(_december(18), 400.00, RESERVE, "", "Sales:Workshop", "Fleet service, paid into reserve", 8),
)

STATEMENT = (
    (1, "-1,520.00", "RIVERSIDE PROPERTIES STO", ""),
    (1, "486.20", "SUMUP PAYMENTS LTD 1201", ""),
    (2, "-58.40", "SHELL KINGSWAY 4417", ""),
    (3, "-212.75", "MADISON PARTS LTD INV 88213", ""),
    (4, "-4.50", "PAYBYPHONE HULL ZONE 3", ""),
    (4, "-4.50", "PAYBYPHONE HULL ZONE 3", ""),
    (7, "512.95", "SUMUP PAYMENTS LTD 1207", ""),
    (8, "-41.18", "Viking Direct 774410", ""),
    (9, "-62.05", "Shell Anlaby Rd 2093", ""),
    (10, "-95.60", "NORTHERN WATER DD 5520914", ""),
    (11, "-318.40", "MADISON PARTS LTD INV 88340", ""),
    (14, "643.10", "SumUp Payments Ltd 1214", ""),
    (15, "-60.00", "CHEQUE 000214", "000214"),
    (16, "-29.99", "VIKING DIRECT 775002", ""),
    (17, "-4.50", "PAYBYPHONE HULL ZONE 1", ""),
    (18, "-1,104.36", "HMRC VAT 8841207", ""),
    (21, "598.35", "SUMUP PAYMENTS LTD 1221", ""),
    (22, "-71.30", "SHELL KINGSWAY 4417", ""),
    (29, "377.40", "SUMUP PAYMENTS LTD 1229", ""),
    (31, "-8.50", "ACCOUNT CHARGES", ""),
)
"""Day of December 2026, amount, the bank's text, cheque number: as the bank writes them."""


def books() -> str:
    """Return the content of the .xhb file, as HomeBank 5.8 writes it."""
    lines = [
        '<?xml version="1.0"?>',
        '<homebank v="1.5" d="050806">',
        '<properties title="Harbour Lane Cycles" curr="1" auto_smode="1" auto_weekday="1" auto_nbmonths="1"'
        ' earnbyh="0"/>',
        '<cur key="1" flags="0" iso="GBP" name="British Pound" symb="£" syprf="1" dchar="." gchar="," frac="2" rate="0"'
        ' mdate="0"/>',
    ]
    accounts = {name: key for key, (name, _, _) in enumerate(ACCOUNTS, 1)}
    for name, kind, initial in ACCOUNTS:
        key = accounts[name]
        lines.append(
            f'<account key="{key}" pos="{key}" type="{kind}" curr="1" name={quoteattr(name)} initial="{initial:g}"'
            ' minimum="0" maximum="0"/>'
        )
    payees = {name: key for key, name in enumerate(PAYEES, 1)}
    lines += [f'<pay key="{key}" name={quoteattr(name)}/>' for name, key in payees.items()]
    categories: dict[str, int] = {}
    for name, income, children in CATEGORIES:
        parent = categories[name] = len(categories) + 1
        flags = ' flags="2"' if income else ""
        lines.append(f'<cat key="{parent}"{flags} name={quoteattr(name)}/>')
        for child in children:
            key = categories[f"{name}:{child}"] = len(categories) + 1
            lines.append(f'<cat key="{key}" parent="{parent}" flags="{3 if income else 1}" name={quoteattr(child)}/>')
    for key, (text, payee, category) in enumerate(RULES, 1):
        lines.append(
            f'<asg key="{key}" flags="6" pos="{key}" name={quoteattr(text)} payee="{payees[payee]}"'
            f' category="{categories[category]}" amount="0"/>'
        )
    for entry in ENTRIES:
        fields = [f'date="{entry.when.toordinal()}" amount="{entry.amount:.10g}" account="{accounts[entry.account]}"']
        fields += [f'paymode="{entry.mode}"'] if entry.mode else []
        fields += [f'st="{entry.status}"'] if entry.status else []
        fields += ['flags="2"'] if entry.amount > 0 else []
        fields += [f'payee="{payees[entry.payee]}"'] if entry.payee else []
        fields += [f'category="{categories[entry.category]}" wording={quoteattr(entry.memo)}']
        fields += [f'info="{entry.number}"'] if entry.number else []
        lines.append(f"<ope {' '.join(fields)}/>")
    return "\n".join([*lines, "</homebank>", ""])


def statement() -> str:
    """Return the content of the .qif file, as a British bank writes it: day first, Windows line ends."""
    lines = ["!Type:Bank"]
    for day, amount, text, number in STATEMENT:
        lines += [f"D{day:02}/12/2026", f"T{amount}"]
        lines += [f"N{number}"] if number else []
        lines += [f"P{text}", "^"]
    return "\r\n".join([*lines, ""])


def main() -> None:
    """Write the inputs."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    INPUTS.mkdir(parents=True, exist_ok=True)
    (INPUTS / "harbour-lane-cycles.xhb").write_bytes(books().encode())
    (INPUTS / "statement-2026-12.qif").write_bytes(statement().encode("ascii"))


if __name__ == "__main__":
    main()
