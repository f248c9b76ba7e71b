"""A negotiation cycle written out as the rules read, one slot and one expression at a time.

Slow and without any of the engine's shortcuts (columns, shared lists, buckets): what the engine is held against.
`PlainCycle` spins as today's negotiator, without groups; `PlainDocumentedCycle` as the manuals say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.engine.negotiation.pools import NOW, PRE_JOB_RANK

from fairq.engine.classad import evaluate_scalar, expression_of, parse
from fairq.engine.negotiation.groups import quota_tree
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie, PoolTerms, Rounding
from fairq.engine.quotas.tree import QuotaGroup
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
        self.held: dict[str, float] = {}
        self.holder = [slot.get("RemoteUser") for slot in pool]
        for slot, user in enumerate(self.holder):
            if user is not None:
                self.held[user] = self.held.get(user, 0) + self.weight[slot]
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

            left = sum(self._limit(name, worst, normal) for name in names)
            if not self.preempting and left <= 0:
                return
            spin += 1
            if first:
                starved = {n: self._starvation(self.held.get(n, 0.0), self._limit(n, worst, normal)) for n in names}
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
            before, count, staying = left, len(names), []
            for name in names:
                used = self.held.get(name, 0.0)
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
        return max(0.0, share * sum(self.weight) - self.held.get(name, 0.0))

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
                    self.held[victim] -= cost
                self.held[name] = self.held.get(name, 0.0) + cost
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


class Turn(NamedTuple):
    """Whose pie is divided: a *group*, within its *limit*, under *caps* (quota, groups that count); None: all."""

    group: str | None = None
    limit: float | None = None
    caps: Sequence[tuple[float, Sequence[str]]] = ()
    again: bool = False


class PlainDocumentedCycle(PlainCycle):
    """Slices are cut from what is free and what users in want have; what they leave over is dealt one by one.

    With *quotas*, every group has a pie of its own. Quotas, allocations and the order of groups are the engine's.
    """

    def __init__(self, *arguments: Any, quotas: QuotaPolicy | None = None) -> None:
        super().__init__(*arguments)
        self.size = sum(self.weight)
        self.quotas = quotas
        self.turn = Turn()
        self.kept_from_others: set[str] = set()
        least = min(self.weight)
        self.demand = {
            name: self.held.get(name, 0.0)
            + sum(n * max(least, ad["RequestCpus"]) for _, n, ad in self.queues.get(name, []))
            for name in {*self.queues, *self.held}
        }
        for name in self.demand:
            record = self.records.get(name)
            if record is not None and record.ceiling >= 0:
                self.demand[name] = min(self.demand[name], record.ceiling)

    # groups

    def run(self) -> list[tuple[str, int, str, str | None]]:
        if self.quotas is None:
            return super().run()
        self.tree = tree = quota_tree(self.quotas, self.size)
        self.members = {group.name: [n for n in self.queues if self._group(n) == group.name] for group in tree.groups}
        flat = self.quotas.model == "flat"
        for group in tree.groups:
            idle = sum(n * ad["RequestCpus"] for name in self.members[group.name] for _, n, ad in self.queues[name])
            group.demand = self.used_by([group.name]) + idle
            if group.autoregroup and not group.is_root and not flat:
                self.members["<none>"] += self.members[group.name]
        terms = PoolTerms(self.size, NOW, self.preempting, use_slot_weights=True, std_sort=False)
        rounds = FlatTurns(tree, terms, self) if flat else AllocationRounds(tree, self.quotas, terms, self)
        for event in rounds.run():
            if isinstance(event, GroupPie):
                group = event.group
                limit = event.limit if event.charged else None
                left = self._group_pie(group.name, Turn(group.name, limit, self._caps(group), event.again))
                if flat and group.autoregroup and not group.is_root:
                    self.members["<none>"] += left
            elif isinstance(event, Rounding):
                caps = {
                    pie.group.name: [(pie.limit, [pie.group.name])]
                    for pie in event.pies
                    if pie.charged and pie.limit is not None and self.used(pie.group) < pie.limit
                }
                self._deal_to_groups(caps)
        for parent in reversed(tree.groups if not flat else []):
            if parent.children:
                own = [] if parent.is_root else [self._cap(parent)]
                self._deal_to_groups({group.name: own for group in [*self._accepting(parent), parent]})
        return self.matches

    def _group(self, name: str) -> str:
        path = name.rpartition("@")[0].rpartition(".")[0]
        while path and self.tree.find(path) is None:
            path = path.rpartition(".")[0]
        return path or "<none>"

    def _accepting(self, parent: QuotaGroup) -> list[QuotaGroup]:
        return [each for c in parent.children if c.accept_surplus for each in (c, *self._accepting(c))]

    def _below(self, group: QuotaGroup) -> list[str]:
        return [group.name, *(name for child in group.children for name in self._below(child))]

    def _cap(self, group: QuotaGroup) -> tuple[float, list[str]]:
        return group.subtree_quota, self._below(group)

    def _caps(self, group: QuotaGroup) -> list[tuple[float, list[str]]]:
        return [self._cap(above) for above in group.up() if not above.accept_surplus]

    def used_by(self, groups: Sequence[str]) -> float:
        return sum(used for name, used in self.held.items() if self._group(name) in groups)

    def used(self, group: QuotaGroup) -> float:
        return self.used_by([group.name])

    def subtree_used(self, group: QuotaGroup) -> float:
        return self.used_by(self._below(group))

    def has_submitters(self, group: QuotaGroup) -> bool:
        return bool(self.members[group.name])

    def _group_pie(self, group: str, turn: Turn) -> list[str]:
        self.turn = turn
        names = self.members[group]
        below = [n for n in names if 0 < self._floor(n) > self.held.get(n, 0.0)]
        if below:
            self._pie(below, floors=True)
        self.members[group] = self._pie(names, floors=False)
        return self.members[group]

    def _deal_to_groups(self, caps: Mapping[str, Sequence[tuple[float, Sequence[str]]]]) -> None:
        """One match at a time to the group that uses the smallest part of its quota."""
        open_ = {name: list(self.members[name]) for name in caps if self.members[name]}
        while open_:
            name = min(open_, key=self._part_used)
            group = self.tree.find(name) or self.tree.root
            self.turn = Turn(name, None, [*self._caps(group), *caps[name]], True)
            parties = open_[name]
            party = min(parties, key=lambda n: self._place(n, False), default=None)
            if party is None:
                del open_[name]
            elif not self._deal_one(party, 1e300):
                parties.remove(party)
        for name in caps:
            self.members[name] = [n for n in self.members[name] if any(r[1] for r in self.queues[n])]

    def _part_used(self, name: str) -> float:
        group = self.tree.find(name) or self.tree.root
        return 100.0 * self.used(group) / group.quota if group.quota > 1e-9 else 1e300

    def _within_caps(self, cost: float, victim: str | None) -> bool:
        for quota, groups in self.turn.caps:
            freed = cost if victim is not None and self._group(victim) in groups else 0.0
            if self.used_by(groups) - freed + cost > quota + min(0.5, cost / 2) + self.size * 1e-9:
                return False
        return True

    def _room_of_group(self) -> float:
        turn = self.turn
        return 1e300 if turn.limit is None or turn.group is None else turn.limit - self.used_by([turn.group])

    def _entitled(self) -> dict[str, float]:
        """By trial: the level at which the parts of all, each at most its demand, make up the pie."""
        mine = [name for name in self.demand if self._shares_pie(name)]
        pie = self.turn.limit
        if pie is None:
            pie = self.size - sum(used for name, used in self.held.items() if name not in mine)
        return {name: self._part(name, mine, max(0.0, pie)) for name in mine}

    def _shares_pie(self, name: str) -> bool:
        if self.turn.group is None:
            return True
        group = self._group(name)
        regroups = (self.tree.find(group) or self.tree.root).autoregroup
        return group == self.turn.group or (self.turn.group == "<none>" and regroups)

    def _part(self, me: str, names: Sequence[str], pie: float) -> float:
        satisfied: set[str] = set()
        while True:
            wanting = [name for name in names if name == me or name not in satisfied]
            left = pie - sum(self.demand[name] for name in satisfied if name != me)
            share = left / sum(1 / self.priority(name) for name in wanting)
            more = {n for n in wanting if n != me and self.demand[n] < share / self.priority(n)}
            if not more:
                return max(0.0, share / self.priority(me))
            satisfied |= more

    # one pie

    def _pie(self, names: list[str], floors: bool) -> list[str]:
        smallest = min(self.weight)
        first = True
        line: list[str] = []
        self.kept_from_others = set()
        entitled = {} if self.turn.again or not self.preempting else self._entitled()

        def misses(name: str) -> float:
            used = self.held.get(name, 0.0)
            missing = max(0.0, entitled.get(name, 0.0) - used - self.size * 1e-9)
            return min(self._floor(name) - used, missing) if floors else missing

        while names:
            ignores_limit = first and self.preempting
            if not ignores_limit and self._room_of_group() <= 0:
                break
            slices = self._slices(names)
            if first:
                starved = {n: self._starvation(self.held.get(n, 0.0), self._of(n, slices, floors)) for n in names}
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
                line = list(names)
            moved, staying = False, []
            for place, name in enumerate(names):
                if not ignores_limit and self._room_of_group() <= 0:
                    staying += names[place:]
                    break
                missing = misses(name) if first else 0.0
                own = self._of(name, slices, floors)
                limit = max(own, missing) if ignores_limit else own
                room = self._room(name)
                if not first and limit < smallest:
                    staying.append(name)
                elif room > 0 and room >= smallest:
                    before = len(self.matches)
                    if not self._documented_turn(name, limit, own, missing, room, first):
                        staying.append(name)
                    moved |= len(self.matches) > before
            moved |= len(staying) < len(names)
            names, first = staying, False
            if floors or not moved or not self._free_weight():
                break
        may_preempt = self.preempting and any(who is not None for who in self.holder) and str(self.gate) != "false"
        may_preempt &= not self.turn.again
        if may_preempt:
            # A match brings nearer to what is missing if it is less than twice that.
            self._deal_one_by_one(names, floors, lambda name: 2 * misses(name), by_priority=True)
        self._deal_one_by_one(names, floors, lambda name: 1e300)
        if may_preempt:
            # Who was kept from slots of others alone may have waited for a free one that is gone.
            for name in line:
                if name not in names and name not in self.kept_from_others:
                    continue
                room, missing = self._room(name), misses(name)
                if missing > 0 and not (room == 0 or room < smallest):
                    self._documented_turn(name, missing, 0.0, missing, room, first=False, free_first=False)
        return [name for name in names if any(request[1] for request in self.queues[name])]

    def _free_weight(self) -> float:
        return sum(w for w, free, who in zip(self.weight, self.free, self.holder, strict=True) if free and who is None)

    def _slices(self, names: list[str]) -> dict[str, float]:
        """Leave out whoever has more than its part, one at a time, until nobody has."""
        wanting = [name for name in names if any(request[1] for request in self.queues[name])]
        free = min(self._free_weight(), max(0.0, self._room_of_group()))
        while True:
            total = free + sum(self.held.get(name, 0.0) for name in wanting)
            shares = sum(1 / self.priority(name) for name in wanting)
            slices = {n: total / self.priority(n) / shares - self.held.get(n, 0.0) for n in wanting}
            least = min(slices, key=lambda name: slices[name], default=None)
            if least is None or slices[least] >= -1e-9:
                return {name: round(own, 6) for name, own in slices.items()}
            wanting.remove(least)

    def _of(self, name: str, slices: dict[str, float], floors: bool) -> float:
        own = slices.get(name, 0.0)
        return max(0.0, min(own, self._floor(name) - self.held.get(name, 0.0)) if floors else own)

    def _room(self, name: str) -> float:
        record = self.records.get(name)
        if record is None or record.ceiling < 0:
            return 1e300
        return max(0.0, float(record.ceiling - int(self.held.get(name, 0.0))))

    def _documented_turn(
        self, name: str, limit: float, own: float, missing: float, room: float, first: bool, free_first: bool = True
    ) -> bool:
        """Hold a turn; whether the submitter needs no other one."""
        used = free_used = 0.0
        kept_from_free = kept = False
        refused: list[Ad] = []

        def permits(cost: float, state: int, holder: str | None) -> bool:
            if not self._within_caps(cost, None if state == NONE else holder):
                return False
            if state == NONE:
                return free_used + cost <= own + self.size * 1e-9 and used + cost <= room
            return state == RANK or used + cost / 2 < missing

        for request in [r for r in self.queues[name] if r[1]]:
            if any(request[2] == ad for ad in refused):
                continue
            while request[1]:
                if used >= limit and not (first and self.preempting):
                    return False
                if used >= room:
                    return True
                least = min(self.weight)
                if not any(self.holder) and (own - free_used < least - 1e-9 or not self._within_caps(least, None)):
                    # Whom no slot fits any more is not asked what else it wants.
                    return False
                found, passed_free, kept_here = None, False, False
                for slot, state in self._candidates(name, request[2], used >= limit):
                    # Nobody is preempted by priority while a better slot is free that may still be dealt.
                    if permits(self.weight[slot], state, self.holder[slot]) and not (
                        state == PRIO and passed_free and free_first
                    ):
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
            self.held[victim] -= cost
        self.held[name] = self.held.get(name, 0.0) + cost
        self.free[slot] = False
        request[1] -= 1
        self.matches.append((name, request[0], self.pool[slot]["Name"], victim))

    def _place(self, name: str, by_priority: bool) -> tuple[float, float, str]:
        priority = self.priority(name)
        ratio = round(self.held.get(name, 0.0) * priority, 6)
        return (priority, ratio, name) if by_priority else (ratio, priority, name)

    def _deal_one_by_one(
        self, names: list[str], floors: bool, bound: Callable[[str], float], by_priority: bool = False
    ) -> None:
        parties = list(names)
        while parties:
            name = min(parties, key=lambda n: self._place(n, by_priority))
            below = not floors or self.held.get(name, 0.0) < self._floor(name)
            if not below or not self._deal_one(name, bound(name)):
                parties.remove(name)

    def _deal_one(self, name: str, bound: float) -> bool:
        room = min(self._room(name), bound, self._room_of_group()) + self.size * 1e-9
        if self._room(name) < min(self.weight) or bound < min(self.weight) or room < min(self.weight):
            return False
        for request in self.queues[name]:
            if request[1]:
                for slot, state in self._candidates(name, request[2], only_rank=False):
                    cost = self.weight[slot]
                    if state == NONE and cost <= room and self._within_caps(cost, None):
                        self._give(name, request, slot, state)
                        return True
        return False
