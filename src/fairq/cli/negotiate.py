"""``fairq negotiate``: one negotiation cycle."""

from __future__ import annotations

from typing import Annotated

import typer

from fairq.cli.command import App
from fairq.cli.cycle_view import cycle_view
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Output, emit

app = App()

Explain = Annotated[
    bool, typer.Option("--explain", help="Count for every rejected request the slots lost to each test.")
]


@app.command(
    examples="""
    fairq negotiate                       # one cycle, as cron runs it
    fairq negotiate --dry-run             # only show what it would decide
    fairq negotiate --explain --dry-run   # and which tests the rejected requests fail
    fairq negotiate --json | jq .matches  # for scripts
"""
)
def negotiate(
    invocation: Invocation, output: Output, now: Now = None, dry_run: DryRun = False, explain: Explain = False
) -> None:
    """Run one negotiation cycle: match idle jobs with slots.

    Usage up to now is charged and priorities decay; then the pool's slots are dealt out among the submitters
    in inverse ratio of their effective priorities, spin after spin, until nothing moves. Each submitter's
    jobs are matched in their order with the best slots that suit. The cycle is stored in one transaction.

    Where accounting groups are configured, each negotiates in its turn with its own submitters, over no more
    than the quota and surplus allocated to it, in up to group_quota_max_allocation_rounds rounds. A first table
    shows the groups in the order negotiated: what they ask for, their quota, what was allocated and how much of
    that is surplus, how far they might go in their last turn, and their use before and after.

    The next table shows what each submitter was entitled to (its limit, in slot weight), what it got, and
    why it got no more; the last one the matches in the order made. Concurrency limits that are in use or were
    asked for have a table between them. A cycle without anything to match prints nothing. When another cycle
    works on the same state, this one does nothing and exits with 75.

    The JSON document has the members cycle, time, rules, pie (weight of all slots), slots, candidates,
    min_slot_weight, spins, rounds, submitters, groups, quotas, limits, time_budgets_used_up, overruns, rejections
    and matches. A match's job is the job that runs; under the rules htcondor it is the first job of its request, as
    the negotiator logs it, and assigned is the job that runs. The dynamic_slot of a match is what was carved for
    it out of a partitionable slot. The list groups has every turn of every group in
    order, with its limit or why it was skipped; quotas has every group once. The quota_group of a rejection is the
    group whose quota stood in the way. The list limits has every concurrency limit in use or asked for.

    With --explain the tables say how many requests of each submitter and group were refused, and one more shows
    every rejected request and how many slots it lost to each test; a slot
    counts at the first test that it fails: the job's Requirements, the slot's Requirements, draining, kept out of
    the cycle, taken earlier in this cycle, claimed by the submitter itself, claimed by others and not to be had,
    ranking the job it runs higher, PREEMPTION_REQUIREMENTS, a holder whose priority is not worse enough, a
    concurrency limit, and at last the limits of the submitter. In JSON this is the member explanation, a list of
    rejections each with its lost slots. 'fairq why' explains one job whole.

    An expression that takes longer than evaluation_budget allows is ended and counts as ERROR for the slots that
    are left; the cycle goes on. A table at the end, in JSON the member overruns, names each with the job it was
    evaluated for (the first of its kind), the attribute or setting, the CPU seconds, and for how many slots it
    counted as ERROR.

    What was decided is stored, with --explain these counts too: 'fairq state cycles' lists the cycles and
    'fairq state cycle' shows one again.
    """
    from fairq.steps.cycle.document import match_document
    from fairq.steps.cycle.negotiate import negotiate as step

    time = invocation.now(now)
    cycle = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run, explain=explain)
    for lease in cycle.expired:
        invocation.detail(f"the {lease.what.value} lease of {lease.record.name} has ended")
    for problem in cycle.decision.problems:
        invocation.detail(str(problem))
    matches = [match_document(cycle, match) for match in cycle.decision.matches]
    emit(cycle_view(cycle.document, matches, dry_run=dry_run), output)
