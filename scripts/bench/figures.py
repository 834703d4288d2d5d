"""Measured figures, their targets, and how they are shown."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from rich.table import Table

Unit = Literal["s", "MB", "x"]


@dataclass(frozen=True)
class Figure:
    """One line of the result: measured values, and the target that they should meet."""

    name: str
    """What was measured."""
    unit: Unit
    """The unit of all values."""
    values: tuple[float, ...]
    """The measured values, in the order of measuring."""
    target: str = ""
    """The target in words; empty where there is none."""
    met: bool | None = None
    """Whether the target is met; None where there is none."""

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        """The 95th percentile, interpolated between the nearest values."""
        ordered = sorted(self.values)
        place = 0.95 * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    @property
    def maximum(self) -> float:
        """The largest value."""
        return max(self.values)

    def to_json(self) -> dict[str, Any]:
        """Return everything about it, for a file."""
        return {
            "name": self.name,
            "unit": self.unit,
            "count": len(self.values),
            "p50": self.p50,
            "p95": self.p95,
            "max": self.maximum,
            "target": self.target,
            "met": self.met,
            "values": list(self.values),
        }


def plain(name: str, unit: Unit, values: Sequence[float]) -> Figure:
    """Return a figure without a target."""
    return Figure(name, unit, tuple(values))


def at_most(name: str, unit: Unit, values: Sequence[float], limit: float, of: Literal["p50", "max"] = "p50") -> Figure:
    """Return a figure whose median or maximum should not exceed `limit`."""
    figure = Figure(name, unit, tuple(values))
    found = figure.p50 if of == "p50" else figure.maximum
    wanted = f"≤ {limit:g} {unit}" if len(values) == 1 else f"{of} ≤ {limit:g} {unit}"
    return Figure(name, unit, figure.values, wanted, found <= limit)


def at_least(name: str, unit: Unit, values: Sequence[float], limit: float) -> Figure:
    """Return a figure whose median should not be below `limit`."""
    figure = Figure(name, unit, tuple(values))
    return Figure(name, unit, figure.values, f"≥ {limit:g} {unit}", figure.p50 >= limit)


def table(figures: Sequence[Figure]) -> Table:
    """Return the figures as a table, targets beside them."""
    result = Table(box=None, pad_edge=False)
    result.add_column("", overflow="fold")
    for heading in ("n", "p50", "p95", "max"):
        result.add_column(heading, justify="right", no_wrap=True)
    result.add_column("target", no_wrap=True)
    result.add_column("", no_wrap=True)
    for figure in figures:
        mark = {None: "", True: "[green]pass[/]", False: "[bold red]miss[/]"}[figure.met]
        numbers = [_number(value, figure.unit) for value in (figure.p50, figure.p95, figure.maximum)]
        if len(figure.values) == 1:
            numbers[1:] = ["", ""]
        result.add_row(figure.name, str(len(figure.values)), *numbers, figure.target, mark)
    return result


def _number(value: float, unit: Unit) -> str:
    return {"s": f"{value:.3f} s", "MB": f"{value:.1f} MB", "x": f"{value:.2f} x"}[unit]


@contextmanager
def timed(values: list[float]) -> Iterator[None]:
    """Append the seconds that the `with` block takes to `values`."""
    start = time.perf_counter()
    yield
    values.append(time.perf_counter() - start)
