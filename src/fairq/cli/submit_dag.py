"""``fairq submit FILE.dag``: the nodes of a DAG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.cli.figures import counted
from fairq.cli.output import View
from fairq.cli.submission import text_of
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.common.records import Actor
    from fairq.steps.jobs.submit import Context

SUFFIX = ".dag"


def submit_dag(
    invocation: Invocation,
    file: str,
    option: str | None,
    name: str | None,
    context: Context,
    actor: Actor,
    now: int | None,
    dry_run: bool,
    defaults: dict[str, str],
) -> View:
    """Queue the nodes of the DAG in *file* as a batch with this *name*; return the view.

    *defaults* are commands for descriptions that do not give them. An *option* for other jobs is refused.
    """
    if option is not None:
        raise UsageError(message=f"{option} is not for a DAG; set it in the descriptions of its nodes")
    from fairq.common.hardware import host_name
    from fairq.formats.dag import read_dag
    from fairq.steps.jobs.dag import SubmittedDag, check_nodes, made_nodes, next_cluster, queue_dag
    from fairq.steps.jobs.submit import time_macros

    dag = read_dag(text_of(file), file)
    path, settings = invocation.state_path, invocation.settings
    first = next_cluster(path)
    timeout = settings["submit.command_timeout"]
    nodes = list(made_nodes(dag, first, context, name or Path(file).name, time_macros(actor.time), timeout, defaults))
    all_nodes = check_nodes(nodes, settings)
    door = None if dry_run else invocation.by_program(actor, now)
    if dry_run or not nodes:
        queued = SubmittedDag(range(first, first + len(nodes)), sum(len(node.made) for node in nodes))
    elif door is None:
        queued = queue_dag(path, settings, nodes, first, context.owner, actor, host=host_name())
    else:
        from fairq.host.client.changes import submit_dag as ask

        queued = ask(door, nodes, first)
    without_effect = [*dag.without_effect, *all_nodes.without_effect]
    if without_effect:
        invocation.note(f"without effect here: {', '.join(without_effect)}")
    for warning in dict.fromkeys([*all_nodes.warnings, *queued.warnings]):
        invocation.note(f"WARNING: {warning.removeprefix('WARNING: ')}")
    if not nodes:
        return View(document={"nodes": 0, "jobs": 0}, text="All nodes are done; nothing was submitted.")
    last = queued.clusters[-1]
    document = {
        "nodes": len(nodes),
        "jobs": queued.jobs,
        "first_cluster_id": queued.clusters[0],
        "last_cluster_id": last,
    }
    would = "would be " if dry_run else ""
    where = f"cluster {last}" if len(nodes) == 1 else f"clusters {queued.clusters[0]}-{last}"
    text = f"{queued.jobs} job(s) of {counted(len(nodes), 'node')} {would}submitted to {where}."
    return View(document=document, text=text)
