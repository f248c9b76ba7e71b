"""The jobs of Slurm, from the text of ``squeue``: its JSON differs between versions and ignores filters in some.

Source: squeue(1), sacct(1); the states of ``slurm.h``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fairq.launch.slurm.commands import NoAnswerError, RefusedError, call

_FORMAT = "%F|%K|%T|%S|%e|%N|%r|%j"
"""Array or job id, index in the array, state, start, end, node, reason, name: the free text comes last."""

_ACCOUNTED = "JobID,State,Start,End,NodeList,JobName"
_WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
_ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "TIMEOUT",
}  # fmt: skip


class Record(Struct, frozen=True):
    """A job of Slurm: its id, *name*, *index* in an array (None: it is none), *state*, and the *reason* of that.

    *start* and *end* are when Slurm held its resources, in seconds since 1970; None if not yet.
    """

    id: str
    name: str
    index: int | None
    state: str
    start: int | None
    end: int | None
    node: str
    reason: str

    @property
    def is_waiting(self) -> bool:
        """Whether it waits in Slurm's queue."""
        return self.state in _WAITING

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, and its resources are free or about to be."""
        return self.state in _ENDED


class Jobs:
    """Jobs of Slurm, found by their id or by the name and index with which they were submitted."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._by_id = {job.id: job for job in records}
        # A later job of the same name is the live one: a refused call may leave a failed one behind.
        self._by_name = {(job.name, job.index): job for job in sorted(records, key=lambda job: not job.has_ended)}

    def has(self, engine_id: str) -> bool:
        """Return whether a job with this id is among them."""
        return engine_id in self._by_id

    def find(self, engine_id: str | None, name: str | None, index: int | None) -> Record | None:
        """Return the job with this name and index, and with this id if it is known; None if there is none.

        A controller that lost its state reuses ids: an id alone counts only if the name is unknown.
        """
        if name is None:
            return self._by_id.get(engine_id or "")
        job = self._by_id.get(engine_id or "")
        if job is not None and (job.name, job.index) == (name, index):
            return job
        return self._by_name.get((name, index))


def listing() -> list[Record]:
    """Return the jobs of this user, also those that ended a short while ago; raises NoAnswerError, RefusedError."""
    command = ("squeue", "--noheader", "--array", "--states=all", f"--user={os.getuid()}", f"--format={_FORMAT}")
    return parsed(call(*command))


def accounted(engine_ids: Iterable[str]) -> list[Record]:
    """Return these jobs as recorded by Slurm's accounting; none without accounting, or if it does not answer."""
    command = ("sacct", "--noheader", "--allocations", "--parsable2", f"--format={_ACCOUNTED}")
    try:
        return parsed_accounting(call(*command, f"--jobs={','.join(engine_ids)}"))
    except (NoAnswerError, RefusedError):
        return []


def parsed_accounting(text: str) -> list[Record]:
    """Return the jobs in the output of sacct."""
    records = []
    for line in text.splitlines():
        if line.count("|") < _ACCOUNTED.count(","):
            continue
        engine_id, state, start, end, node, name = line.split("|", 5)
        array_id, _, index = engine_id.partition("_")
        # The state of a cancelled job also names who did it.
        state, _, canceller = state.partition(" ")
        records.append(
            _record("|".join((array_id, index or "N/A", state, start, end, node, canceller or "None", name)))
        )
    return records


def parsed(text: str) -> list[Record]:
    """Return the jobs in the output of squeue."""
    return [_record(line) for line in text.splitlines() if line.count("|") >= _FORMAT.count("|")]


def _record(line: str) -> Record:
    array_id, index, state, start, end, node, reason, name = line.split("|", 7)
    is_element = index.isdecimal()
    is_waiting = state in _WAITING
    return Record(
        f"{array_id}_{index}" if is_element else array_id,
        name,
        int(index) if is_element else None,
        state,
        None if is_waiting else _time(start),
        None if is_waiting else _time(end),
        node,
        reason,
    )


def _time(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) > 0 else None


def exit_status(engine_id: str) -> tuple[int, int] | None:
    """Return exit code and signal of an ended job; None if Slurm does not report them. Raises NoAnswerError."""
    try:
        return parsed_exit(call("scontrol", "--oneliner", "show", "job", engine_id))
    except RefusedError:
        return None


def parsed_exit(text: str) -> tuple[int, int] | None:
    """Return exit code and signal in the output of scontrol."""
    for word in text.split():
        name, _, value = word.partition("=")
        code, _, signal = value.partition(":")
        if name == "ExitCode" and code.isdecimal() and signal.isdecimal():
            return int(code), int(signal)
    return None
