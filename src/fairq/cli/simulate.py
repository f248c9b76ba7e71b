"""``fairq simulate``: simulate a trace of jobs under one or more policies."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.options import duration_option, valued
from fairq.cli.output import emit
from fairq.errors.base import UsageError

app = App()


@app.listing(
    examples="""
        fairq simulate lcg.swf.gz --slots 1000                            # the settings in use
        fairq simulate lcg.swf.gz --slots 1000 --policy fifo --policy current   # against first come, first served
        fairq simulate jobs.csv --slots 10x64c256g --policy now=site.toml --policy new=draft.toml
        fairq simulate --history --policy current --policy new=draft.toml    # this pool's own past
        fairq simulate lcg.swf.gz --slots 2000 --from 1d --until 8d --json
        fairq simulate jobs.csv --slots 40x16c64g --reserve teach=10@1d9h..1d12h
    """
)
def simulate(
    context: Context,
    trace: Annotated[
        str | None, Argument(metavar="[TRACE]", help="Log of jobs: SWF, CSV, TSV or sacct; - is stdin.")
    ] = None,
    history: Annotated[bool, Option("--history", help="Use the jobs of this state that have ended.")] = False,
    policy: Annotated[
        list[str] | None,
        valued("--policy", "Settings to simulate; fifo and current need no FILE.", "NAME=FILE"),
    ] = None,
    slots: Annotated[
        str | None,
        valued("--slots", "Pool: 1000 slots of one core, or machines such as 10x64c256g [MaxProcs].", "SIZE"),
    ] = None,
    every: Annotated[
        int,
        duration_option("--every", "Time between cycles; 0 is a cycle per event."),
    ] = "300",  # type: ignore[assignment]
    factor: Annotated[
        list[str] | None, valued("--factor", "Priority factor of a user; repeatable.", "NAME=VALUE")
    ] = None,
    first: Annotated[str | None, valued("--from", "First submission used [such as 1d].", "TIME")] = None,
    until: Annotated[str | None, valued("--until", "End of the submissions used [such as 8d].", "TIME")] = None,
    window: Annotated[
        int,
        duration_option("--window", "Length of the windows of shares."),
    ] = "1d",  # type: ignore[assignment]
    shake: Annotated[
        int | None,
        duration_option("--shake", "Move each user at random by up to TIME."),
    ] = None,
    seed: Annotated[int, valued("--seed", "Random seed of --shake.", "N")] = 1,
    reserve: Annotated[
        list[str] | None,
        valued("--reserve", "Reserve N slots, or all, for users, groups or nobody.", "WHO=N@FROM..UNTIL"),
    ] = None,
    users: Annotated[int, valued("--users", "Number of users and groups to list.", "N", min=0)] = 10,
) -> None:
    """Simulate a trace of jobs under one or more policies, and compare them.

    TRACE is a log in the Standard Workload Format, or CSV or TSV with the columns submit and run (seconds, or ISO times
    for submit) and optionally user, group, cpus, memory, gpus, limit, priority and status, or what sacct -X -P prints
    (docs/slurm-site.md). It may be compressed by gzip. The times of submission are all
    dates (ISO or seconds since 1970), or all seconds from the start of the trace. The jobs arrive as in the trace. Each
    --every seconds, the simulation runs the cycle of fairq negotiate. Jobs run as long as in the trace: declared limits
    are not enforced, and preceding jobs are not waited for. Nothing is stored.

    With --history, the jobs are those of the state that have ended, each as long as its last run. The slots are those
    of the state, unless --slots is given.

    A policy is a settings file, or an HTCondor configuration. current is the settings in use. fifo is the same with all
    jobs charged to one submitter: first come, first served. Equal factors are not fifo, but fair share by user. If
    the settings have accounting groups, a job counts for the group that the trace names, such as g4 for group 4 of an
    SWF log; otherwise its user alone counts. Without --policy, current is simulated.

    The first table has a column for each policy, and its difference to the first one. A wait is from submission to
    the start of the run that completes, of the jobs that ended. The table has the mean, the median and the 95 %
    quantile over all jobs, and over the mean waits of users and groups: the mean over jobs alone hides who waits.
    The bounded slowdown counts runs below 10 seconds as 10 seconds. Utilisation is up to the last submission.
    Entitled is the long-run part that factors and quotas give each user with waiting jobs, at most the part that
    the user asks for. Jain's index is over delivered by entitled: 1 means that all users got the same part. The
    deficit is the part to which users were entitled and that they did not get. Lost work is the work of preempted
    runs, which start again.

    More tables show the users and groups with most work, and the windows of --window. --json has all figures, of each
    user in each window as well. The same trace and options always give the same figures; --shake moves the
    jobs of each user together, at random from --seed, to see how much depends on chance.

    Without --slots, an SWF log names the size of the pool (MaxProcs): slots of one core, or one machine with all cores
    if a job asks for several. Such a log does not say how many cores a machine has.

    --reserve, which may be repeated, takes slots as slots reserve does: --reserve teach=10@1d9h..1d12h reserves ten
    slots for the group or user teach, and --reserve nobody=all@9d..9d8h is a maintenance. WHO may be several names with
    commas. Jobs of others start before it begins only if their limits end them by then.

    A cycle in which nothing can change is not held: no job waits, or no slot is free and no job may be preempted.
    """
    from fairq.cli import simulate_views as views
    from fairq.cli.output.progress_line import progress
    from fairq.steps.simulate.command import Options, prepare
    from fairq.steps.simulate.figures import document
    from fairq.steps.simulate.replay import replay

    invocation, output = context.obj, context.obj.output
    options = Options(slots, every, window, first, until, shake, seed, factor or (), reserve or ())
    if (trace is None) is not history:
        raise UsageError(message="what to simulate is not clear; name a trace, or give --history")
    past = invocation.existing_state if trace is None else None
    plan = prepare(trace or past or "", policy or [], options, invocation.settings, invocation.environment)
    for reason, count in sorted(plan.trace.skipped.items()):
        invocation.note(f"skipped {count} of the trace: {reason}")
    for warning in plan.warnings:
        invocation.note(warning)
    replays = []
    with progress("simulating", len(plan.trace.jobs) * len(plan.policies), invocation.quiet) as advance:
        for replayed in plan.policies:
            replays.append(replay(plan.trace, replayed, plan.slots, every, window, advance, plan.reservations))
    emit(views.simulation_view(document(plan.trace, replays, every, window), users), output)
