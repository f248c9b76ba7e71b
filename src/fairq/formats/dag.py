"""Files of DAGMan: nodes with submit descriptions, and their order.

Source: HTCondor's manual, "DAGMan Workflows".
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct, field

from fairq.errors.pool import SubmitDescriptionError

_WITHOUT_EFFECT = frozenset({"DOT", "NODE_STATUS_FILE", "JOBSTATE_LOG", "CONFIG"})
_REFUSED = frozenset(
    {
        "SCRIPT", "SUBDAG", "SPLICE", "FINAL", "PROVISIONER", "SERVICE", "PRE_SKIP", "ABORT-DAG-ON", "INCLUDE", "ENV",
        "SET_JOB_ATTR", "CONNECT", "PIN_IN", "PIN_OUT", "SUBMIT-DESCRIPTION", "REJECT",
    }
)  # fmt: skip
_VARIABLE = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"\s*', re.ASCII)


class Node(Struct):
    """A node: the *file* of its submit description, read in *directory*, with *variables* as macros above it.

    Its jobs run after those of *parents* have succeeded. A node that is *done* is not submitted. Of the nodes of a
    *category*, at most *most* are in the queue without waiting; 0: there is no limit.
    """

    name: str
    file: str
    directory: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    retries: int | None = None
    priority: int | None = None
    done: bool = False
    parents: list[str] = field(default_factory=list)
    category: str | None = None
    most: int = 0


class Dag(Struct):
    """The *nodes* to submit, parents first, and the commands *without_effect*."""

    nodes: list[Node]
    without_effect: list[str]


def read_dag(text: str, source: str) -> Dag:
    """Return the nodes of a file of DAGMan.

    Raises SubmitDescriptionError for unreadable lines, for commands that fairq does not have, and for a circle.
    """
    reader = _Reader(source)
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            reader.where = f"{source}, line {number}"
            reader.read(words, line)
    return reader.dag()


class _Reader:
    def __init__(self, source: str) -> None:
        self.where = self._source = source
        self._nodes: dict[str, Node] = {}
        self._without_effect: list[str] = []
        self._limits: dict[str, int] = {}

    def read(self, words: list[str], line: str) -> None:
        """Read one *line*, which begins with a command."""
        command, *arguments = words
        kind = command.upper()
        if kind in _WITHOUT_EFFECT:
            self._without_effect += [] if kind in self._without_effect else [kind]
            return
        readers = {
            "JOB": self._job, "PARENT": self._parent, "RETRY": self._number, "PRIORITY": self._number,
            "DONE": self._done, "VARS": self._vars, "CATEGORY": self._category, "MAXJOBS": self._maxjobs,
        }  # fmt: skip
        if kind in _REFUSED:
            raise self._wrong(f"fairq does not have {kind}; remove the line")
        if kind not in readers:
            raise self._wrong(f"{command!r} is no command of a DAG file")
        if not arguments:
            missing = "category" if kind == "MAXJOBS" else "node"
            raise self._wrong(f"{kind} names no {missing}")
        readers[kind](kind, arguments, line)

    def _job(self, kind: str, words: list[str], line: str) -> None:
        if len(words) < 2 or words[0] in self._nodes:
            problem = "write JOB NAME FILE" if len(words) < 2 else f"there is another node {words[0]}"
            raise self._wrong(problem)
        node = Node(words[0], words[1])
        options = words[2:]
        while options:
            word = options.pop(0).upper()
            if word == "DIR" and options:
                node.directory = options.pop(0)
            elif word == "DONE":
                node.done = True
            else:
                raise self._wrong(f"fairq does not have {word} after JOB")
        self._nodes[node.name] = node

    def _parent(self, kind: str, words: list[str], line: str) -> None:
        child_indices = [index for index, word in enumerate(words) if word.upper() == "CHILD"]
        if len(child_indices) != 1 or not words[: child_indices[0]] or not words[child_indices[0] + 1 :]:
            raise self._wrong("write PARENT NAME... CHILD NAME...")
        parents = [self._node(word) for word in words[: child_indices[0]]]
        for word in words[child_indices[0] + 1 :]:
            self._node(word).parents += [parent.name for parent in parents]

    def _number(self, kind: str, words: list[str], line: str) -> None:
        if len(words) != 2 or not re.fullmatch(r"-?\d{1,9}", words[1], re.ASCII):
            raise self._wrong(f"write {kind} NAME N")
        for node in self._named(words[0]):
            if kind == "RETRY":
                node.retries = int(words[1])
            else:
                node.priority = int(words[1])

    def _done(self, kind: str, words: list[str], line: str) -> None:
        self._node(words[0]).done = True

    def _vars(self, kind: str, words: list[str], line: str) -> None:
        text = line.split(None, 2)[2] if len(words) > 1 else ""
        variables = {}
        while text:
            match = _VARIABLE.match(text)
            if match is None:
                raise self._wrong('write VARS NAME macro="value" ...')
            variables[match[1]] = match[2].replace('\\"', '"').replace("\\\\", "\\")
            text = text[match.end() :]
        for node in self._named(words[0]):
            node.variables |= variables

    def _category(self, kind: str, words: list[str], line: str) -> None:
        if len(words) != 2:
            raise self._wrong("write CATEGORY NAME CATEGORY")
        for node in self._named(words[0]):
            node.category = words[1]

    def _maxjobs(self, kind: str, words: list[str], line: str) -> None:
        if len(words) != 2 or not re.fullmatch(r"\d{1,9}", words[1], re.ASCII):
            raise self._wrong("write MAXJOBS CATEGORY N")
        self._limits[words[0]] = int(words[1])

    def _wrong(self, problem: str) -> SubmitDescriptionError:
        return SubmitDescriptionError(where=self.where, problem=problem)

    def _named(self, name: str) -> list[Node]:
        return list(self._nodes.values()) if name.upper() == "ALL_NODES" else [self._node(name)]

    def _node(self, name: str) -> Node:
        if name not in self._nodes:
            raise self._wrong(f"there is no node {name} above")
        return self._nodes[name]

    def dag(self) -> Dag:
        """Return the nodes in an order of submission."""
        self.where = self._source
        graph = {node.name: set(node.parents) for node in self._nodes.values()}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            raise self._wrong(f"its nodes wait for each other: {circle}") from None
        if not order:
            raise self._wrong("it has no node; write JOB NAME FILE")
        nodes = [self._nodes[name] for name in order if not self._nodes[name].done]
        submitted = {node.name for node in nodes}
        for node in nodes:
            node.most = 0 if node.category is None else self._limits.get(node.category, 0)
            node.parents = [name for name in dict.fromkeys(node.parents) if name in submitted]
        return Dag(nodes, self._without_effect)
