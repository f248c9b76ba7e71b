"""``fairq wait``: wait until jobs have ended."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.options import duration_option
from fairq.cli.tools import WAIT
from fairq.common.quantities import shown_duration
from fairq.errors.launch import JobHeldError, JobRemovedError, WaitTimeoutError

app = App()


@app.command(
    dialect=WAIT,
    examples="""
        fairq wait 7.3 && ./next-step.sh     # the exit code is that of the job
        id=$(fairq submit --af cluster_id -- ./run.sh); fairq wait $id
        fairq wait sweep 8 --timeout 2h      # a batch and a cluster, at most two hours
        fairq wait 7 --any                   # until the first job of a cluster has ended
    """,
)
def wait(
    context: Context,
    jobs: Annotated[
        list[str], Argument(metavar="JOB...", help="Job (7.0), jobs (7.0-99), cluster (7), batch or owner.")
    ],
    timeout: Annotated[
        int | None,
        duration_option("--timeout", "Wait at most this long [seconds or 2h]."),
    ] = None,
    any_: Annotated[bool, Option("--any", help="Wait only until the first job ends.")] = False,
) -> None:
    """Wait until jobs have ended.

    The exit code is that of the job, or 128 plus the number of the signal that ended it. For several jobs, it is 0 if
    all of them ended with 0, otherwise the first code that is not 0. It is 91 if a job is held, 92 if a job was
    removed, and 93 after --timeout.

    The command collects jobs that have ended, but starts none: fairq run or fairq negotiate must run meanwhile.
    """
    from fairq.steps.jobs.selection import parse_targets
    from fairq.steps.launch.wait import wait_for

    invocation = context.obj
    verdicts = wait_for(
        invocation.existing_state,
        invocation.settings,
        parse_targets(jobs),
        lambda: invocation.actor(invocation.now()),
        timeout=timeout,
        any_of_them=any_,
    )
    ended = [verdict for verdict in verdicts if verdict.how != "pending"]
    if not ended or (len(ended) < len(verdicts) and not any_):
        pending = [verdict.job for verdict in verdicts if verdict.how == "pending"]
        subject = (
            f"job {pending[0]} has" if len(pending) == 1 else f"{len(pending)} jobs, {pending[0]} among them, have"
        )
        raise WaitTimeoutError(time=shown_duration(timeout or 0), jobs=f"{subject} not ended")
    for verdict in ended:
        if verdict.how == "held":
            raise JobHeldError(job=verdict.job, reason=verdict.reason or "no reason is given")
        if verdict.how == "removed":
            raise JobRemovedError(job=verdict.job)
    code = next((verdict.code for verdict in ended if verdict.code), 0)
    if code:
        raise SystemExit(code)
