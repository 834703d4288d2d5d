"""What the commands print with: a console for results, one for errors, and a display for long work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from workflow_gym.env import Outcome
from workflow_gym.grading import Verdict
from workflow_gym.machines.base import Progress

out = Console()
errors = Console(stderr=True)

OUTCOME_STYLES = {
    Outcome.PASSED: "bold green",
    Outcome.FAILED: "bold red",
    Outcome.GAVE_UP: "bold red",
    Outcome.OUT_OF_ROUNDS: "bold red",
    Outcome.AGENT_ERROR: "bold yellow",
    Outcome.MACHINE_ERROR: "bold yellow",
    Outcome.CHECKER_ERROR: "bold yellow",
}


@contextmanager
def long_work() -> Iterator[Progress]:
    """Show what is going on: a line that changes on a terminal, one line per stage elsewhere."""
    start = time.monotonic()
    shown = ""
    with errors.status("starting") as status:

        def show(stage: str, line: str) -> None:
            nonlocal shown
            elapsed = time.monotonic() - start
            if errors.is_terminal:
                rest = f"  [dim]{escape(line[:80])}[/]" if line else ""
                status.update(f"{escape(stage)} [dim]{elapsed:.0f} s[/]{rest}")
            elif stage != shown:
                errors.print(f"{elapsed:5.0f} s  {stage}", markup=False, highlight=False)
            shown = stage

        yield show


def verdict_table(verdict: Verdict) -> Table:
    """Return a verdict criterion by criterion."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "criterion", "expected", "found"):
        table.add_column(heading, overflow="fold")
    for criterion in verdict.criteria:
        mark = "[green]✔[/]" if criterion.met else "[red]✘[/]"
        table.add_row(mark, escape(criterion.name), escape(criterion.expected), escape(criterion.found))
    return table
