"""The process that checks run in: reads a `GradingJob` from standard input, prints a verdict or an error as JSON.

What checkers print, which may be text that the agent wrote, goes to standard error instead.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from workflow_gym.errors import CheckerError
from workflow_gym.grading import GradingJob, run_checks

_MEMORY_BYTES = 4 << 30


def main() -> None:
    """Grade one job."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    job = GradingJob.model_validate_json(sys.stdin.read())
    sys.path[:] = dict.fromkeys((*sys.path, *job.import_path))
    try:
        answer: dict[str, object] = {"verdict": run_checks(job.checks, job.evidence).model_dump(mode="json")}
    except CheckerError as error:
        answer = {"error": str(error)}
    answers.write(json.dumps(answer))
    answers.close()


if __name__ == "__main__":
    main()
