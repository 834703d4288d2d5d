"""`workflow-gym run` and `workflow-gym report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from workflow_gym.agent import make_agent
from workflow_gym.cli.console import OUTCOME_STYLES, errors, long_work, out, verdict_table
from workflow_gym.env import Outcome
from workflow_gym.episode import TrialPlan, run_trial
from workflow_gym.paths import TrialPaths
from workflow_gym.providers import SharedProvider
from workflow_gym.record import Trial, read_trial
from workflow_gym.report.page import write_report
from workflow_gym.tasks import load_task
from workflow_gym.video import write_trial_video


def run(
    task: Annotated[str, typer.Argument(help="A task's id (`workflow-gym task list`), or its folder.")],
    agent: Annotated[str, typer.Option(help="expert, noop, random, or your own as module:Name.")] = "expert",
    provider: Annotated[str, typer.Option(help="Where the machine comes from: qemu or fake.")] = "qemu",
    seed: Annotated[int | None, typer.Option(help="The seed of the episode.")] = None,
    realtime: Annotated[bool, typer.Option(help="Let the machine run while the agent thinks.")] = False,
    runs: Annotated[Path, typer.Option(help="Where the record goes.")] = Path("runs"),
) -> None:
    """Let an agent play one task, grade it, and leave a record with a report.

    The status is 0 when the task was passed, 1 when it was not, 3 when a machine, a checker or the agent broke.
    """
    plan_task = load_task(task)
    player = make_agent(agent)
    share = SharedProvider(provider)
    with long_work() as progress:
        progress(f"preparing {plan_task.id}", "")
        share.provider.progress = progress
        try:
            plan = TrialPlan(plan_task, player, agent, share.provider, seed, realtime)
            total = len(plan_task.expert) + 1 if agent == "expert" else plan_task.spec.rounds

            def on_round(number: int, note: str) -> None:
                progress(f"{plan_task.id}: round {number} of {total}", note)

            paths = run_trial(plan, runs, on_round if errors.is_terminal else lambda number, note: None)
        finally:
            share.close()
        progress("writing the report", "")
        write_report(paths)
    trial = read_trial(paths)
    _print_result(trial, paths)
    assert trial.result is not None
    if not trial.result.outcome.scored:
        raise typer.Exit(3)
    if trial.result.outcome is not Outcome.PASSED:
        raise typer.Exit(1)


def report(
    trial: Annotated[Path, typer.Argument(help="The folder of a trial, finished or cut off.")],
) -> None:
    """Write the report of a trial anew."""
    out.print(str(write_report(TrialPaths(trial))), highlight=False)


def video(
    trial: Annotated[Path, typer.Argument(help="The folder of a trial, finished or cut off.")],
) -> None:
    """Make an MP4 of a trial (needs the extra `video`)."""
    out.print(str(write_trial_video(TrialPaths(trial))), highlight=False, soft_wrap=True)


def _print_result(trial: Trial, paths: TrialPaths) -> None:
    result = trial.result
    assert result is not None
    if result.verdict is not None:
        out.print(verdict_table(result.verdict))
    style = OUTCOME_STYLES[result.outcome]
    out.print(f"[{style}]{result.outcome.value}[/] {trial.record.task}", highlight=False)
    if result.error:
        out.print(escape(result.error), highlight=False)
    out.print(f"{result.rounds} rounds, {result.actions} actions, {result.seconds:.1f} s", highlight=False)
    out.print(f"report: {paths.report}", highlight=False, soft_wrap=True)
