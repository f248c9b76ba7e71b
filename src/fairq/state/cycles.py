"""The decisions of past negotiation cycles with their matches.

Neither is changed, and matches are never deleted; a decision may be forgotten, and is empty then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from fairq.common.past import CycleRecord, MatchRecord, MatchRun
from fairq.state.connection import State
from fairq.state.rows import dumps


class CycleSummary(Struct, frozen=True):
    """One cycle in a line; *kept*: what was decided can still be read."""

    number: int
    time: int
    rules: str
    matches: int
    preempted: int
    kept: bool


class WrittenCycle(Struct, frozen=True):
    """A cycle with its *decision* and the *runs* of its matches as the texts that are stored."""

    number: int
    time: int
    rules: str
    decision: str
    made: int
    preempting: int
    runs: str


def written(cycle: CycleRecord, runs: Iterable[MatchRun] | None = None) -> WrittenCycle:
    """Write a cycle and its matches, or those of *runs* if given; of a large pool, that takes a while."""
    kept = list(joined_runs(map(run_of, cycle.matches) if runs is None else runs))
    made = sum(len(run.slots) for run in kept)
    preempting = sum(len(run.slots) for run in kept if run.preempted is not None)
    text = _text(cycle.decision)
    return WrittenCycle(cycle.number, cycle.time, cycle.rules, text, made, preempting, _plain(kept))


def add(state: State, cycle: CycleRecord) -> None:
    """Append a cycle and its matches."""
    add_written(state, written(cycle))


def add_written(state: State, cycle: WrittenCycle) -> None:
    """Append a cycle and its matches."""
    state.connection.execute(
        "INSERT INTO cycle (number, time, rules, decision) VALUES (?, ?, ?, ?)",
        (cycle.number, cycle.time, cycle.rules, cycle.decision),
    )
    if cycle.made:
        state.connection.execute(
            "INSERT INTO match VALUES (?, ?, ?, ?)", (cycle.number, cycle.made, cycle.preempting, cycle.runs)
        )


def _text(decision: dict[str, Any]) -> str:
    """Return the JSON text of a decision."""
    texts = (_plain(value) if name == "rejections" else dumps(value) for name, value in decision.items())
    return f"{{{','.join(f'{dumps(name)}:{text}' for name, text in zip(decision, texts, strict=True))}}}"


def _plain(records: list[Any]) -> str:
    """Return the JSON text of rejections or matches, in a tenth of the time of `dumps`.

    They hold nothing that msgspec writes otherwise than Python: no floating-point numbers.
    """
    try:
        return msgspec.json.encode(records).decode()
    except (UnicodeEncodeError, OverflowError):  # lone surrogates and integers above 64 bits, which Python's JSON has
        return dumps(records)


def forget_decisions(state: State, keep: int) -> None:
    """Forget what was decided in all cycles but the last *keep*; the last one of all is kept."""
    newest = next_number(state) - 1 - max(1, keep)
    # All before one that is forgotten are: the years that a pool has been running cost nothing.
    forgotten = "SELECT number FROM cycle WHERE number <= ?1 AND decision = '{}' ORDER BY number DESC LIMIT 1"
    state.connection.execute(
        f"UPDATE cycle SET decision = '{{}}' WHERE number <= ?1 AND number > coalesce(({forgotten}), 0)", (newest,)
    )


def summaries(state: State, limit: int | None = None) -> list[CycleSummary]:
    """Return what can be said of the last *limit* cycles (None: all) in one line each, oldest first."""
    rows = state.connection.execute(
        "SELECT number, time, rules, coalesce(made, 0), coalesce(preempting, 0), decision != '{}' "
        "FROM cycle LEFT JOIN match ON match.cycle = number ORDER BY number DESC LIMIT ?",
        (-1 if limit is None else limit,),
    ).fetchall()
    return [CycleSummary(*row) for row in reversed([(*plain, bool(kept)) for *plain, kept in rows])]


def next_number(state: State) -> int:
    """Return the number the next cycle will have; the first one is 1."""
    return int(state.value("SELECT coalesce(max(number), 0) + 1 FROM cycle"))


def latest(state: State) -> CycleRecord | None:
    """Return the last cycle, None if there was none."""
    return load(state, next_number(state) - 1)


def latest_decision(state: State) -> dict[str, Any] | None:
    """Return what the last cycle decided, without its matches; None if there was no cycle."""
    row = state.connection.execute("SELECT decision FROM cycle ORDER BY number DESC LIMIT 1").fetchone()
    return None if row is None else _decision(row[0])


def load_all(state: State) -> Iterator[CycleRecord]:
    """Return every cycle, oldest first."""
    numbers = state.connection.execute("SELECT number FROM cycle ORDER BY number").fetchall()
    return (cycle for (number,) in numbers if (cycle := load(state, number)) is not None)


def load(state: State, number: int) -> CycleRecord | None:
    """Return one cycle with its matches in the order made, None if there is none of this number."""
    row = state.connection.execute(
        "SELECT number, time, rules, decision FROM cycle WHERE number = ?", (number,)
    ).fetchone()
    if row is None:
        return None
    stored = state.connection.execute("SELECT runs FROM match WHERE cycle = ?", (number,)).fetchone()
    matches = [] if stored is None else matches_in(json.loads(stored[0]))
    return CycleRecord(*(*row[:3], _decision(row[3]), matches))


def _decision(text: str) -> dict[str, Any]:
    decision: dict[str, Any] = json.loads(text)
    if "rejections" in decision:
        decision["rejections"] = [rejection for entry in decision["rejections"] for rejection in _each(entry)]
    return decision


def _each(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a stored rejection; the first states stored those of a submitter as one entry, which is taken apart."""
    if "which" not in entry:
        yield entry
        return
    shared = {name: entry[name] for name in ("submitter", "group", "quota_group")}
    for cluster, proc, reason in zip(entry["jobs"][::2], entry["jobs"][1::2], entry["which"], strict=True):
        yield {"job": f"{cluster}.{proc}", "reason": entry["reasons"][int(reason)], **shared}


def run_of(match: MatchRecord) -> MatchRun:
    """Return one match as a run."""
    job = (match.cluster, match.proc, 1)
    return MatchRun(match.schedd, match.submitter, match.reason, match.preempted, [job], [match.slot])


def joined_runs(runs: Iterable[MatchRun]) -> Iterator[MatchRun]:
    """Join neighbours that differ only in job and slot, and jobs of consecutive procs."""
    last: MatchRun | None = None
    jobs: list[tuple[int, int, int]] = []
    slots: list[str] = []
    for run in runs:
        if last is None or run[:4] != last[:4]:
            if last is not None:
                yield last
            jobs, slots = [], []
            last = run._replace(jobs=jobs, slots=slots)
        for cluster, first, count in run.jobs:
            if jobs and jobs[-1][0] == cluster and sum(jobs[-1][1:]) == first:
                jobs[-1] = (cluster, jobs[-1][1], jobs[-1][2] + count)
            else:
                jobs.append((cluster, first, count))
        slots += run.slots
    if last is not None:
        yield last


def matches_in(runs: Iterable[tuple[Any, ...]]) -> list[MatchRecord]:
    """Return the matches of stored *runs*, numbered in order."""
    matches: list[MatchRecord] = []
    for schedd, submitter, reason, preempted, jobs, slots in runs:
        procs = ((cluster, proc) for cluster, first, count in jobs for proc in range(first, first + count))
        for (cluster, proc), slot in zip(procs, slots, strict=True):
            matches.append(MatchRecord(len(matches), schedd, cluster, proc, submitter, slot, reason, preempted))
    return matches
