"""`workflow-gym task …`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from workflow_gym.cli.console import errors, long_work, out
from workflow_gym.errors import FormatError, InputError
from workflow_gym.providers import SharedProvider
from workflow_gym.tasks import load_task, task_ids
from workflow_gym.validation import EXPERT_TRIALS, TaskEvidence, validate_task

app = typer.Typer(help="List, show and prove tasks.", no_args_is_help=True)


@app.command("list")
def list_tasks() -> None:
    """List all tasks."""
    table = Table("task", "domain", "expert actions", "title", box=None, pad_edge=False)
    broken = []
    for task_id in task_ids():
        try:
            task = load_task(task_id)
            table.add_row(task_id, task.domain, str(len(task.expert)), task.spec.title)
        except FormatError as error:
            broken.append(str(error))
    out.print(table)
    for message in broken:
        errors.print(f"[red]broken:[/] {escape(message)}")
    if broken:
        raise typer.Exit(1)


@app.command("show")
def show(
    task: Annotated[str, typer.Argument(help="A task's id, or its folder.")],
    expert: Annotated[bool, typer.Option(help="Show the expert procedure too.")] = False,
) -> None:
    """Show what a task asks, and on what it is graded."""
    loaded = load_task(task)
    spec = loaded.spec
    out.print(
        f"[bold]{escape(spec.title)}[/]\n{loaded.id} · {loaded.domain} · {escape(spec.sub_domain)}", highlight=False
    )
    out.print(
        f"image {spec.image}, at most {spec.rounds} rounds, {len(loaded.expert)} expert actions\n", highlight=False
    )
    out.print(spec.instruction.strip(), markup=False, highlight=False)
    out.print()
    for entry in spec.collect:
        out.print(f"collected: {entry.path}", markup=False, highlight=False)
    for check in spec.checks:
        out.print(f"checked by: {check.use}", markup=False, highlight=False)
    if expert:
        out.print()
        for number, step in enumerate(loaded.expert, 1):
            action = step.action.model_dump_json(exclude_defaults=True)
            out.print(f"{number:3}  {step.caption}  {step.action.type} {action}", markup=False, highlight=False)


@app.command("validate")
def validate(
    tasks: Annotated[list[str] | None, typer.Argument(help="Task ids or folders.")] = None,
    all_tasks: Annotated[bool, typer.Option("--all", help="Prove every task.")] = False,
    trials: Annotated[int, typer.Option(min=1, help="How often the expert plays, each time in a fresh machine.")] = (
        EXPERT_TRIALS
    ),
    provider: Annotated[str, typer.Option(help="Where machines come from.")] = "qemu",
    keep_result: Annotated[
        bool, typer.Option(help="Replace each task's result/ by what the expert left behind.")
    ] = False,
    runs: Annotated[Path, typer.Option(help="Where the evidence goes.")] = Path("runs"),
) -> None:
    """Prove tasks: the expert passes, the untouched start fails, every mutant is refused."""
    names = task_ids() if all_tasks else list(tasks or ())
    if not names:
        raise InputError("name at least one task, or say --all")
    loaded = [load_task(name) for name in names]
    folder = runs / f"validate-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    share = SharedProvider(provider)
    proved = True
    try:
        for task in loaded:
            with long_work() as progress:
                stage = ""
                share.provider.progress = progress

                def on_stage(text: str) -> None:
                    nonlocal stage
                    stage = text
                    progress(stage, "")  # noqa: B023 - called only within this round of the loop.

                evidence = validate_task(
                    task,
                    share.provider,
                    folder / task.id.replace("/", "-"),
                    trials=trials,
                    keep_result=keep_result,
                    on_stage=on_stage,
                    on_round=lambda number, note: progress(stage, f"{number}: {note}"),  # noqa: B023
                )
            proved = _print_evidence(evidence) and proved
    finally:
        share.close()
    out.print(f"evidence: {folder}", highlight=False)
    if not proved:
        raise typer.Exit(1)


def _print_evidence(evidence: TaskEvidence) -> bool:
    expert = " ".join(f"{trial.outcome.value} ({trial.seconds:.0f} s)" for trial in evidence.expert)
    refused = sum(mutant.refused for mutant in evidence.mutants)
    mark = "[green]proved[/]" if evidence.proved else "[red]not proved[/]"
    out.print(f"{mark} [bold]{evidence.task}[/] ({evidence.expert_actions} expert actions)", highlight=False)
    out.print(f"  expert     {expert}", highlight=False)
    out.print(f"  untouched  {evidence.untouched.outcome.value}", highlight=False)
    out.print(f"  mutants    {refused} of {len(evidence.mutants)} refused", highlight=False)
    for problem in evidence.problems:
        out.print(f"  [red]problem[/]    {escape(problem)}", highlight=False)
    return evidence.proved
