#!/usr/bin/env python3
# ruff: noqa: E501 - the books are tables, one line an entry.
"""Make the HomeBank files that the tasks under tasks/finance/homebank/ begin with, in the format of HomeBank 5.8.6."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

TASKS = Path(__file__).resolve().parents[1] / "tasks" / "finance" / "homebank"

ACCOUNT_TYPES = ["none", "bank", "cash", "asset", "credit card", "liability", "checking", "savings"]
MODES = ["", "card", "check", "cash", "transfer", "", "debit", "standing", "electronic", "deposit", "fee", "direct"]
UNITS = ["day", "week", "month", "year"]
INCOME, SCHEDULED, TRANSFER, SPLIT = 1 << 1, 1 << 2, 1 << 3, 1 << 8
SUB_CATEGORY, INCOME_CATEGORY, CUSTOM_BUDGET, BUDGET = 1 << 0, 1 << 1, 1 << 2, 1 << 3


@dataclass(frozen=True)
class Book:
    """A ledger, in compact text: one line an entry, fields separated by bars."""

    title: str
    """The owner."""
    accounts: str
    """name | type | initial balance | minimum | number | bank"""
    categories: str
    """A path for each category; "+" before one of income; after a bar the monthly budget, or twelve of them."""
    payees: str
    """A name for each payee; after a bar its usual category."""
    transactions: str
    """date | account | amount | payee | category | mode | memo | number | status; a category "> name" is a transfer,
    and parts "path amount (memo)" that are joined by " + " make a split."""
    schedules: str = ""
    """account | amount | payee | category | mode | memo | every | unit | next date; the last three empty: a template."""


def rows(text: str) -> Iterator[list[str]]:
    """Yield the fields of each line."""
    for line in text.strip().splitlines():
        yield [field.strip() for field in line.split("|")]


def number(amount: str) -> str:
    """Return an amount as HomeBank writes it: the shortest of 17 digits that C's %.17g gives."""
    return f"{float(amount):.17g}"


class Writer:
    """Turns a book into the text of a file."""

    def __init__(self, book: Book) -> None:
        """Number the accounts and payees."""
        self.book = book
        self.accounts = {row[0]: key for key, row in enumerate(rows(book.accounts), 1)}
        self.categories: dict[str, int] = {}
        self.payees = {row[0]: key for key, row in enumerate(rows(book.payees), 1)}
        self.transfers = 0

    def text(self) -> str:
        """Return the whole file."""
        lines = [
            '<?xml version="1.0"?>',
            '<homebank v="1.5" d="050806">',
            self.element(
                "properties",
                title=self.book.title,
                curr=1,
                auto_smode="2",
                auto_weekday=1,
                auto_nbmonths=1,
                earnbyh="0",
            ),
            '<cur key="1" flags="0" iso="USD" name="US Dollar" symb="$" syprf="1" dchar="." gchar="," frac="2"'
            ' rate="0" mdate="0"/>',
        ]
        categories = list(self.category_lines())  # First, since payees refer to categories.
        lines += [*self.account_lines(), *self.payee_lines(), *categories]
        lines += [*self.schedule_lines(), *self.transaction_lines()]
        return "\n".join([*lines, "</homebank>", ""])

    @staticmethod
    def element(tag: str, **values: object) -> str:
        """Return an element; attributes that are empty or 0 are left out, as HomeBank does."""
        shown = {name: str(value) for name, value in values.items() if value not in ("", 0, None)}
        return (
            f"<{tag}"
            + "".join(f' {k}="{escape(v, {chr(34): "&quot;", "'": "&apos;"})}"' for k, v in shown.items())
            + "/>"
        )

    def account_lines(self) -> Iterator[str]:
        """Yield the accounts."""
        for key, (name, kind, initial, minimum, code, bank) in enumerate(rows(self.book.accounts), 1):
            yield self.element(
                "account", key=key, pos=key, type=ACCOUNT_TYPES.index(kind), curr=1, name=name, number=code,
                bankname=bank, initial=number(initial), minimum=number(minimum), maximum="0",
            )  # fmt: skip

    def payee_lines(self) -> Iterator[str]:
        """Yield the payees."""
        for key, row in enumerate(rows(self.book.payees), 1):
            yield self.element("pay", key=key, name=row[0], category=self.categories[row[1]] if len(row) > 1 else 0)

    def category_lines(self) -> Iterator[str]:
        """Yield the categories, and number them."""
        for key, row in enumerate(rows(self.book.categories), 1):
            path = row[0].removeprefix("+")
            parent, _, name = path.rpartition(":")
            self.categories[path] = key
            budget = [number(amount) for amount in row[1].split()] if len(row) > 1 else []
            flags = (SUB_CATEGORY if parent else 0) | (INCOME_CATEGORY if row[0].startswith("+") else 0)
            flags |= (BUDGET if budget else 0) | (CUSTOM_BUDGET if len(budget) > 1 else 0)
            months = {f"b{i}": v for i, v in enumerate(budget, 1 if len(budget) > 1 else 0) if v != "0"}
            yield self.element("cat", key=key, parent=self.categories[parent] if parent else 0, flags=flags, name=name,
                               **months)  # fmt: skip

    def schedule_lines(self) -> Iterator[str]:
        """Yield templates and scheduled transactions."""
        for key, row in enumerate(rows(self.book.schedules), 1):
            account, amount, payee, category, mode, memo, every, unit, date = row
            flags = (INCOME if float(amount) > 0 else 0) | (SCHEDULED if date else 0)
            yield self.element(
                "fav", key=key, amount=number(amount), account=self.accounts[account], paymode=MODES.index(mode),
                flags=flags, payee=self.payees[payee], category=self.categories[category], wording=memo,
                nextdate=dt.date.fromisoformat(date).toordinal() if date else 0, every=every or 1,
                unit=UNITS.index(unit or "month"),
            )  # fmt: skip

    def transaction_lines(self) -> Iterator[str]:
        """Yield the transactions of one account after the other."""
        lines: dict[str, list[tuple[str, str]]] = {name: [] for name in self.accounts}
        for row in rows(self.book.transactions):
            for account, line in self.entry(row):
                lines[account].append((row[0], line))
        for entries in lines.values():
            yield from (line for _, line in sorted(entries, key=lambda entry: entry[0]))

    def entry(self, row: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the account and the element of a transaction, or of both sides of a transfer."""
        date, account, amount, payee, category, mode, memo, code, status = [*row, *[""] * (9 - len(row))]
        values: dict[str, object] = {
            "date": dt.date.fromisoformat(date).toordinal(),
            "amount": number(amount),
            "account": self.accounts[account],
            "dst_account": 0,
            "paymode": MODES.index(mode),
            "st": {"": 0, "c": 1, "r": 2}[status],
            "flags": INCOME if float(amount) > 0 else 0,
            "payee": self.payees[payee] if payee else 0,
            "category": 0,
            "wording": memo,
            "info": code,
        }
        if category.startswith(">"):
            other = category[1:].strip()
            self.transfers += 1
            values |= {"flags": TRANSFER, "kxfer": self.transfers, "dst_account": self.accounts[other]}
            yield account, self.element("ope", **values)
            values |= {"flags": INCOME | TRANSFER, "amount": number(str(-float(amount)))}
            values |= {"account": self.accounts[other], "dst_account": self.accounts[account]}
            yield other, self.element("ope", **values)
        elif " + " in category:
            parts = [part.rpartition(" ") for part in category.split(" + ")]
            values["flags"] = SPLIT | (INCOME if float(amount) > 0 else 0)
            values["scat"] = "||".join(str(self.categories[path]) for path, _, _ in parts)
            values["samt"] = "||".join(number(part) for _, _, part in parts)
            values["smem"] = "||".join("" for _ in parts)
            yield account, self.element("ope", **values)
        else:
            values["category"] = self.categories[category] if category else 0
            yield account, self.element("ope", **values)


STUDIO = Book(
    title="Brightwater Pottery Studio",
    accounts="""
        Business Checking | checking    | 8412.37  | 0     | 4471-208833 | Columbia Community Bank
        Business Savings  | savings     | 15000    | 0     | 4471-208841 | Columbia Community Bank
        Company Card      | credit card | -316.4   | -4000 | 7719        | Columbia Community Bank
        Online Shop       | asset       | 1204.55  | 0     |             | PayPal
    """,
    categories="""
        +Sales
        +Sales:Online Shop
        +Sales:Studio
        +Sales:Markets
        +Sales:Workshops
        +Other Income
        +Other Income:Interest
        Materials
        Materials:Clay
        Materials:Glazes
        Materials:Packaging
        Market Costs
        Market Costs:Booth Fees
        Market Costs:Display
        Market Costs:Helpers
        Office
        Office:Supplies
        Office:Postage
        Office:Software
        Premises
        Premises:Rent
        Premises:Electricity
        Premises:Repairs
        Travel
        Travel:Fuel
        Travel:Parking
        Travel:Meals
        Travel:Lodging
        Vehicle
        Vehicle:Insurance
        Vehicle:Parking Permit
        Vehicle:Repairs
        Bank Charges
        Taxes
        Taxes:Sales Tax
        Taxes:Business License
    """,
    payees="""
        Alder Street Realty | Premises:Rent
        Bull Run Ceramic Supply | Materials:Clay
        Cascade Packaging | Materials:Packaging
        Cascade Power | Premises:Electricity
        Cash Customers | Sales:Markets
        City of Portland | Taxes:Business License
        City Parking Garage | Travel:Parking
        Columbia Community Bank | Bank Charges
        Corner Bakery
        Dana Whitfield
        Elkhorn Glaze Works | Materials:Glazes
        Evergreen Insurance | Vehicle:Insurance
        Farmhouse Cafe | Travel:Meals
        Fir & Fern Gifts | Sales:Studio
        Georgia Clay Co. | Materials:Clay
        Hartley Hardware
        Hartley Hardware Rental
        Kiln Doctor | Premises:Repairs
        Marisol Vega
        Meridian Fuel | Travel:Fuel
        Northwest Craft Guild | Market Costs:Booth Fees
        Office Barn | Office:Supplies
        Online Shop Customers | Sales:Online Shop
        Oregon Dept. of Revenue | Taxes:Sales Tax
        PayPal | Bank Charges
        Pine State Motors | Vehicle:Repairs
        Post Office | Office:Postage
        Riverside Inn | Travel:Lodging
        Seven Dwarfs Diner | Travel:Meals
        Studio Walk-in | Sales:Studio
        Tabor Workshop Guests | Sales:Workshops
        U-Stor Self Storage
        Willamette Farmers Market | Market Costs:Booth Fees
    """,
    transactions="""
        2026-10-01 | Business Checking | -1450 | Alder Street Realty | Premises:Rent | standing | October rent | | r
        2026-10-02 | Company Card | -47.18 | Meridian Fuel | Travel:Fuel | card | | | r
        2026-10-05 | Business Checking | -386.2 | Bull Run Ceramic Supply | Materials:Clay | check | stoneware 300 lb | 1182 | r
        2026-10-07 | Online Shop | 212.4 | Online Shop Customers | Sales:Online Shop | electronic | orders 3301-3306 | | r
        2026-10-09 | Business Checking | 640 | Fir & Fern Gifts | Sales:Studio | deposit | inv 2026-071 | | r
        2026-10-10 | Company Card | -23.5 | Seven Dwarfs Diner | Travel:Meals | card | lunch w/ Marisol | | r
        2026-10-12 | Company Card | -64.99 | Office Barn | Office:Supplies | card | toner | | r
        2026-10-14 | Online Shop | -9.87 | PayPal | Bank Charges | fee | | | r
        2026-10-15 | Business Checking | -85 | Willamette Farmers Market | Market Costs:Booth Fees | check | Oct booth | 1183 | r
        2026-10-15 | Online Shop | -900 | | > Business Checking | | payout Oct | | r
        2026-10-18 | Business Checking | 418.5 | Cash Customers | Sales:Markets | deposit | farmers market 17/10 | | r
        2026-10-20 | Business Checking | -127.33 | Cascade Power | Premises:Electricity | direct | | | r
        2026-10-22 | Company Card | -18.4 | Post Office | Office:Postage | card | parcels | | r
        2026-10-23 | Company Card | -12 | City Parking Garage | Travel:Parking | card | | | r
        2026-10-27 | Business Checking | -358.65 | | > Company Card | | card statement Oct | | r
        2026-10-30 | Business Savings | 21.87 | Columbia Community Bank | Other Income:Interest | | interest | | r
        2026-11-02 | Business Checking | -1450 | Alder Street Realty | Premises:Rent | standing | November rent | | r
        2026-11-03 | Business Checking | -212.75 | Elkhorn Glaze Works | Materials:Glazes | check | celadon, tenmoku | 1184 | r
        2026-11-05 | Online Shop | 388.9 | Online Shop Customers | Sales:Online Shop | electronic | orders 3307-3319 | | r
        2026-11-06 | Company Card | -51.06 | Meridian Fuel | Travel:Fuel | card | | | r
        2026-11-09 | Business Checking | -145 | Kiln Doctor | Premises:Repairs | check | element replaced | 1185 | r
        2026-11-10 | Business Checking | -96.4 | Hartley Hardware | Market Costs:Display -58.9 + Office:Supplies -37.5 | debit | shelf brackets, misc. | | r
        2026-11-13 | Business Checking | 360 | Tabor Workshop Guests | Sales:Workshops | deposit | 6 x wheel throwing | | r
        2026-11-16 | Company Card | -23.5 | Seven Dwarfs Diner | Travel:Meals | card | | | r
        2026-11-16 | Company Card | -23.5 | Seven Dwarfs Diner | Travel:Meals | card | second receipt same day | | r
        2026-11-17 | Business Checking | -127.33 | Cascade Packaging | Materials:Packaging | debit | boxes S+M | | r
        2026-11-18 | Business Checking | -131.09 | Cascade Power | Premises:Electricity | direct | | | r
        2026-11-20 | Company Card | -75 | Hartley Hardware Rental | Market Costs:Display | card | tent, weekend | | r
        2026-11-21 | Business Checking | -85 | Willamette Farmers Market | Market Costs:Booth Fees | check | Nov booth | 1186 | r
        2026-11-23 | Business Checking | 702.25 | Cash Customers | Sales:Markets | deposit | holiday market wk 1 | | r
        2026-11-24 | Business Checking | -173.06 | | > Company Card | | card statement Nov | | r
        2026-11-30 | Business Savings | 21.9 | Columbia Community Bank | Other Income:Interest | | interest | | r
        2026-12-01 | Business Checking | -1450 | Alder Street Realty | Premises:Rent | standing | December rent | | c
        2026-12-02 | Business Checking | -240 | Northwest Craft Guild | Market Costs:Booth Fees | check | New Year's market, booth 14 | 1187 | c
        2026-12-03 | Online Shop | 871.35 | Online Shop Customers | Sales:Online Shop | electronic | orders 3320-3351 | | c
        2026-12-04 | Company Card | -49.77 | Meridian Fuel | Travel:Fuel | card | | | c
        2026-12-07 | Business Checking | -80 | Dana Whitfield | Market Costs:Helpers | check | holiday mkt, Sat | 1188 | c
        2026-12-08 | Business Checking | -64.2 | Georgia Clay Co. | | debit | ??? ask Marisol | | c
        2026-12-10 | Company Card | -29.99 | Office Barn | Office:Software | card | label printer app | | c
        2026-12-11 | Business Checking | 955.8 | Cash Customers | Sales:Markets | deposit | holiday market wk 2+3 | | c
        2026-12-14 | Company Card | -36.15 | Post Office | Office:Postage | card | PARCELS | | c
        2026-12-15 | Online Shop | -1500 | | > Business Checking | | payout Dec | | c
        2026-12-16 | Online Shop | -31.2 | PayPal | Bank Charges | fee | | | c
        2026-12-17 | Business Checking | -139.48 | Cascade Power | Premises:Electricity | direct | | | c
        2026-12-18 | Business Checking | -412.6 | Oregon Dept. of Revenue | Taxes:Sales Tax | electronic | Q4 estimate | | c
        2026-12-21 | Company Card | -12 | City Parking Garage | Travel:Parking | card | | |
        2026-12-22 | Business Checking | -500 | | > Business Savings | | reserve | |
        2026-12-23 | Business Checking | 290 | Fir & Fern Gifts | Sales:Studio | deposit | inv 2026-094 | |
        2026-12-28 | Business Checking | -55 | U-Stor Self Storage | | debit | Jan storage | |
        2026-12-29 | Business Checking | -40 | | | cash | ATM, studio tea kitchen | |
        2026-12-31 | Business Savings | 22.04 | Columbia Community Bank | Other Income:Interest | | interest | |
    """,
)

HOUSEHOLD = Book(
    title="Maren & Tunde Okafor",
    accounts="""
        Joint Checking     | checking    | 2914.06 | -500  | 66-110274 | Harbor Federal Credit Union
        Emergency Savings  | savings     | 7350    | 0     | 66-110290 | Harbor Federal Credit Union
        Visa Card          | credit card | -412.83 | -3000 | 5516      | Harbor Federal Credit Union
        Cash Wallet        | cash        | 85      | 0     |           |
    """,
    categories="""
        +Income
        +Income:Salary
        +Income:Salary Bonus
        +Income:Interest
        +Income:Gifts Received
        Housing
        Housing:Rent
        Housing:Repairs
        Housing:Furniture
        Utilities
        Utilities:Electricity | -95 -95 -80 -70 -60 -60 -75 -75 -65 -65 -80 -95
        Utilities:Water
        Utilities:Internet | -54.99
        Utilities:Phone | -62
        Food
        Food:Groceries
        Food:Dining Out
        Food:Work Lunches
        Car
        Car:Fuel
        Car:Insurance
        Car:Registration
        Car:Repairs
        Insurance
        Insurance:Home
        Insurance:Life
        Health
        Health:Dentist
        Health:Pharmacy
        Leisure
        Leisure:Books
        Leisure:Sports
        Leisure:Streaming | -15.49
        Leisure:Travel
        Children
        Children:Clothing
        Children:Music Lessons
        Gifts
        Bank Charges
    """,
    payees="""
        Bayside Pharmacy | Health:Pharmacy
        Blue Heron Books | Leisure:Books
        Brightline Dental | Health:Dentist
        Catalina Noodle House | Food:Dining Out
        City Water Bureau | Utilities:Water
        Clearwave Internet | Utilities:Internet
        County DMV
        Evergreen Life
        Evergreen Mutual
        Family Music School | Children:Music Lessons
        Farmers Co-op Market | Food:Groceries
        Fastlane Fuel | Car:Fuel
        Flixbox | Leisure:Streaming
        Grandma Ruth | Income:Gifts Received
        Greenfield Grocery | Food:Groceries
        Greenfield Garden Center
        Harbor Federal Credit Union | Bank Charges
        Harbor Point Apartments | Housing:Rent
        Hilltop Auto Repair | Car:Repairs
        Kiddo & Co. | Children:Clothing
        Lantern Cafe | Food:Work Lunches
        Mobilink | Utilities:Phone
        Nordhaus Furniture | Housing:Furniture
        Northshore Power | Utilities:Electricity
        Peak Gym
        Peak Outdoor Store
        Pronto Pizza | Food:Dining Out
        Skyline Travel | Leisure:Travel
        Sunrise Bakery | Food:Groceries
        Tidewater Shipping Co. | Income:Salary
        Tidewater Tavern | Food:Dining Out
    """,
    schedules="""
        Visa Card      | -15.49 | Flixbox            | Leisure:Streaming  | card   | subscription | 1 | month | 2027-01-18
        Joint Checking | -54.99 | Clearwave Internet | Utilities:Internet | direct | DSL 50       | 1 | month | 2027-01-22
        Cash Wallet    | -60    | Farmers Co-op Market | Food:Groceries   | cash   | weekly shop  |   |       |
    """,
    transactions="""
        2026-11-02 | Joint Checking | -1385 | Harbor Point Apartments | Housing:Rent | check | November | 2207 | r
        2026-11-03 | Visa Card | -84.12 | Greenfield Grocery | Food:Groceries | card | | | r
        2026-11-05 | Visa Card | -38.6 | Fastlane Fuel | Car:Fuel | card | | | r
        2026-11-06 | Joint Checking | 2418.77 | Tidewater Shipping Co. | Income:Salary | deposit | pay 22/26 | | r
        2026-11-07 | Cash Wallet | -24 | Farmers Co-op Market | Food:Groceries | cash | | |
        2026-11-09 | Visa Card | -27.9 | Pronto Pizza | Food:Dining Out | card | | | r
        2026-11-12 | Joint Checking | -88.41 | Northshore Power | Utilities:Electricity | direct | | | r
        2026-11-13 | Visa Card | -11.25 | Lantern Cafe | Food:Work Lunches | card | T. | | r
        2026-11-16 | Joint Checking | -62 | Mobilink | Utilities:Phone | direct | 2 lines | | r
        2026-11-18 | Visa Card | -15.49 | Flixbox | Leisure:Streaming | card | subscription | | r
        2026-11-20 | Joint Checking | 2418.77 | Tidewater Shipping Co. | Income:Salary | deposit | pay 23/26 | | r
        2026-11-20 | Joint Checking | -60 | | > Cash Wallet | | ATM | | r
        2026-11-22 | Joint Checking | -54.99 | Clearwave Internet | Utilities:Internet | direct | DSL 50 | | r
        2026-11-24 | Visa Card | -112.7 | Greenfield Grocery | Food:Groceries -96.2 + Gifts -16.5 | card | thanksgiving | | r
        2026-11-27 | Joint Checking | -250 | | > Emergency Savings | | | | r
        2026-11-28 | Visa Card | -64 | Family Music School | Children:Music Lessons | card | | | r
        2026-11-30 | Joint Checking | -362.2 | | > Visa Card | | card Nov | | r
        2026-12-01 | Joint Checking | -1385 | Harbor Point Apartments | Housing:Rent | check | december | 2208 | c
        2026-12-03 | Visa Card | -41.08 | Fastlane Fuel | Car:Fuel | card | | | c
        2026-12-04 | Joint Checking | 2418.77 | Tidewater Shipping Co. | Income:Salary | deposit | pay 24/26 | | c
        2026-12-05 | Visa Card | -93.66 | Greenfield Grocery | Food:Groceries | card | | | c
        2026-12-08 | Joint Checking | -39.9 | Peak Gym | Leisure:Sports | debit | Dec | | c
        2026-12-09 | Visa Card | -58.2 | Peak Outdoor Store | Gifts | card | mittens Grandma R. | | c
        2026-12-11 | Joint Checking | -101.37 | Northshore Power | Utilities:Electricity | direct | | | c
        2026-12-14 | Visa Card | -19.8 | Bayside Pharmacy | Health:Pharmacy | card | | | c
        2026-12-15 | Joint Checking | -187.5 | Evergreen Mutual | Insurance:Home | check | Q4 | 2209 | c
        2026-12-16 | Joint Checking | -62 | Mobilink | Utilities:Phone | direct | 2 lines | | c
        2026-12-18 | Joint Checking | 2418.77 | Tidewater Shipping Co. | Income:Salary | deposit | pay 25/26 | | c
        2026-12-18 | Visa Card | -15.49 | Flixbox | Leisure:Streaming | card | subscription | | c
        2026-12-19 | Joint Checking | 300 | Tidewater Shipping Co. | Income:Salary Bonus | deposit | year-end | | c
        2026-12-21 | Visa Card | -35.5 | Kiddo & Co. | Children:Clothing | card | | |
        2026-12-21 | Visa Card | -35.5 | Kiddo & Co. | Children:Clothing | card | (2nd pair) | |
        2026-12-22 | Joint Checking | -54.99 | Clearwave Internet | Utilities:Internet | direct | DSL 50 | |
        2026-12-23 | Visa Card | -148.31 | Greenfield Grocery | Food:Groceries | card | xmas | |
        2026-12-24 | Joint Checking | 100 | Grandma Ruth | Income:Gifts Received | deposit | for the kids | |
        2026-12-27 | Cash Wallet | -17.5 | Sunrise Bakery | | cash | ? | |
        2026-12-29 | Joint Checking | -250 | | > Emergency Savings | | | |
        2026-12-30 | Joint Checking | -447.93 | | > Visa Card | | card Dec | |
        2026-12-31 | Emergency Savings | 6.12 | Harbor Federal Credit Union | Income:Interest | | Q4 interest | |
    """,
)

BOOKS = {
    "january-ledger/inputs/brightwater.xhb": STUDIO,
    "scheduled-payments/inputs/household.xhb": HOUSEHOLD,
}


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=TASKS, help="where the tasks are (default: %(default)s)")
    folder = parser.parse_args().folder
    for name, book in BOOKS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Writer(book).text(), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
