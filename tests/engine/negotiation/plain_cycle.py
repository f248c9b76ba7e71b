"""A negotiation cycle written out as the rules read, one slot and one expression at a time.

Slow and without any of the engine's shortcuts (columns, shared lists, buckets): what the engine is held against.
`PlainCycle` spins as today's negotiator, `PlainDocumentedCycle` as the manuals say; no groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.engine.negotiation.pools import NOW, PRE_JOB_RANK

from fairq.engine.classad import evaluate_scalar, expression_of, parse
from fairq.records import AccountingRecord, Ad

NONE, RANK, PRIO = 2, 1, 0


class PlainCycle:
    """One cycle; *queues* are each submitter's (cluster, ad, count), *records* give priority, ceiling and floor."""

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
        self.gate = parse(preemption_requirements)
        self.delta = delta
        self.preempting = consider_preemption
        self.weight = [float(slot.get("SlotWeight", slot["Cpus"])) for slot in pool]
        self.used: dict[str, float] = {}
        self.holder = [slot.get("RemoteUser") for slot in pool]
        for slot, user in enumerate(self.holder):
            if user is not None:
                self.used[user] = self.used.get(user, 0) + self.weight[slot]
        if not consider_preemption:
            self.holder = [None] * len(pool)
        self.free = [consider_preemption or slot["State"] != "Claimed" for slot in pool]
        self.matches: list[tuple[str, int, str, str | None]] = []

    def priority(self, name: str) -> float:
        record = self.records.get(name)
        if record is None:
            return 500.0
        return max(0.5, record.priority) * (record.priority_factor or 1000.0)

    def run(self) -> list[tuple[str, int, str, str | None]]:
        names = [name for name in self.queues if self.idle[name]]
        below = [n for n in names if 0 < self._floor(n) > self.used.get(n, 0.0)]
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

            left = sum(self._limit(name, worst, normal) for name in names)
            if not self.preempting and left <= 0:
                return
            spin += 1
            if first:
                starved = {n: self._starvation(self.used.get(n, 0.0), self._limit(n, worst, normal)) for n in names}
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
            before, count, staying = left, len(names), []
            for name in names:
                used = self.used.get(name, 0.0)
                unclaimed = self._limit(name, worst, normal)
                own = min(self._floor(name) - used, unclaimed) if floors else unclaimed
                own = min(own, left)
                record = self.records.get(name)
                ceiling = -1 if record is None else record.ceiling
                room = 1e300 if ceiling < 0 else max(0.0, float(ceiling - int(used)))
                if spin > 1 and (own < smallest or left < smallest):
                    staying.append(name)
                    continue
                if room == 0 or room < smallest:
                    continue
                done, left = self._turn(name, own, unclaimed, room, left, first and self.preempting)
                if not done:
                    staying.append(name)
            names = staying
            if floors or not names or not any(self.free) or not (left < before or len(names) < count):
                return

    def _limit(self, name: str, worst: float, normal: float) -> float:
        share = worst / (self.priority(name) * normal)
        return max(0.0, share * sum(self.weight) - self.used.get(name, 0.0))

    @staticmethod
    def _starvation(used: float, limit: float) -> float:
        return used / (used + limit) if used + limit > 0 else 1e300

    def _turn(
        self, name: str, limit: float, unclaimed: float, room: float, left: float, beyond: bool
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
                if used >= limit and not beyond:
                    return False, left
                if used >= room:
                    return False, left
                only_rank = used >= limit

                key = (id(request[2]), only_rank)
                fresh = listed != key
                if fresh:
                    listed = key
                    entries, over = self._list(name, request[2], only_rank, permits, permits_unclaimed)
                    search_limited = over
                found = None
                while entries:
                    slot, state = entries.pop(0)
                    cost = self.weight[slot]
                    if fresh or permits_unclaimed(cost) or (state != NONE and permits(cost)):
                        found = slot, state
                        break
                    search_limited = True
                if found is None:
                    limited = limited or search_limited
                    refused.append(request[2])
                    break
                slot, state = found
                cost = self.weight[slot]
                victim = self.holder[slot] if state != NONE else None
                if victim is not None:
                    self.used[victim] -= cost
                self.used[name] = self.used.get(name, 0.0) + cost
                used += cost
                used_unclaimed += cost if state == NONE else 0.0
                left -= cost
                self.free[slot] = False
                request[1] -= 1
                self.matches.append((name, request[0], self.pool[slot]["Name"], victim))
        return not (used >= limit or used >= room or limited), left

    def _list(
        self, name: str, job: Ad, only_rank: bool, permits: Any, permits_unclaimed: Any
    ) -> tuple[list[tuple[int, int]], bool]:
        entries = []
        over = False
        job = {**job, "Owner": name.partition("@")[0], "SubmitterUserPrio": self.priority(name)}
        for slot, ad in enumerate(self.pool):
            if not self.free[slot] or not self._suit(job, ad):
                continue
            holder = self.holder[slot]
            seen = ad if holder is None else {**ad, "RemoteUserPrio": self.priority(holder)}
            rank, current = self._number(ad["Rank"], ad, job, 0.0), self._number(ad["CurrentRank"], ad, job, 0.0)
            if only_rank and (holder is None or rank <= current):
                continue
            state = NONE
            if holder is not None:
                if rank > current:
                    state = RANK
                elif holder != name:
                    better = self.delta is None or self._is_better(name, holder)
                    if evaluate_scalar(self.gate, seen, job, NOW) is not True or not better or rank < current:
                        continue
                    state = PRIO
                else:
                    continue
            cost = self.weight[slot]
            if state != RANK and not (permits_unclaimed(cost) if state == NONE else permits(cost)):
                over = True
                continue
            before = self._number(f"/Expr({PRE_JOB_RANK})/", seen, job, -1e300)
            wish = self._number(job["Rank"], job, seen, 0.0)
            worst_first = self.priority(holder) if holder is not None else 0.0
            number = int(str(ad["Name"]).rpartition("m")[2])
            entries.append(((-before, -wish, -state, -worst_first, number), slot, state))
        return [(slot, state) for _, slot, state in sorted(entries)], over

    def _is_better(self, name: str, holder: str) -> bool:
        mine, theirs = self.priority(name), self.priority(holder)
        return theirs > mine and theirs - mine >= (self.delta or 0.0)

    @staticmethod
    def _suit(job: Ad, slot: Ad) -> bool:
        return all(
            evaluate_scalar(expression_of(my["Requirements"]), my, other, NOW) is True
            for my, other in ((job, slot), (slot, job))
        )

    @staticmethod
    def _number(value: Any, my: Ad, target: Ad, default: float) -> float:
        result = evaluate_scalar(expression_of(value), my, target, NOW)
        return float(result) if isinstance(result, bool | int | float) else default


class PlainDocumentedCycle(PlainCycle):
    """Slices are cut from what is free and what users in want have; what they leave over is dealt one by one."""

    def _pie(self, names: list[str], floors: bool) -> None:
        smallest, size = min(self.weight), sum(self.weight)
        first = True
        line: list[str] = []
        self.kept_from_others: set[str] = set()
        shares = sum(1 / self.priority(name) for name in names)
        while names:
            slices = self._slices(names)
            if first:
                starved = {n: self._starvation(self.used.get(n, 0.0), self._of(n, slices, floors)) for n in names}
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
                line = list(names)
            moved, staying = False, []
            for name in names:
                used = self.used.get(name, 0.0)
                part = max(0.0, size / self.priority(name) / shares - used)
                missing = min(self._floor(name) - used, part) if floors else part
                own = self._of(name, slices, floors)
                limit = max(own, missing) if first and self.preempting else own
                room = self._room(name)
                if not first and limit < smallest:
                    staying.append(name)
                elif room > 0 and room >= smallest:
                    before = len(self.matches)
                    if not self._documented_turn(name, limit, own, missing if first else 0.0, room, first):
                        staying.append(name)
                    moved |= len(self.matches) > before
            moved |= len(staying) < len(names)
            names, first = staying, False
            if floors or not moved or not self._free_weight():
                break
        may_preempt = self.preempting and any(who is not None for who in self.holder) and str(self.gate) != "false"

        def misses(name: str) -> float:
            used = self.used.get(name, 0.0)
            missing = max(0.0, size / self.priority(name) / shares - used)
            return min(self._floor(name) - used, missing) if floors else missing

        if may_preempt:
            self._deal_one_by_one(names, floors, misses, by_priority=True)
        self._deal_one_by_one(names, floors, lambda name: 1e300)
        if not may_preempt:
            return
        # Who was kept from slots of others alone may have waited for a free one that is gone.
        for name in line:
            if name not in names and name not in self.kept_from_others:
                continue
            room, missing = self._room(name), misses(name)
            if missing > 0 and not (room == 0 or room < smallest):
                self._documented_turn(name, missing, 0.0, missing, room, first=False, free_first=False)

    def _free_weight(self) -> float:
        return sum(w for w, free, who in zip(self.weight, self.free, self.holder, strict=True) if free and who is None)

    def _slices(self, names: list[str]) -> dict[str, float]:
        """Leave out whoever has more than its part, one at a time, until nobody has."""
        wanting = [name for name in names if any(request[1] for request in self.queues[name])]
        while True:
            total = self._free_weight() + sum(self.used.get(name, 0.0) for name in wanting)
            shares = sum(1 / self.priority(name) for name in wanting)
            slices = {n: total / self.priority(n) / shares - self.used.get(n, 0.0) for n in wanting}
            least = min(slices, key=lambda name: slices[name], default=None)
            if least is None or slices[least] >= -1e-9:
                return {name: round(own, 6) for name, own in slices.items()}
            wanting.remove(least)

    def _of(self, name: str, slices: dict[str, float], floors: bool) -> float:
        own = slices.get(name, 0.0)
        return max(0.0, min(own, self._floor(name) - self.used.get(name, 0.0)) if floors else own)

    def _room(self, name: str) -> float:
        record = self.records.get(name)
        if record is None or record.ceiling < 0:
            return 1e300
        return max(0.0, float(record.ceiling - int(self.used.get(name, 0.0))))

    def _documented_turn(
        self, name: str, limit: float, own: float, missing: float, room: float, first: bool, free_first: bool = True
    ) -> bool:
        """Hold a turn; whether the submitter needs no other one."""
        had = self.used.get(name, 0.0)
        used = free_used = 0.0
        kept_from_free = kept = False
        refused: list[Ad] = []

        def permits(cost: float, state: int) -> bool:
            if state == NONE:
                return free_used + cost <= own + 1e-6 and used + cost <= room
            return state == RANK or used + cost <= missing or (had <= 0 and used <= 0 < missing)

        for request in [r for r in self.queues[name] if r[1]]:
            if any(request[2] == ad for ad in refused):
                continue
            while request[1]:
                if used >= limit and not (first and self.preempting):
                    return False
                if used >= room:
                    return True
                found, passed_free, kept_here = None, False, False
                for slot, state in self._candidates(name, request[2], used >= limit):
                    # Nobody is preempted by priority while a better slot is free that may still be dealt.
                    if permits(self.weight[slot], state) and not (state == PRIO and passed_free and free_first):
                        found = slot, state
                        break
                    passed_free |= state == NONE
                    kept_here = True
                if found is None:
                    kept |= kept_here
                    kept_from_free |= passed_free
                    refused.append(request[2])
                    break
                slot, state = found
                self._give(name, request, slot, state)
                used += self.weight[slot]
                free_used += self.weight[slot] if state == NONE else 0.0
        if not any(request[1] for request in self.queues[name]) or room - used < min(self.weight):
            return True
        done = not (used >= limit or used >= room or kept_from_free)
        if done and kept:
            self.kept_from_others.add(name)
        return done

    def _candidates(self, name: str, job: Ad, only_rank: bool) -> list[tuple[int, int]]:
        entries, _ = self._list(name, job, only_rank, lambda cost: True, lambda cost: True)
        return entries

    def _give(self, name: str, request: list[Any], slot: int, state: int) -> None:
        cost, victim = self.weight[slot], self.holder[slot] if state != NONE else None
        if victim is not None:
            self.used[victim] -= cost
        self.used[name] = self.used.get(name, 0.0) + cost
        self.free[slot] = False
        request[1] -= 1
        self.matches.append((name, request[0], self.pool[slot]["Name"], victim))

    def _place(self, name: str, by_priority: bool) -> tuple[float, float, str]:
        priority = self.priority(name)
        ratio = round(self.used.get(name, 0.0) * priority, 6)
        return (priority, ratio, name) if by_priority else (ratio, priority, name)

    def _deal_one_by_one(
        self, names: list[str], floors: bool, bound: Callable[[str], float], by_priority: bool = False
    ) -> None:
        parties = list(names)
        while parties:
            name = min(parties, key=lambda n: self._place(n, by_priority))
            below = not floors or self.used.get(name, 0.0) < self._floor(name)
            if not below or not self._deal_one(name, bound(name)):
                parties.remove(name)

    def _deal_one(self, name: str, bound: float) -> bool:
        room = min(self._room(name), bound + 1e-6)
        if self._room(name) < min(self.weight) or bound < min(self.weight):
            return False
        for request in self.queues[name]:
            if request[1]:
                for slot, state in self._candidates(name, request[2], only_rank=False):
                    if state == NONE and self.weight[slot] <= room:
                        self._give(name, request, slot, state)
                        return True
        return False
