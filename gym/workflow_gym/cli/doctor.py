"""`workflow-gym doctor`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from workflow_gym.cli.console import out
from workflow_gym.doctor import examine, missing_packages
from workflow_gym.paths import CachePaths

_MARKS = {"ok": "[green]✔[/]", "warning": "[yellow]![/]", "missing": "[red]✘[/]"}


def doctor(
    packages: Annotated[bool, typer.Option(help="Print only the Debian packages that are missing.")] = False,
) -> None:
    """Examine this host: what is there, what is missing, and why KVM is used or not."""
    if packages:
        out.print(" ".join(missing_packages()), markup=False, highlight=False)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    findings = examine(CachePaths.default())
    for finding in findings:
        remedy = f"\n[bold]→ {escape(finding.remedy)}[/]" if finding.remedy else ""
        table.add_row(_MARKS[finding.state], finding.name, escape(finding.detail) + remedy)
    out.print(table)
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(1)
