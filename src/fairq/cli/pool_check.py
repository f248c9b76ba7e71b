"""``fairq pool check``: is all well."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import Now, duration_of
from fairq.cli.output import Column, Report, Table, View, emit
from fairq.errors.report import PoolFaultError
from fairq.quantities import shown_duration

_LONGEST = 900


def add_check(app: App) -> None:
    """Add the command to the group ``fairq pool``."""

    @app.command(
        "check",
        examples="""
            fairq pool check                   # each check, good or with its cure
            fairq pool check -q || mail ...    # the exit code tells a monitor
            fairq pool check --max-age 1h      # cycles are an hour apart
        """,
    )
    def check(
        invocation: Invocation,
        output: Report,
        max_age: Annotated[
            int | None,
            typer.Option(
                "--max-age",
                metavar="TIME",
                parser=duration_of("--max-age"),
                help=f"Longest time since the last cycle [default: {shown_duration(_LONGEST)}].",
            ),
        ] = None,
        now: Now = None,
    ) -> None:
        """Check that the pool works: settings, state, clock, last cycle, cron, lock, disk, launcher.

        The exit code is 0 if all is good, 114 if a check failed. With -q, only the failed checks are shown.
        """
        from fairq.steps.pool.check import FAULT, check_pool

        found = check_pool(invocation.state_path, lambda: invocation.settings, invocation.now(now), max_age or _LONGEST)
        failed = sum(one.status == FAULT for one in found)
        records: list[dict[str, Any]] = [
            {"check": one.name, "status": one.status, "detail": one.detail, "cure": one.cure}
            for one in found
            if one.status == FAULT or not invocation.quiet or output.format != "table"
        ]
        columns = [
            Column("CHECK", "check"),
            Column("STATUS", "status", None, "left", lambda one: "red" if one["status"] == FAULT else ""),
            Column("DETAIL", "detail"),
        ]
        if failed:
            columns.append(Column("CURE", "cure"))
        emit(
            View(tables=[Table(columns, records, key="checks")], document={"good": not failed, "failed": failed}),
            output,
        )
        if failed:
            raise PoolFaultError(failed=failed, checks=len(found))
