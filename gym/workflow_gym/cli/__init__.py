"""The command line: `workflow-gym`."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import typer

from workflow_gym.cli import doctor, image, run, self_check, task
from workflow_gym.cli.console import errors
from workflow_gym.errors import WorkflowGymError

app = typer.Typer(
    name="workflow-gym",
    help="Long professional jobs in real desktop applications, as Gymnasium environments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(image.app, name="image")
app.add_typer(task.app, name="task")
app.command("run")(run.run)
app.command("report")(run.report)
app.command("video")(run.video)
app.command("doctor")(doctor.doctor)
app.command("self-check")(self_check.self_check)


def main() -> None:
    """Run the command line. Errors of ours are printed as one message; Ctrl-C ends with status 130."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except WorkflowGymError as error:
        errors.print(f"[bold red]error:[/] {type(error).__name__}: ", end="")
        errors.print(str(error), markup=False, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("interrupted", style="yellow")
        sys.exit(130)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Let `finally` blocks run when we are asked to end."""
    sys.exit(128 + number)
