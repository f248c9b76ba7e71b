"""The data of tasks in one brokerage run: the task, the chunk of input to be brokered, its files, and units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity

MIB = 2**20
GIB = 2**30
_BYTES = {"kB": 2**10, "MB": MIB, "GB": GIB}

_HS06 = "HS06sPerEvent"
_HS06_UNITS = {_HS06, f"{_HS06}Fixed", f"m{_HS06}", f"m{_HS06}Fixed"}


def work_bytes(count: float | None, unit: str | None, margin: float) -> float:
    """Return the bytes of working space of a job: 0 if none is stated, otherwise *margin* MiB are added."""
    return 0 if count is None else count * _BYTES.get(unit or "", 1) + margin * MIB


def output_bytes(count: float | None, unit: str | None) -> float:
    """Return the bytes of output per MiB of input or per event; a missing or negative number is 0."""
    if count is None or count < 0:
        return 0
    return count * _BYTES.get((unit or "")[:2], 1)


def is_per_event(unit: str | None) -> bool:
    """Return whether output grows with events and not with the size of the input."""
    return "PerEvent" in (unit or "")


def is_hs06(unit: str | None) -> bool:
    """Return whether a CPU time is in HS06 seconds an event."""
    return unit in _HS06_UNITS


def cpu_time_per_event(cpu_time: float | None, unit: str | None) -> float | None:
    """Return HS06 seconds per event; None if the task does not state its CPU time in them."""
    if not is_hs06(unit) or cpu_time is None:
        return None
    return cpu_time / 1000 if unit is not None and unit.startswith("m") else cpu_time


USER_LABELS = frozenset({"user", "panda"})
"""Labels of tasks for the analysis brokerage; all others are production."""

_NAMES = {"events": "nEvents", "start_event": "startEvent", "end_event": "endEvent"}


class File(Struct, frozen=True, gc=False, rename=_NAMES):
    """One input file: *fsize* in bytes, and an event range if only a part of it is read.

    In JSON it has PanDA's names.
    """

    lfn: str
    fsize: int | float = 0
    events: int | None = None
    start_event: int | None = None
    end_event: int | None = None


class Files(Struct, frozen=True, gc=False, rename=_NAMES):
    """Files by column, each a list with one value per file; None: all have the default of `File`.

    Most tasks only need sums and names of files; creating an object per file would dominate the run time.
    """

    lfn: list[str]
    fsize: list[int | float] | None = None
    events: list[int | None] | None = None
    start_event: list[int | None] | None = None
    end_event: list[int | None] | None = None

    @classmethod
    def of(cls, files: Sequence[File]) -> Files:
        """Return *files* by column."""
        return cls(
            [file.lfn for file in files],
            [file.fsize for file in files],
            [file.events for file in files],
            [file.start_event for file in files],
            [file.end_event for file in files],
        )

    def __len__(self) -> int:
        return len(self.lfn)

    def __iter__(self) -> Iterator[File]:
        return map(File, self.lfn, self.sizes, *(self._or_unknown(column) for column in self._numbers))

    @property
    def sizes(self) -> Sequence[int | float]:
        """Bytes of each file."""
        return [0] * len(self) if self.fsize is None else self.fsize

    @property
    def are_whole(self) -> bool:
        """Whether no file is given as a range of events."""
        starts, ends = self.start_event, self.end_event
        return (starts is None or _are_unknown(starts)) and (ends is None or _are_unknown(ends))

    @property
    def _numbers(self) -> tuple[list[int | None] | None, ...]:
        return self.events, self.start_event, self.end_event

    def _or_unknown(self, column: list[int | None] | None) -> list[int | None]:
        return [None] * len(self) if column is None else column


def _are_unknown(numbers: list[int | None]) -> bool:
    return numbers.count(None) == len(numbers)


class Dataset(Struct, frozen=True, dict=True):
    """One input dataset of a chunk with the files to be read.

    Args:
        name: its name, under which its replicas are found.
        files: the files of this chunk.
        distributed: its files are spread over many sites on purpose; no site needs all of them.
        type: ``input``, ``trn_log`` of merge chunks, ...
        site: of the master of a merge chunk: the queue that the chunk is pre-assigned to.
        created, modified: times; None is unknown.
        attributes: PanDA's, such as ``nosplit`` or ``ratio=2``, separated by commas; see `Secondary`.
    """

    name: str
    files: tuple[File, ...] | Files = ()
    distributed: bool = False
    type: str = "input"
    site: str = ""
    created: float | None = None
    modified: float | None = None
    attributes: str = ""

    @property
    def columns(self) -> Files:
        """Its files by column."""
        return self.files if isinstance(self.files, Files) else self._columns

    @cached_property
    def _columns(self) -> Files:
        return Files.of(tuple(self.files))

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """Bytes of each file by its name; a name that comes twice is one file."""
        files = self.columns
        return dict(zip(files.lfn, files.sizes, strict=True))

    @property
    def lfns(self) -> KeysView[str]:
        """Names of all files."""
        return self.sizes.keys()


class Chunk(Struct, frozen=True, dict=True):
    """The input to be brokered at a time: the first dataset is the master (docs/panda.md, Queues).

    Args:
        datasets: master first; empty is no input.
        is_merging: whether the chunk's jobs merge the output of others.
        is_scout: whether its jobs are scouts.
        ram_count: MiB that files of the chunk have needed; None is unknown.
        ready_events: events that are ready, for jumbo jobs; None is those of the master files.
    """

    datasets: tuple[Dataset, ...] = ()
    is_merging: bool = False
    is_scout: bool = False
    ram_count: float | None = None
    ready_events: int | None = None

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """Bytes of each file by its name; a name in two datasets is one file."""
        if len(self.datasets) == 1:
            return self.datasets[0].sizes
        sizes: dict[str, float] = {}
        for dataset in self.datasets:
            sizes.update(dataset.sizes)
        return sizes

    @cached_property
    def total_size(self) -> float:
        """Bytes of all files, each name once."""
        return sum(self.sizes.values())

    @property
    def has_input(self) -> bool:
        """Whether there is anything to be read."""
        return self.total_size > 0

    @property
    def preassigned_site(self) -> str:
        """The queue to which the chunk of a merge is pre-assigned; empty if none."""
        return self.datasets[0].site if self.is_merging and self.datasets else ""


class Task(Struct, frozen=True):
    """A task (docs/panda.md, Queues). None is a value that PanDA does not set.

    Args:
        task_id: its number.
        label: ``prodSourceLabel``: ``managed``, ``user``, ``test``, ...
        gshare: the share that its jobs are charged to.
        processing_type: ``simul``, ``evgen``, ``urgent``, ...
        core_count: number of cores; None is 1, 0 is any number.
        ram_unit: ``MB``, ``MBPerCore`` or ``MBPerCoreFixed``.
        cpu_time_unit: ``HS06sPerEvent``, ``mHS06sPerEvent``, each with or without ``Fixed``; None: *walltime* counts.
        cpu_efficiency: per cent.
        out_disk_unit, work_disk_unit: ``kB``, ``MB`` or ``GB``; the former may end in ``PerEvent`` or ``Fixed``.
        io_intensity, disk_io: kB/s.
        architecture: the hardware and platform that it needs (docs/panda.md, Software).
        trans_home: release, as ``Project-Version``.
        container_name: image of its container; None is none.
        site: queues to which it is pre-assigned, separated by commas.
        rules: PanDA's two-letter rules, such as ``{"NF": "1"}`` (see `parse_rules`).
        event_service: 1 or 2 for event service; *cloning* is job cloning, which does not count as event service.
        frozen_time: time of the first of the last failed cycles; None: the last cycle did not fail.
        parameters: parameters of the user: ``includedSite``, ``excludedSite``, ...
        changed: time of the last change, for the list of waiting tasks.
    """

    task_id: int = 0
    vo: str = "atlas"
    label: str = "managed"
    gshare: str | None = None
    working_group: str | None = None
    user: str | None = None
    task_priority: int = 0
    current_priority: int = 0
    processing_type: str = ""
    resource_type: str | None = None
    cloud: str | None = None
    nucleus: str | None = None
    site: str | None = None
    core_count: int | None = None
    max_core_count: int | None = None
    merge_core_count: int | None = None
    ram_count: float | None = None
    ram_unit: str | None = None
    base_ram_count: float | None = None
    merge_ram_count: float | None = None
    cpu_time: float | None = None
    cpu_time_unit: str | None = None
    cpu_efficiency: float | None = None
    base_walltime: float | None = None
    walltime: float | None = None
    walltime_unit: str | None = None
    out_disk_count: float | None = None
    out_disk_unit: str | None = None
    work_disk_count: float | None = None
    work_disk_unit: str | None = None
    io_intensity: float | None = None
    disk_io: float | None = None
    architecture: str | None = None
    trans_home: str | None = None
    trans_uses: str | None = None
    container_name: str | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    event_service: int = 0
    cloning: bool = False
    frozen_time: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    changed: float | None = None

    def has_rule(self, code: str) -> bool:
        """Return whether the two-letter rule *code* is set, even to 0."""
        return code in self.rules

    def rule(self, code: str, default: int | None = None) -> int | None:
        """Return the number of rule *code*, or *default* if it is not set or not a number."""
        return rule_number(self.rules.get(code), default)

    @property
    def most_cores(self) -> int | None:
        """The maximum cores of its jobs: rule *CC*, otherwise ``maxCoreCount``; None or 0 is no limit."""
        return self.rule("CC", self.max_core_count)

    @property
    def copies_input(self) -> bool:
        """Whether its jobs always copy their input: rule *LI*, where 0 counts as not set (PanDA useLocalIO)."""
        return bool(self.rule("LI"))

    @property
    def activity(self) -> Activity:
        """Which brokerage the task goes to."""
        return ANALYSIS if self.label in USER_LABELS else PRODUCTION

    @property
    def is_event_service(self) -> bool:
        """Whether its jobs are event service, without cloning."""
        return bool(self.event_service) and not self.cloning

    @property
    def sites(self) -> tuple[str, ...]:
        """The queues it is pre-assigned to."""
        return tuple(name for name in (self.site or "").split(",") if name)


class Case(NamedTuple):
    """A task, and the chunk of its input to be brokered."""

    task: Task
    chunk: Chunk


def rule_number(text: str | None, default: int | None = None) -> int | None:
    """Return the number in the *text* of a rule, or *default* if there is none."""
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        return default


def parse_rules(text: str | None) -> dict[str, str]:
    """Return the two-letter rules of a task's ``splitRule``, such as ``NF=1,IP=1``; other words are ignored.

    If a rule is set twice, the first one counts.
    """
    rules: dict[str, str] = {}
    for code, value in _pairs((text or "").split(",")):
        rules.setdefault(code, value)
    return rules


def _pairs(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    for word in words:
        code, separator, value = word.strip().partition("=")
        if separator:
            yield code, value
