"""Queue the nodes of a DAG: a cluster each, all of them in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.common.records import Actor
from fairq.common.waits import category_of
from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.dag import Dag, Node
from fairq.formats.submitfile import Context, Description, External, Submission, Submissions
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
    """A node with its jobs; *parents* are places of nodes before it. *remade* makes the jobs for another cluster.

    At most *most* nodes of its *category* are in the queue without waiting.
    """

    made: Submission
    parents: list[int]
    remade: Callable[[int], Submission] | None = None
    category: str | None = None
    most: int = 0


class SubmittedDag(Struct):
    """The *clusters* of the nodes, in order, and how many *jobs* they have."""

    clusters: Sequence[int]
    jobs: int
    warnings: list[str] = field(default_factory=list)


def made_nodes(
    dag: Dag, first: int, context: Context, name: str, macros: dict[str, str], timeout: int, defaults: dict[str, str]
) -> Iterator[MadeNode]:
    """Yield the nodes with their jobs, as clusters from *first* on; *name* is that of the batch.

    *defaults* are commands for descriptions that do not give them.

    Raises the errors of `submission`.
    """
    places = {node.name: place for place, node in enumerate(dag.nodes)}
    makers = _Makers(context, name, macros, timeout, defaults)
    for place, node in enumerate(dag.nodes):
        make = makers.of(node)
        category = node.category if node.most else None
        yield MadeNode(make(first + place), [places[parent] for parent in node.parents], make, category, node.most)


class _Makers:
    """Makes the jobs of nodes; what nodes with one description have in common is made once."""

    def __init__(
        self, context: Context, name: str, macros: dict[str, str], timeout: int, defaults: dict[str, str]
    ) -> None:
        self._defaults = defaults
        self._context = context
        self._name = name
        self._macros = macros
        self._timeout = timeout
        self._texts: dict[Path, str] = {}
        self._varying: dict[Hashable, list[str]] = {}
        self._known: dict[Hashable, Submissions] = {}

    def of(self, node: Node) -> Callable[[int], Submission]:
        """Return the function that makes the jobs of *node* as a cluster."""
        directory = self._context.directory / (node.directory or "")
        path = directory / node.file
        if path not in self._texts:
            self._texts[path] = _text(path, node)
        values = {**self._macros, **dict(zip(_MACROS, (node.name, "0"), strict=True)), **node.variables}
        alike = (path, directory, node.retries, node.priority, *values)
        if alike not in self._varying:
            source = self._source(node, path, values)
            self._varying[alike] = [name for name in values if source.is_plain(name)]
        # A value that has macros itself decides what depends on what.
        varying = [name for name in self._varying[alike] if "$" not in values[name]]
        key = (*alike, *((name, value) for name, value in values.items() if name not in varying))
        if key not in self._known:
            context = replace(self._context, directory=directory)
            self._known[key] = Submissions(self._source(node, path, values), context, varying)
        made, own = self._known[key], {name: values[name] for name in varying}

        def make(cluster: int) -> Submission:
            found = made.made(cluster, own)
            # They are macros of the node here, not the commands of these names.
            found.without_effect = [one for one in found.without_effect if one not in _MACROS]
            return found

        return make

    def _source(self, node: Node, path: Path, values: dict[str, str]) -> Description:
        lines = [f"dag_node_name = $({_MACROS[0]})", f"batch_name = {self._name}"]
        lines += [f"max_retries = {node.retries}"] if node.retries is not None else []
        lines += [f"priority = {node.priority}"] if node.priority is not None else []
        return Description(
            self._texts[path], node.file, External(self._timeout), values, appended=lines, defaults=self._defaults
        )


def _text(path: Path, node: Node) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SubmitDescriptionError(where=f"node {node.name}: {node.file}", problem=str(reason)) from None


def check_nodes(nodes: Sequence[MadeNode], settings: Settings) -> Submission:
    """Check the jobs of all *nodes* as at submit; return them together, with their warnings and notes.

    Raises the errors of `fairq.steps.jobs.submit.check`.
    """
    whole = Submission([group for node in nodes for group in node.made.groups])
    whole.warnings = list(dict.fromkeys(text for node in nodes for text in node.made.warnings))
    whole.without_effect = list(dict.fromkeys(name for node in nodes for name in node.made.without_effect))
    check(whole, settings)
    return whole


def queue_dag(
    path: Path, settings: Settings, nodes: Sequence[MadeNode], first: int, owner: str, actor: Actor, *, host: str
) -> SubmittedDag:
    """Queue *nodes*, which `check_nodes` has seen and which were made as clusters from *first* on, parents first.

    Raises the errors of `fairq.steps.jobs.submit.put`.
    """
    domain = domain_of(settings, host)
    with writing(path) as state:
        start = jobs.next_cluster(state, len(nodes))
        clusters = range(start, start + len(nodes))
        made = {
            cluster: node.remade(cluster) if node.made.uses_cluster and start != first and node.remade else node.made
            for cluster, node in zip(clusters, nodes, strict=True)
        }
        for cluster, node in zip(clusters, nodes, strict=True):
            _follow(made[cluster], [clusters[parent] for parent in node.parents])
        categories = {
            cluster: (category_of(start, node.category), node.most)
            for cluster, node in zip(clusters, nodes, strict=True)
            if node.category is not None
        }
        is_launched = is_launching(state, settings)
        ranges = put(state, settings, made, domain, owner, actor, host, is_launched=is_launched, categories=categories)
        changes = [change_of(cluster, made[cluster], found) for cluster, found in ranges.items()]
        entries = history.record(state, actor, changes, own=True)
        counts = [[cluster, len(one)] for cluster, one in made.items()]
        undo.record(state, actor, entries, "submit", {"clusters": counts}, settings["pool.undo_kept"])
    warnings = list(dict.fromkeys(text for one in made.values() for text in one.warnings))
    if actor.request is None:
        warnings += events.flush(path, settings)
    return SubmittedDag(clusters, sum(map(len, made.values())), warnings)


def _follow(made: Submission, parents: Sequence[int]) -> None:
    """Let jobs run after all jobs of the clusters *parents* have succeeded, besides what they wait for themselves."""
    if not parents:
        return
    named = ",".join(map(str, parents))
    for group in made.groups:
        # Nodes share an ad.
        said = (group.own or {}).get("AfterOk", group.shared.get("AfterOk"))
        if group.template and "AfterOk" in group.template:
            group.template = {**group.template, "AfterOk": f"{group.template['AfterOk']},{named}"}
        else:
            group.own = {**(group.own or {}), "AfterOk": named if said is None else f"{said},{named}"}


__all__ = ["MadeNode", "SubmittedDag", "check_nodes", "made_nodes", "next_cluster", "queue_dag"]
