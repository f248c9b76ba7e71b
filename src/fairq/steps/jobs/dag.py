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
from fairq.steps.jobs.submit import change_of, check, next_cluster, put
from fairq.steps.launch import events

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
    indexes = {node.name: index for index, node in enumerate(dag.nodes)}
    makers = _Makers(context, name, macros, timeout, defaults)
    for index, node in enumerate(dag.nodes):
        make = makers.maker(node)
        category = node.category if node.most else None
        yield MadeNode(make(first + index), [indexes[parent] for parent in node.parents], make, category, node.most)


class _Makers:
    """Makes the jobs of nodes; common parts of nodes with one description are made once."""

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

    def maker(self, node: Node) -> Callable[[int], Submission]:
        """Return the function that makes the jobs of *node* as a cluster."""
        directory = self._context.directory / (node.directory or "")
        path = directory / node.file
        if path not in self._texts:
            self._texts[path] = _text(path, node)
        values = {**self._macros, **dict(zip(_MACROS, (node.name, "0"), strict=True)), **node.variables}
        signature = (path, directory, node.retries, node.priority, *values)
        if signature not in self._varying:
            source = self._source(node, path, values)
            self._varying[signature] = [name for name in values if source.is_plain(name)]
        # A value with macros of its own depends on other variables.
        varying = [name for name in self._varying[signature] if "$" not in values[name]]
        key = (*signature, *((name, value) for name, value in values.items() if name not in varying))
        if key not in self._known:
            context = replace(self._context, directory=directory)
            self._known[key] = Submissions(self._source(node, path, values), context, varying)
        submissions, variables = self._known[key], {name: values[name] for name in varying}

        def make(cluster: int) -> Submission:
            submission = submissions.made(cluster, variables)
            # These names are macros of the node here, not commands.
            submission.without_effect = [name for name in submission.without_effect if name not in _MACROS]
            return submission

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
    all_jobs = Submission([group for node in nodes for group in node.made.groups])
    all_jobs.warnings = list(dict.fromkeys(text for node in nodes for text in node.made.warnings))
    all_jobs.without_effect = list(dict.fromkeys(name for node in nodes for name in node.made.without_effect))
    check(all_jobs, settings)
    return all_jobs


def queue_dag(
    path: Path, settings: Settings, nodes: Sequence[MadeNode], first: int, owner: str, actor: Actor, *, host: str
) -> SubmittedDag:
    """Queue *nodes*, which `check_nodes` has seen and which were made as clusters from *first* on, parents first.

    Raises the errors of `fairq.steps.jobs.submit.put`.
    """
    with writing(path) as state:
        start = jobs.next_cluster(state, len(nodes))
        clusters = range(start, start + len(nodes))
        submissions = {
            cluster: node.remade(cluster) if node.made.uses_cluster and start != first and node.remade else node.made
            for cluster, node in zip(clusters, nodes, strict=True)
        }
        for cluster, node in zip(clusters, nodes, strict=True):
            _follow(submissions[cluster], [clusters[parent] for parent in node.parents])
        categories = {
            cluster: (category_of(start, node.category), node.most)
            for cluster, node in zip(clusters, nodes, strict=True)
            if node.category is not None
        }
        ranges = put(state, settings, submissions, owner, actor, host, categories)
        changes = [change_of(cluster, submissions[cluster], job_ranges) for cluster, job_ranges in ranges.items()]
        entries = history.record(state, actor, changes, own=True)
        counts = [[cluster, len(submission)] for cluster, submission in submissions.items()]
        undo.record(state, actor, entries, "submit", {"clusters": counts}, settings["pool.undo_kept"])
    warnings = list(dict.fromkeys(text for submission in submissions.values() for text in submission.warnings))
    if actor.request is None:
        warnings += events.flush(path, settings)
    return SubmittedDag(clusters, sum(map(len, submissions.values())), warnings)


def _follow(submission: Submission, parents: Sequence[int]) -> None:
    """Make jobs wait until all jobs of the clusters *parents* have succeeded, in addition to their own conditions."""
    if not parents:
        return
    parent_names = ",".join(map(str, parents))
    for group in submission.groups:
        # Nodes share an ad.
        conditions = (group.own or {}).get("AfterOk", group.shared.get("AfterOk"))
        if group.template and "AfterOk" in group.template:
            group.template = {**group.template, "AfterOk": f"{group.template['AfterOk']},{parent_names}"}
        else:
            group.own = {
                **(group.own or {}),
                "AfterOk": parent_names if conditions is None else f"{conditions},{parent_names}",
            }


__all__ = ["MadeNode", "SubmittedDag", "check_nodes", "made_nodes", "next_cluster", "queue_dag"]
