"""``fairq pool check``: check the pool for problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import Now, duration_of
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.output.messages import tell
from fairq.common.quantities import shown_duration
from fairq.errors.report import MailSettingError, PoolFaultError

if TYPE_CHECKING:
    from fairq.steps.pool.finding import Finding

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


def add_check(app: App) -> None:
    """Add the command to the group ``fairq pool``."""

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
            Option(
                "--max-age",
                metavar="TIME",
                parser=duration_of("--max-age"),
                help=f"Longest time since the last cycle [default: {shown_duration(_LONGEST)}].",
            ),
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
        findings = check_pool(
            invocation.state_path, lambda: invocation.settings, invocation.now(now), longest, check_host
        )
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
            Column(
                "STATUS", "status", align="left", colour=lambda finding: "red" if finding["status"] == FAULT else ""
            ),
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
