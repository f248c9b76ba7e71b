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
    bool, typer.Option("--explain", help="Count slots lost to each test per request.")
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

    The cycle charges usage up to now and lets priorities decay. Then it divides the slots of the pool among the
    submitters, in inverse proportion to their effective priorities, in spins until no more jobs match. Each
    submitter's jobs get the best matching slots, in the order of the jobs. The cycle is stored in one transaction.

    If accounting groups are configured, each group negotiates for its own submitters. It may use the quota and surplus
    allocated to it, in up to group_quota_max_allocation_rounds rounds. The first table shows the groups in their order:
    requests, quota, allocation, the surplus in it, the limit of their last turn, and their use before and after.

    The next table shows the limit of each submitter in slot weight, its matches, and why it got no more. Then follow
    the concurrency limits in use or requested, and the matches in their order. An idle cycle prints nothing. If another
    cycle is running on the same state, the command exits with 75.

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
    from fairq.words.groups import problem_words

    time = invocation.now(now)
    cycle = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run, explain=explain)
    for lease in cycle.expired:
        invocation.detail(f"the {lease.what.value} lease of {lease.record.name} has ended")
    for problem in cycle.decision.problems:
        invocation.detail(f"group {problem.group}: {problem_words(problem)}")
    matches = [match_document(cycle, match) for match in cycle.decision.matches]
    emit(cycle_view(cycle.document, matches, dry_run=dry_run), output)
