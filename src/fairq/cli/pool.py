"""``fairq pool``: the pool that the commands work on, its problems, and pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, Reason, duration_option, parse_end, valued
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.output.messages import tell
from fairq.cli.pool_host import add_host
from fairq.common.quantities import shown_duration
from fairq.errors.report import MailSettingError, PoolFaultError

if TYPE_CHECKING:
    from fairq.steps.pool.finding import Finding

app = App(help="Show, check, pause, create and remove pools.", default="show")


@app.report(
    "show",
    examples="""
        fairq pool            # the pool that commands use here
        fairq pool --json     # with the option or variable that names it
    """,
)
def show(context: Context) -> None:
    """Show which pool the commands use, and why.

    A pool is one state file: the one that --state names, otherwise the one that FAIRQ_STATE names, otherwise that of
    this host's pool if there is one, otherwise your own in your XDG state directory. To use your own on a host with a
    pool, run 'fairq config set pool.use private'.

    The settings of this host's pool are in the site file. Your own file and variables set only pool.use,
    submit.command_timeout and metrics.submitters. Other pools have the settings of the files that 'fairq config path'
    lists. In this host's pool, a program makes your changes: it runs as the user who owns the pool.

    The record has the members path, exists, named_by (--state, FAIRQ_STATE or null), kind (host, private or named),
    account (the user who owns this host's pool, or null) and user, the name under which your changes are recorded.
    """
    from fairq.cli.invocation import operating_system_user
    from fairq.steps.state import state_file

    invocation, output = context.obj, context.obj.output
    pool = invocation.pool
    named_by = invocation.state_named_by
    path, exists = state_file(pool.state)
    missing = "" if exists else "; the file does not exist yet, the first change creates it"
    host = pool.host
    document = {
        "path": str(path),
        "exists": exists,
        "named_by": named_by,
        "kind": "host" if host else "named" if named_by else "private",
        "account": host.account if host else None,
        "user": operating_system_user(),
    }
    emit(View(text=f"{path} ({pool.reason}{missing})", document=document), output)


_LONGEST = 900


def _mail(invocation: Invocation, findings: list[Finding]) -> bool:
    """Mail new findings; return whether a way to mail is known. An error of the settings is one of the faults."""
    from fairq.steps.pool.finding import FAULT
    from fairq.steps.pool.trouble import tell_trouble

    unreadable = any(finding.name == "settings" and finding.status == FAULT for finding in findings)
    if not unreadable and not invocation.settings["mail.command"]:
        raise MailSettingError
    problems = tell_trouble(invocation.state_path, None if unreadable else invocation.settings, findings)
    for problem in problems or ():
        # Also with -q: cron mails what is printed.
        tell(problem)
    return problems is not None


@app.report(
    "check",
    examples="""
        fairq pool check                   # each check, good or with its cure
        fairq pool check -q || mail ...    # the exit code tells a monitor
        fairq -q pool check --mail         # as cron runs it: each fault is mailed once
        fairq pool check --max-age 1h      # cycles are an hour apart
    """,
)
def check(
    context: Context,
    max_age: Annotated[
        int | None,
        duration_option("--max-age", f"Longest time since the last cycle [default: {shown_duration(_LONGEST)}]."),
    ] = None,
    mail: Annotated[
        bool,
        Option("--mail", help="Mail new faults and those that are over to mail.administrator."),
    ] = False,
    now: Now = None,
) -> None:
    """Check that the pool works: settings, state, clock, last cycle, cron, lock, disk, launcher.

    For the pool of this host, also its account, its programs and their owners, the rule of sudo, and its timer.

    The exit code is 0 if all is good, 114 if a check failed. With -q, only the failed checks are shown.

    With --mail, nothing is printed. Each fault is mailed once, and once more when it is over, by mail.command. If
    the settings cannot be read, the command and the address of the last check with --mail are used; without one,
    the faults are printed.
    """
    from fairq.host.setup.check import check_host
    from fairq.steps.pool.check import check_pool
    from fairq.steps.pool.finding import FAULT

    invocation, output = context.obj, context.obj.output
    longest = max_age or _LONGEST
    findings = check_pool(invocation.state_path, lambda: invocation.settings, invocation.now(now), longest, check_host)
    failed = sum(finding.status == FAULT for finding in findings)
    if mail and _mail(invocation, findings):
        raise SystemExit(PoolFaultError.exit_code if failed else 0)
    records: list[dict[str, Any]] = [
        {"check": finding.name, "status": finding.status, "detail": finding.detail, "cure": finding.cure}
        for finding in findings
        if finding.status == FAULT or not invocation.quiet or output.format != "table"
    ]
    columns = [
        Column("CHECK", "check"),
        Column("STATUS", "status", align="left", colour=lambda finding: "red" if finding["status"] == FAULT else ""),
        Column("DETAIL", "detail"),
    ]
    if failed:
        columns.append(Column("CURE", "cure"))
    emit(
        View(tables=[Table(columns, records, key="checks")], document={"good": not failed, "failed": failed}),
        output,
    )
    if failed:
        raise PoolFaultError(failed=failed, checks=len(findings))


@app.report(
    "pause",
    examples="""
        fairq pool pause --reason 'new network switch'    # no job starts until fairq pool resume
        fairq pool pause --until 14:00 --reason backup    # until this time at most
    """,
)
def pause(
    context: Context,
    until: Annotated[str | None, valued("--until", "End of the pause [14:00 or +2h].", "TIME")] = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Pause the pool: no job starts until fairq pool resume, or until --until.

    Running jobs continue. Cycles still collect the jobs that have ended, charge usage, and apply time limits and
    the periodic expressions of jobs. Everybody may submit; queue, status, submit and why show the pause and its
    reason. In a paused pool, the command replaces end and reason.
    """
    from fairq.steps.pool.pause import pause as step
    from fairq.steps.pool.pause import pause_document, pause_of, pause_sentence

    invocation = context.obj
    actor = invocation.actor(invocation.now(now), reason)
    end = parse_end(until, actor.time)
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        document = pause_document(current := step(invocation.state_path, actor, end, dry_run=dry_run))
    else:
        document = door.ask("pool pause", {"until": end})
        current = pause_of(document)
    text = pause_sentence(current).replace("is paused", "would be paused" if dry_run else "is paused", 1)
    emit(View(document={"action": "paused", **document, "stored": not dry_run}, text=text), context.obj.output)


@app.report("resume", examples="fairq pool resume    # jobs start again with the next cycle")
def resume(context: Context, reason: Reason = None, now: Now = None, dry_run: DryRun = False) -> None:
    """End the pause of the pool: the next cycle matches jobs again."""
    from fairq.steps.pool.pause import pause_document
    from fairq.steps.pool.pause import resume as step

    invocation = context.obj
    actor = invocation.actor(invocation.now(now), reason)
    door = None if dry_run else invocation.by_program(actor, now)
    document: dict[str, Any] | None
    if door is None:
        former = step(invocation.state_path, actor, dry_run=dry_run)
        document = None if former is None else pause_document(former)
    else:
        document = door.ask("pool resume", {})["pause"]
    if document is None:
        invocation.note("no changes: the pool is not paused")
    done = document is not None and not dry_run
    text = "" if document is None else f"the pool {'would be' if dry_run else 'is'} resumed"
    emit(View(document={"action": "resumed", "pause": document, "stored": done}, text=text), context.obj.output)


add_host(app)
