"""The jobs of a submit description: identical jobs share one ad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from fairq.common.expression_form import is_expression, unwrapped
from fairq.common.records import PROC_PLACEHOLDER, Ad, JobStatus
from fairq.errors.pool import InvalidSubmitValueError, SubmitDescriptionError
from fairq.formats.submitfile import policy_rules, program_rules, request_rules
from fairq.formats.submitfile.description import Description, Statement
from fairq.formats.submitfile.macros import CLUSTER_NAMES, Variation
from fairq.formats.submitfile.program import Program
from fairq.formats.submitfile.rules import SENTINEL, Commands, Context, Rule
from fairq.formats.submitfile.standings import refusals, standing_of, without_effect

_BASE: Ad = {
    "MyType": "Job",
    "TargetType": "Machine",
    "MinHosts": 1,
    "MaxHosts": 1,
    "CurrentHosts": 0,
    "CompletionDate": 0,
    "NumCkpts": 0,
    "NumJobStarts": 0,
    "NumJobCompletions": 0,
    "NumRestarts": 0,
    "NumSystemHolds": 0,
    "RemoteWallClockTime": 0.0,
    "RemoteUserCpu": 0.0,
    "RemoteSysCpu": 0.0,
    "CumulativeSlotTime": 0,
    "CommittedTime": 0,
    "TotalSuspensions": 0,
    "ExitStatus": 0,
    "ExitBySignal": False,
}
"""The attributes of every new job, independent of the description."""


class JobGroup(Struct):
    """Jobs *first_proc* to *last_proc*, which differ only in their number.

    Their ad is *shared*, overlaid by *own*, then by *template*, where ``$(ProcId)`` stands for the number.
    """

    first_proc: int
    last_proc: int
    shared: Ad
    own: Ad | None
    template: Ad | None = None
    priority: int = 0
    status: int = int(JobStatus.IDLE)
    reason: str | None = None

    def ad(self, proc: int) -> Ad:
        """Return the ad of one job, without the attributes that are columns of the queue."""
        return {**self.shared, **(self.own or {}), **_filled(self.template or {}, proc)}


class Submission(Struct):
    """All jobs of one cluster, in order, the warnings about the description, and its commands *without_effect*."""

    groups: list[JobGroup] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_effect: list[str] = field(default_factory=list)
    uses_cluster: bool = False

    def __len__(self) -> int:
        return sum(group.last_proc - group.first_proc + 1 for group in self.groups)


def submission(source: Description | Program, cluster: int, context: Context) -> Submission:
    """Return the jobs that *source* queues as *cluster*.

    Raises SubmitDescriptionError or InvalidSubmitValueError for the first error.
    """
    return Submissions(source, context).made(cluster)


class Submissions:
    """The jobs of *source* for several clusters, which may differ in the values of the macros *varying*.

    Attributes that depend on none of them are built once; the clusters share them.
    """

    def __init__(self, source: Description | Program, context: Context, varying: Sequence[str] = ()) -> None:
        """Store the arguments; each queue statement is read when first needed."""
        self._source = source
        self._unread = (_Builder(statement, context, varying) for statement in source.statements())
        self._read: list[_Builder] = []

    def made(self, cluster: int, values: Mapping[str, str] = MappingProxyType({})) -> Submission:
        """Return the jobs of *cluster*, with the *values* of the varying macros; raises as `submission`."""
        result = Submission()
        for builder in self._builders():
            for name, value in {"Cluster": str(cluster), "ClusterId": str(cluster), **values}.items():
                builder.statement.set(name, value)
            result.groups += builder.groups(len(result))
            result.uses_cluster |= builder.uses_cluster
            warnings = [*builder.commands.warnings, *builder.unused]
            result.warnings += [text for text in warnings if text not in result.warnings]
            result.without_effect += [name for name in builder.without_effect if name not in result.without_effect]
        result.warnings[:0] = self._source.warnings
        if not result.groups:
            raise SubmitDescriptionError(where=self._source.source, problem="its queue statements queue no jobs")
        return result

    def _builders(self) -> Iterator[_Builder]:
        yield from self._read
        for builder in self._unread:
            self._read.append(builder)
            yield builder


class _Builder:
    """Builds the jobs of one queue statement."""

    def __init__(self, statement: Statement, context: Context, varying: Sequence[str]) -> None:
        self.statement = statement
        self._next = 0
        self._shared: tuple[Ad, dict[str, Any]] | None = None
        self.commands = Commands(statement, context)
        queue = statement.queue
        self._variables = queue.variables if queue.mode is not None else ()
        statement.declare([*self._variables, *varying])
        items = {name.lower() for name in (*self._variables, *varying)} | {"row", "itemindex"}
        items |= CLUSTER_NAMES if varying else frozenset()
        rules = [
            *refusals(),
            *program_rules.RULES,
            *policy_rules.RULES,
            *request_rules.rules(self.commands),
            *policy_rules.forced(self.commands),
        ]
        graph = statement.graph
        fixed: list[Rule] = []
        self._by_item: list[Rule] = []
        self._by_proc: list[Rule] = []
        self._variation = Variation.NONE
        self._uses_step = self.uses_cluster = False
        for rule in rules:
            names = [name for name in rule.reads if name in statement.names and name not in statement.literals]
            variation = max(map(graph.variation, names), default=Variation.NONE)
            if variation:
                self._by_proc.append(rule)
                self._variation = max(self._variation, variation)
                self._uses_step |= any(graph.depends_on(name, lambda macro: macro == "step") for name in names)
            elif items and any(graph.depends_on(name, items.__contains__) for name in names):
                self._by_item.append(rule)
            else:
                fixed.append(rule)
            self.uses_cluster |= any(graph.depends_on(name, CLUSTER_NAMES.__contains__) for name in names)
        self._fixed = fixed

    @cached_property
    def unused(self) -> list[str]:
        """The warnings about lines that are not commands."""
        return list(self.statement.unused(standing_of))

    @cached_property
    def without_effect(self) -> list[str]:
        """The commands that have no effect here."""
        return list(without_effect(self.commands))

    def groups(self, first_proc: int) -> Iterator[JobGroup]:
        """Yield the jobs, from the number *first_proc* on, with identical ones in one group."""
        self._next = first_proc
        count = self.statement.count()
        items = self.statement.items()
        if not count or items == []:
            return
        for row, values in items or [(0, ())]:
            self._set_item(row, values)
            if self._shared is None:
                ad = {**_BASE, **self._build(self._fixed)}
                self._shared = ad, _columns(ad)
            shared, columns = self._shared
            for group in self._item_groups(shared, count):
                for name, value in columns.items():
                    setattr(group, name, value)
                for name, value in _columns(group.own or {}).items():
                    setattr(group, name, value)
                group.own = group.own or None
                yield group
            self._next += count

    def _set_item(self, row: int, values: tuple[str, ...]) -> None:
        for name in ("Row", "ItemIndex"):
            self.statement.set(name, str(row))
        for name, value in zip(self._variables, values, strict=False):
            self.statement.set(name, value)
            if not value:
                self.commands.warn(f"Empty value(s) for {name} at ItemIndex={row}!")

    def _item_groups(self, shared: Ad, count: int) -> Iterator[JobGroup]:
        first, last = self._next, self._next + count - 1
        self._set_proc(first, 0)
        item = self._build(self._by_item)
        if not self._by_proc:
            yield JobGroup(first, last, shared, item)
        elif count > 1 and (own_and_template := self._template(first, last)) is not None:
            own, template = own_and_template
            yield JobGroup(first, last, shared, {**item, **own}, template)
        else:
            for step in range(count):
                self._set_proc(first + step, step)
                yield JobGroup(first + step, first + step, shared, {**item, **self._build(self._by_proc)})

    def _template(self, first: int, last: int) -> tuple[Ad, Ad] | None:
        """Return the shared attributes and the template of the others; None if the jobs differ in more."""
        if self._variation is not Variation.PLAIN or (self._uses_step and first):
            return None
        try:
            self._set_proc(SENTINEL, SENTINEL)
            built = self._build(self._by_proc)
        except InvalidSubmitValueError:
            return None
        for proc in {first, min(first + 1, last), last}:
            self._set_proc(proc, proc - first)
            if not _same(_filled(built, proc), self._build(self._by_proc)):
                return None
        template = {name: value for name, value in built.items() if _has_mark(value)}
        return {name: value for name, value in built.items() if name not in template}, template

    def _set_proc(self, proc: int | str, step: int | str) -> None:
        for name in ("Process", "ProcId"):
            self.statement.set(name, str(proc))
        self.statement.set("Step", str(step))

    def _build(self, rules: list[Rule]) -> Ad:
        ad: Ad = {}
        for rule in rules:
            ad |= rule.build(self.commands)
        return ad


_COLUMNS = {"JobPrio": "priority", "JobStatus": "status"}


def _columns(ad: Ad) -> dict[str, Any]:
    """Remove from *ad* the attributes that are columns of the queue, and return their values by column."""
    columns = {column: ad.pop(name) for name, column in _COLUMNS.items() if name in ad}
    if "status" in columns:
        columns["reason"] = ad.get("HoldReason")
    return columns


def _has_mark(value: Any) -> bool:
    """Return whether *value* contains the job's number."""
    return isinstance(value, str) and PROC_PLACEHOLDER in value


def _filled(template: Ad, proc: int) -> Ad:
    """Return *template*, which stands for all jobs of a range, with the job number *proc* filled in."""
    number = str(proc)
    return {
        name: value.replace(PROC_PLACEHOLDER, number) if _has_mark(value) else value for name, value in template.items()
    }


def _same(left: Ad, right: Ad) -> bool:
    """Return whether two ads are equal; a number may be an expression in one of them."""
    return left.keys() == right.keys() and all(_plain(left[name]) == _plain(right[name]) for name in left)


def _plain(value: Any) -> Any:
    if is_expression(value) and unwrapped(value).isdigit():
        return int(unwrapped(value))
    return value
