"""``fairq quotas set`` and ``remove``: accounting groups and their settings."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.config import tell_change
from fairq.cli.options import DryRun, Reason
from fairq.errors.base import UsageError


def add_edits(app: App) -> None:
    """Add the commands to the group ``fairq quotas``."""

    @app.command(
        "set",
        examples="""
            fairq quotas set physics --quota 20 --reason 'new machines'
            fairq quotas set physics.hep --share 50% --accept-surplus
            fairq quotas set physics --members ann,bob,%hep    # who may submit to it
            fairq quotas set physics --members +eve,-bob       # also eve, and bob no more
            fairq quotas set physics --members ''              # everybody
        """,
    )
    def set_(
        context: Context,
        name: Annotated[str, Argument(metavar="NAME", help="Accounting group; created if it does not exist.")],
        quota: Annotated[
            str | None, Option("--quota", metavar="WEIGHT", help="Static quota in slot weight [50%: a share].")
        ] = None,
        share: Annotated[
            str | None, Option("--share", metavar="SHARE", help="Share of the parent's quota [0.25 or 25%].")
        ] = None,
        surplus: Annotated[
            bool | None, Option("--accept-surplus/--no-surplus", help="Whether it uses what other groups leave.")
        ] = None,
        autoregroup: Annotated[
            bool | None, Option("--autoregroup/--no-autoregroup", help="Whether it also negotiates with <none>.")
        ] = None,
        factor: Annotated[
            str | None, Option("--factor", metavar="FACTOR", help="Priority factor of its new submitters.")
        ] = None,
        members: Annotated[
            str | None,
            Option(
                "--members",
                metavar="USER,...",
                help="Who may submit [%GROUP: a Unix group; +USER adds, -USER removes].",
            ),
        ] = None,
        reason: Reason = None,
        dry_run: DryRun = False,
    ) -> None:
        """Create an accounting group, or change its quota and other settings.

        The change goes to the settings file that fairq config set changes. It is in fairq state history, with its
        reason and the former values, and fairq undo takes it back. To preview it, use fairq quotas --set.
        """
        from fairq.steps.setting_edits import set_group

        if quota is not None and share is not None:
            raise UsageError(message="--quota and --share exclude each other; give only one")
        if quota is not None and quota.strip().endswith("%"):
            share, quota = quota, None
        values: dict[str, str | None] = {}
        if quota is not None:
            values |= {"quota": quota, "quota_dynamic": None}
        if share is not None:
            values |= {"quota_dynamic": share, "quota": None}
        switches = {"accept_surplus": surplus, "autoregroup": autoregroup}
        values |= {key: str(value).lower() for key, value in switches.items() if value is not None}
        values |= {key: value for key, value in (("prio_factor", factor), ("members", members)) if value is not None}
        if not values:
            raise UsageError(message="nothing to set; give --quota, --share, --members or another option")
        invocation = context.obj
        recorder = None if dry_run else invocation.recorder(reason)
        file, comments_kept = set_group(invocation.settings_files, name, values, recorder=recorder, dry_run=dry_run)
        tell_change(invocation, file, comments_kept, dry_run)

    @app.command("remove", examples="fairq quotas remove physics.hep physics --reason 'moved to the grid'")
    def remove(
        context: Context,
        names: Annotated[list[str], Argument(metavar="NAME...", help="Accounting group.")],
        reason: Reason = None,
        dry_run: DryRun = False,
    ) -> None:
        """Remove accounting groups with all their settings.

        Its submitters then have no group, or that of the parent. A group whose subgroups stay is not removed. The
        change is in fairq state history, and fairq undo takes it back.
        """
        from fairq.steps.setting_edits import remove_groups

        invocation = context.obj
        recorder = None if dry_run else invocation.recorder(reason)
        file, comments_kept = remove_groups(invocation.settings_files, names, recorder=recorder, dry_run=dry_run)
        tell_change(invocation, file, comments_kept, dry_run)
