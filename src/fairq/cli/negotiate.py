"""``fairq negotiate``: one negotiation cycle."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, valued
from fairq.cli.output import Output
from fairq.cli.output.activity import doing
from fairq.cli.whatif import Ceiling, Factor, Floor, Limit, Set, With, Without, alteration_of
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.cycle.document import Cycle
    from fairq.steps.simulate.alteration import Alteration

app = App()

Explain = Annotated[bool, Option("--explain", help="Count slots lost to each test per request.")]
NoLaunch = Annotated[bool, Option("--no-launch", help="Start no jobs; the next cycle starts them.")]
CollectOnly = Annotated[bool, Option("--collect-only", help="Only collect the jobs that have ended.")]


@app.listing(
    examples="""
    fairq negotiate                       # one cycle, as cron runs it
    fairq negotiate --dry-run             # only show what it would decide
    fairq negotiate --explain --dry-run   # also show which tests rejected requests fail
    fairq negotiate --json | jq .matches  # for scripts
    fairq negotiate --dry-run --factor alice=250 --slots +10x64c256g   # what would change
"""
)
def negotiate(
    context: Context,
    now: Now = None,
    dry_run: DryRun = False,
    explain: Explain = False,
    no_launch: NoLaunch = False,
    collect_only: CollectOnly = False,
    other: With = None,
    sets: Set = None,
    factor: Factor = None,
    ceiling: Ceiling = None,
    floor: Floor = None,
    limit: Limit = None,
    slots: Annotated[str | None, valued("--slots", "Try more slots, such as +100 or +10x64c256g.", "+SIZE")] = None,
    without: Without = None,
) -> None:
    """Run one negotiation cycle: match idle jobs with slots, and start them.

    If slots have a launcher (setting launch.kind, or the attribute Launch of a slot), the command takes three steps. It
    collects the jobs that have ended: it frees their slots and charges their usage. It runs the cycle. It starts the
    matched jobs, which continue to run after the command has ended. Without a launcher, matches are only recorded.

    The cycle charges usage up to now and lets priorities decay. Then it divides the slots of the pool among the
    submitters, in inverse proportion to their effective priorities, in spins until no more jobs match. Each
    submitter's jobs get the best matching slots, in the order of the jobs. The cycle is stored in one transaction.

    If accounting groups are configured, each group negotiates for its own submitters. It may use the quota and surplus
    allocated to it, in up to group_quota_max_allocation_rounds rounds. The first table shows the groups in the order
    in which they negotiate: requests, quota, allocation, the surplus in it, the limit of their last turn, and their use
    before and after.

    The next table shows the limit of each submitter in slot weight, its matches, and why it got no more. Then follow
    the concurrency limits in use or requested, and the matches in their order. In a pipe, an idle cycle prints nothing.
    If another cycle is running on the same state, the command exits with 75.

    Without --explain, the reason of a rejection is one line. With --explain, the tables also show how many requests of
    each submitter and group were rejected, and how many slots each rejected request lost to each test. A slot counts
    for the first test that it fails, in this order: Requirements of the job, Requirements of the slot, draining,
    excluded from the cycle, taken earlier in the cycle, already used by the submitter, used by others and not
    preemptable, RANK of the slot, PREEMPTION_REQUIREMENTS, priority of the preempted user, concurrency limit, and
    limits of the submitter. 'fairq why' explains one job in full.

    While the pool is paused (fairq pool pause), the command collects the jobs that have ended and matches nothing. It
    prints one line and exits with 0.

    If an expression takes longer than evaluation_budget, it counts as ERROR for the remaining slots, and the cycle
    continues. A table names the expression, the job or setting that it belongs to, its CPU time and the number of
    slots.

    With --dry-run, the options --with, --set, --factor, --ceiling, --floor, --limit, --slots and --without try out
    a change. The tables compare the next cycle with and without the change. They also compare the use of each
    submitter in the long run, if all keep as many jobs as now. The next cycle alone can mislead: a factor four
    times as large gives a fourth of the slices at first, but half of the use in the long run. Nothing is stored.

    The decisions are stored; with --explain, the counts are stored as well. 'fairq state cycles' lists past cycles,
    'fairq state cycle' shows one again.

    In the JSON document, the job of a match is the job that runs. Under the rules htcondor, it is the first job of its
    request, as in the log of HTCondor's negotiator, and assigned is the job that runs. dynamic_slot is the slot that
    was carved from a partitionable slot. docs/json.md describes all members.
    """
    from fairq.steps.cycle.negotiate import negotiate as decide
    from fairq.steps.launch.turn import Turn, turn

    invocation, output = context.obj, context.obj.output
    if collect_only and (no_launch or dry_run or explain):
        raise UsageError(message="--collect-only runs no cycle; leave out the other options")
    tried = (other, sets, factor, slots, without, ceiling, floor, limit)
    if any(tried):
        if not dry_run:
            raise UsageError(
                message="--with, --set, --factor, --ceiling, --floor, --limit, --slots and --without try out a change; "
                "add --dry-run"
            )
        if explain or no_launch or collect_only:
            raise UsageError(message="a change is tried out on a whole cycle; leave out the other options")
        _try_out(invocation, output, alteration_of(*tried), invocation.now(now))
        return
    time = invocation.now(now)
    # First of all: an error of the settings counts as a failed cycle, whoever runs it.
    settings = invocation.settings if dry_run else invocation.settings_of_cycle(time)
    actor = invocation.actor(time)
    if dry_run:
        invocation.note_pause(time)
        dry = decide(invocation.state_path, settings, actor, dry_run=True, explain=explain, doing=doing)
        result = Turn(dry)
    else:
        launch = not (no_launch or collect_only)
        result = turn(
            invocation.state_path,
            settings,
            actor,
            match=not collect_only,
            launch=launch,
            explain=explain,
            doing=doing,
        )
    for text in result.notes:
        invocation.note(text)
    cycle = result.cycle
    if cycle is None:
        if result.pause is not None and not result.ended and output.format == "table":
            return
        from fairq.cli.cycle_view import runs_view
        from fairq.cli.output import emit

        emit(runs_view(result), output)
        return
    _print_notes(invocation, cycle)
    if not dry_run and output.quiet and output.format == "table":
        return  # `emit` would show nothing; a hundred thousand matches take a tenth of the cycle to put into words
    from fairq.cli.cycle_view import cycle_view, with_runs
    from fairq.cli.output import emit
    from fairq.steps.cycle.document import match_documents

    view = cycle_view(cycle.document, match_documents(cycle), dry_run=dry_run)
    emit(with_runs(view, result) if result.launching else view, output)
    is_idle = not any(submitter["idle"] for submitter in cycle.document["submitters"])
    if is_idle and not (result.started or result.ended) and sys.stdout.isatty() and output.format == "table":
        invocation.note("nothing to match: no jobs are idle")


def _print_notes(invocation: Invocation, cycle: Cycle) -> None:
    for note in cycle.notes:
        invocation.note(note)
    for lease in cycle.expired:
        invocation.detail(f"the {lease.what.value} lease of {lease.record.name} has ended")
    if cycle.decision.problems:
        from fairq.steps.quotas.sentences import problem_words

        for problem in cycle.decision.problems:
            invocation.detail(f"group {problem.group}: {problem_words(problem)}")


def _try_out(invocation: Invocation, output: Output, alteration: Alteration, now: int) -> None:
    from fairq.cli import whatif
    from fairq.cli.output import View, emit
    from fairq.steps.simulate.whatif import what_if

    result = what_if(invocation.state_path, invocation.settings, invocation.settings_files, alteration, now)
    lines = whatif.summary(result)
    title = f"Cycle {result.cycle} now, and with {result.words}; weights in the long run"
    tables = [whatif.submitters_table(result, title=title)]
    if result.now.allocated or result.then.allocated:
        tables.insert(0, whatif.groups_table(result))
    document = {
        "cycle": result.cycle,
        "with": result.words,
        "pie_now": result.now.pie,
        "pie_then": result.then.pie,
        "contended": result.contended,
        "summary": lines,
    }
    emit(
        View(tables=tables, document=document, text="".join(f"{line}.\n" for line in lines), main=len(tables) - 1),
        output,
    )
