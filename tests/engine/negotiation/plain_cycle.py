"""A negotiation cycle that follows the rules literally, one slot and one expression at a time.

It is slow and has none of the engine's shortcuts (columns, shared lists, classes); tests compare the engine with it.
It spins as today's negotiator does, without groups; `plain_documented_cycle` has the cycle of the manuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.engine.negotiation.pools import NOW, PRE_JOB_RANK

from fairq.common.records import AccountingRecord, Ad
from fairq.engine.classad import evaluate_scalar, expression_of, parse

NONE, RANK, PRIO = 2, 1, 0


class PlainCycle:
    """One cycle; *queues* are each submitter's (cluster, count, ad), *records* have priority, ceiling and floor."""

    def __init__(
        self,
        pool: Sequence[Ad],
        queues: Mapping[str, Sequence[tuple[int, int, Ad]]],
        records: Mapping[str, AccountingRecord],
        preemption_requirements: str,
        delta: float | None,
        consider_preemption: bool,
    ) -> None:
        self.pool = [dict(slot) for slot in pool]
        self.queues = {name: [[c, n, ad] for c, n, ad in queue] for name, queue in queues.items()}
        self.idle = {name: sum(n for _, n, _ in queue) for name, queue in queues.items()}
        self.records = records
        self.requirements = parse(preemption_requirements)
        self.delta = delta
        self.preempting = consider_preemption
        self.weight = [float(slot.get("SlotWeight", slot["Cpus"])) for slot in pool]
        self.held: dict[str, float] = {}
        self.holder = [slot.get("RemoteUser") for slot in pool]
        for slot, user in enumerate(self.holder):
            if user is not None:
                self.held[user] = self.held.get(user, 0) + self.weight[slot]
        if not consider_preemption:
            self.holder = [None] * len(pool)
        self.free = [consider_preemption or slot["State"] != "Claimed" for slot in pool]
        self.matches: list[tuple[str, int, str, str | None]] = []
        self.borrowed = set[int]()

    def priority(self, name: str) -> float:
        record = self.records.get(name)
        if record is None:
            return 500.0
        return max(0.5, record.priority) * (record.priority_factor or 1000.0)

    def run(self) -> list[tuple[str, int, str, str | None]]:
        names = [name for name in self.queues if self.idle[name]]
        below = [n for n in names if 0 < self._floor(n) > self.held.get(n, 0.0)]
        if below:
            self._pie(below, floors=True)
        self._pie(names, floors=False)
        return self.matches

    def _floor(self, name: str) -> int:
        record = self.records.get(name)
        return 0 if record is None else record.floor

    def _pie(self, names: list[str], floors: bool) -> None:
        smallest = min(self.weight)
        spin = 0
        while True:
            first = spin == 0
            worst = max(map(self.priority, names))
            normal = sum(worst / self.priority(name) for name in names)

            pie_left = sum(self._limit(name, worst, normal) for name in names)
            if not self.preempting and pie_left <= 0:
                return
            spin += 1
            if first:
                starved = {n: self._starvation(self.held.get(n, 0.0), self._limit(n, worst, normal)) for n in names}
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
            before, count, staying = pie_left, len(names), []
            for name in names:
                used = self.held.get(name, 0.0)
                unclaimed = self._limit(name, worst, normal)
                own_limit = min(self._floor(name) - used, unclaimed) if floors else unclaimed
                own_limit = min(own_limit, pie_left)
                record = self.records.get(name)
                ceiling = -1 if record is None else record.ceiling
                ceiling_left = 1e300 if ceiling < 0 else max(0.0, float(ceiling - int(used)))
                if spin > 1 and (own_limit < smallest or pie_left < smallest):
                    staying.append(name)
                    continue
                if ceiling_left == 0 or ceiling_left < smallest:
                    continue
                done, pie_left = self._turn(
                    name, own_limit, unclaimed, ceiling_left, pie_left, first and self.preempting
                )
                if not done:
                    staying.append(name)
            names = staying
            if floors or not names or not any(self.free) or not (pie_left < before or len(names) < count):
                return

    def _limit(self, name: str, worst: float, normal: float) -> float:
        share = worst / (self.priority(name) * normal)
        return max(0.0, share * sum(self.weight) - self.held.get(name, 0.0))

    @staticmethod
    def _starvation(used: float, limit: float) -> float:
        return used / (used + limit) if used + limit > 0 else 1e300

    def _turn(
        self, name: str, limit: float, unclaimed: float, ceiling_left: float, pie_left: float, rank_beyond_limit: bool
    ) -> tuple[bool, float]:
        used = used_unclaimed = 0.0
        limited = False
        refused: list[Ad] = []
        listed: tuple[Any, ...] | None = None
        entries: list[tuple[int, int]] = []

        def permits(cost: float) -> bool:
            return used + cost <= limit or used <= 0 < limit

        def permits_unclaimed(cost: float) -> bool:
            return used_unclaimed + cost <= unclaimed or used_unclaimed <= 0 < unclaimed

        for request in [r for r in self.queues[name] if r[1]]:
            if any(request[2] == ad for ad in refused):
                continue
            while request[1]:
                if used >= limit and not rank_beyond_limit:
                    return False, pie_left
                if used >= ceiling_left:
                    return False, pie_left
                only_rank = used >= limit

                key = (id(request[2]), only_rank)
                is_new_list = listed != key
                if is_new_list:
                    listed = key
                    entries, is_limited = self._list(name, request[2], only_rank, permits, permits_unclaimed)
                    search_limited = is_limited
                choice = None
                while entries:
                    slot, state = entries.pop(0)
                    cost = self.weight[slot]
                    if is_new_list or permits_unclaimed(cost) or (state != NONE and permits(cost)):
                        choice = slot, state
                        break
                    search_limited = True
                if choice is None:
                    limited = limited or search_limited
                    refused.append(request[2])
                    break
                slot, state = choice
                cost = self.weight[slot]
                victim = self.holder[slot] if state != NONE else None
                if victim is not None:
                    self.held[victim] -= cost
                self.held[name] = self.held.get(name, 0.0) + cost
                used += cost
                used_unclaimed += cost if state == NONE else 0.0
                pie_left -= cost
                self.free[slot] = False
                request[1] -= 1
                self.matches.append((name, request[0], self.pool[slot]["Name"], victim))
        return not (used >= limit or used >= ceiling_left or limited), pie_left

    def _list(
        self, name: str, job: Ad, only_rank: bool, permits: Any, permits_unclaimed: Any
    ) -> tuple[list[tuple[int, int]], bool]:
        entries = []
        is_limited = False
        job = {**job, "Owner": name.partition("@")[0], "SubmitterUserPrio": self.priority(name)}
        for slot, ad in enumerate(self.pool):
            if not self.free[slot] or not self._match_each_other(job, ad):
                continue
            holder = self.holder[slot]
            slot_ad = ad if holder is None else {**ad, "RemoteUserPrio": self.priority(holder)}
            rank, current = self._number(ad["Rank"], ad, job, 0.0), self._number(ad["CurrentRank"], ad, job, 0.0)
            if only_rank and (holder is None or rank <= current):
                continue
            state = NONE
            if holder is not None:
                if rank > current:
                    state = RANK
                elif holder != name:
                    better = self.delta is None or self._is_better(name, holder)
                    if (
                        evaluate_scalar(self.requirements, slot_ad, job, NOW) is not True
                        or not better
                        or rank < current
                    ):
                        continue
                    state = PRIO
                else:
                    continue
            cost = self.weight[slot]
            if state != RANK and not (permits_unclaimed(cost) if state == NONE else permits(cost)):
                is_limited = True
                continue
            pre_job_rank = self._number(f"/Expr({PRE_JOB_RANK})/", slot_ad, job, -1e300)
            job_rank = self._number(job["Rank"], job, slot_ad, 0.0)
            preemption_rank = self.priority(holder) if holder is not None else 0.0
            number = int(str(ad["Name"]).rpartition("m")[2])
            tie = (slot not in self.borrowed, number)
            entries.append(((-pre_job_rank, -job_rank, -state, -preemption_rank, tie), slot, state))
        return [(slot, state) for _, slot, state in sorted(entries)], is_limited

    def _is_better(self, name: str, holder: str) -> bool:
        mine, theirs = self.priority(name), self.priority(holder)
        return theirs > mine and theirs - mine >= (self.delta or 0.0)

    @staticmethod
    def _match_each_other(job: Ad, slot: Ad) -> bool:
        return all(
            evaluate_scalar(expression_of(my["Requirements"]), my, other, NOW) is True
            for my, other in ((job, slot), (slot, job))
        )

    @staticmethod
    def _number(value: Any, my: Ad, target: Ad, default: float) -> float:
        result = evaluate_scalar(expression_of(value), my, target, NOW)
        return float(result) if isinstance(result, bool | int | float) else default
