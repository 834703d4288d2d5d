"""`workflow-gym self-check`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from workflow_gym.cli.console import long_work, out
from workflow_gym.machines.contract import CHECKS, ContractViolation
from workflow_gym.providers import SharedProvider
from workflow_gym.self_check import IMAGE, run_self_check


def self_check(
    provider: Annotated[str, typer.Argument(help="The provider to check: qemu, or module:Name.")],
    contract: Annotated[bool, typer.Option(help="Run the provider contract too.")] = True,
) -> None:
    """Check that a provider keeps its contract, and that what is done in its machines arrives unchanged.

    The status is 1 when anything did not.
    """
    share = SharedProvider(provider)
    failed = 0
    try:
        with long_work() as progress:
            share.provider.progress = progress
            template = share.provider.image_template(IMAGE)
            for check in CHECKS if contract else ():
                name = f"contract: {check.__name__.replace('_', ' ')}"
                progress(name, "")
                try:
                    check(share.provider, template)
                except ContractViolation as violation:
                    failed += _print(name, False, str(violation))
                else:
                    failed += _print(name, True, "")
            progress("input", "")
            for result in run_self_check(share.provider):
                failed += _print(result.name, result.passed, result.detail)
    finally:
        share.close()
    out.print("[green]all passed[/]" if not failed else f"[red]{failed} failed[/]")
    if failed:
        raise typer.Exit(1)


def _print(name: str, passed: bool, detail: str) -> bool:
    mark = "[green]✔[/]" if passed else "[red]✘[/]"
    out.print(f"{mark} {escape(name)}  [dim]{escape(detail)}[/]", highlight=False)
    return not passed
