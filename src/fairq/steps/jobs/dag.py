"""Queue the nodes of a DAG: a cluster each, all of them in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.common.records import Actor
from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.dag import Dag, Node
from fairq.formats.submitfile import Context, Description, External, Submission, submission
from fairq.state import history, jobs, undo
from fairq.state.connection import writing
from fairq.steps.jobs.submit import change_of, check, domain_of, next_cluster, put
from fairq.steps.launch import events
from fairq.steps.launch.launchers import is_launching

if TYPE_CHECKING:
    from fairq.settings import Settings


_MACROS = ("JOB", "RETRY")
"""DAGMan's macros in the descriptions of nodes."""


class MadeNode(Struct):
    """A node with its jobs; *parents* are places of nodes before it. *remade* makes the jobs for another cluster."""

    made: Submission
    parents: list[int]
    remade: Callable[[int], Submission] | None = None


class SubmittedDag(Struct):
    """The *clusters* of the nodes, in order, and how many *jobs* they have."""

    clusters: list[int]
    jobs: int
    warnings: list[str] = field(default_factory=list)


def made_nodes(
    dag: Dag, first: int, context: Context, name: str, macros: dict[str, str], timeout: int
) -> Iterator[MadeNode]:
    """Yield the nodes with their jobs, as clusters from *first* on; *name* is that of the batch.

    Raises the errors of `submission`.
    """
    places = {node.name: place for place, node in enumerate(dag.nodes)}
    texts: dict[str, str] = {}
    for place, node in enumerate(dag.nodes):
        make = _maker(node, context, name, macros, timeout, texts)
        yield MadeNode(make(first + place), [places[parent] for parent in node.parents], make)


def _maker(
    node: Node, context: Context, name: str, macros: dict[str, str], timeout: int, texts: dict[str, str]
) -> Callable[[int], Submission]:
    directory = context.directory / (node.directory or "")
    path = str(directory / node.file)
    if path not in texts:
        try:
            texts[path] = Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise SubmitDescriptionError(where=f"node {node.name}: {node.file}", problem=str(reason)) from None
    lines = [f"dag_node_name = {node.name}", f"batch_name = {name}"]
    lines += [f"max_retries = {node.retries}"] if node.retries is not None else []
    lines += [f"priority = {node.priority}"] if node.priority is not None else []
    given = {**macros, **dict(zip(_MACROS, (node.name, "0"), strict=True)), **node.variables}

    def make(cluster: int) -> Submission:
        source = Description(texts[path], node.file, External(timeout), given, appended=lines)
        made = submission(source, cluster, replace(context, directory=directory))
        # They are macros of the node here, not the commands of these names.
        made.without_effect = [one for one in made.without_effect if one not in _MACROS]
        return made

    return make


def queue_dag(
    path: Path, settings: Settings, nodes: Sequence[MadeNode], first: int, owner: str, actor: Actor, *, host: str
) -> SubmittedDag:
    """Queue *nodes*, which were made as clusters from *first* on, parents first.

    Raises the errors of `fairq.steps.jobs.submit.queue`.
    """
    for node in nodes:
        check(node.made, settings)
    domain = domain_of(settings, host)
    result = SubmittedDag([], 0)
    with writing(path) as state:
        changes = []
        is_launched = is_launching(state, settings)
        for place, node in enumerate(nodes):
            cluster, made = jobs.next_cluster(state), node.made
            if made.uses_cluster and cluster != first + place and node.remade is not None:
                made = node.remade(cluster)
            _follow(made, [result.clusters[parent] for parent in node.parents])
            ranges = put(state, settings, made, cluster, domain, owner, actor, host, is_launched=is_launched)
            result.clusters.append(cluster)
            result.jobs += len(made)
            result.warnings += [text for text in made.warnings if text not in result.warnings]
            changes.append(change_of(cluster, made, ranges))
        entries = history.record(state, actor, changes, own=True)
        counts = [[cluster, len(node.made)] for cluster, node in zip(result.clusters, nodes, strict=True)]
        undo.record(state, actor, entries, "submit", {"clusters": counts}, settings["pool.undo_kept"])
    if actor.request is None:
        result.warnings += events.flush(path, settings)
    return result


def _follow(made: Submission, parents: Sequence[int]) -> None:
    """Let jobs run after all jobs of the clusters *parents* have succeeded, besides what they wait for themselves."""
    if not parents:
        return
    named = ",".join(map(str, parents))
    for group in made.groups:
        own = [ad for ad in (group.own, group.template) if ad and "AfterOk" in ad]
        for ad in (group.shared, *own):
            said = ad.get("AfterOk")
            # Groups share an ad.
            if said is None:
                ad["AfterOk"] = named
            elif said != named and not said.endswith(f",{named}"):
                ad["AfterOk"] = f"{said},{named}"


__all__ = ["MadeNode", "SubmittedDag", "made_nodes", "next_cluster", "queue_dag"]
