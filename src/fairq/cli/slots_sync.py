"""``fairq slots sync``: the nodes of Slurm or HTCondor as slots of the pool."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import asdict
from typer import Argument, Option

from fairq.cli.command import Context
from fairq.cli.figures import counted
from fairq.cli.options import DryRun, Now, Reason
from fairq.cli.output import View, emit

EXAMPLES = """
    fairq slots sync slurm                      # every node of the cluster
    fairq slots sync slurm --partition batch    # the nodes of one partition; jobs go to it
    fairq slots sync slurm --dry-run            # show what would change
    fairq slots sync htcondor                   # the slots of the collector
"""

_SAID = {
    "added": "added",
    "changed": "updated",
    "drained": "drained, because the engine gives it no jobs",
    "released": "takes jobs again",
    "removed": "removed",
    "leaving": "gone from the engine; drained until its jobs end",
}


def sync(
    context: Context,
    engine: Annotated[str, Argument(metavar="ENGINE", help="The engine: slurm or htcondor.")],
    partition: Annotated[
        str | None, Option("--partition", metavar="NAME", help="Only the nodes of this partition of Slurm.")
    ] = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Make the nodes of Slurm or HTCondor slots of the pool, and keep them current.

    Each node becomes a partitionable slot with its cores, memory, GPUs and features; ENGINE starts the jobs of these
    slots. A node that is down or drained there is drained here, and takes jobs again when it is back. The slot of a
    node that is gone is removed, or drained until its jobs end. Other slots of the pool stay as they are. Run the
    command again whenever the engine has changed, for example from cron.
    """
    from fairq.steps.pool.sync import synchronise

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now), reason)
    result = synchronise(
        invocation.state_path, invocation.settings, engine, actor, partition=partition, dry_run=dry_run
    )
    changes = asdict(result)
    lines = [f"slot {name}: {_SAID[kind]}" for kind, names in changes.items() for name in names]
    document = {"action": "synchronised", "engine": engine, **changes, "stored": not dry_run}
    emit(View(document=document, text="\n".join(lines)), output)
    if not lines:
        invocation.note(f"no changes: the slots are the nodes of {engine}")
    elif dry_run:
        invocation.note(f"{counted(len(lines), 'slot')} would change; nothing was stored")
