"""The cycle of the manuals, following the rules literally, with accounting groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.engine.negotiation.plain_cycle import NONE, PRIO, RANK, PlainCycle
from tests.engine.negotiation.pools import NOW

from fairq.common.records import Ad
from fairq.engine.quotas.assignment import quota_tree
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie, PoolTerms, Rounding
from fairq.engine.quotas.tree import QuotaGroup


class Turn(NamedTuple):
    """The pie of a *group* (None: of all submitters), within its *limit*, under *caps* (quota, groups that count)."""

    group: str | None = None
    limit: float | None = None
    caps: Sequence[tuple[float, Sequence[str]]] = ()
    again: bool = False


class PlainDocumentedCycle(PlainCycle):
    """Slices are cut from the free weight and the use of wanting users; what they leave is dealt one by one.

    With *quotas*, every group has a pie of its own. Quotas, allocations and the order of groups are the engine's.
    """

    def __init__(self, *arguments: Any, quotas: QuotaPolicy | None = None) -> None:
        super().__init__(*arguments)
        self.size = sum(self.weight)
        self.quotas = quotas
        self.turn = Turn()
        self.limited_to_busy_slots: set[str] = set()
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
        self.borrowed = self._borrowed()
        terms = PoolTerms(self.size, NOW, self.preempting, use_slot_weights=True, std_sort=False)
        rounds = FlatTurns(tree, terms, self) if flat else AllocationRounds(tree, self.quotas, terms, self)
        for event in rounds.run():
            if isinstance(event, GroupPie):
                group = event.group
                limit = event.limit if event.charged else None
                members_left = self._group_pie(group.name, Turn(group.name, limit, self._caps(group), event.again))
                if flat and group.autoregroup and not group.is_root:
                    self.members["<none>"] += members_left
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

    def _borrowed(self) -> set[int]:
        """The slots in use above the own quotas of groups, where all have been in use since the same time."""
        used, full, found = defaultdict[str, float](float), set[str](), set[int]()
        for slot, holder in enumerate(self.holder):
            if holder is None:
                continue
            group = self.tree.find(self._group(holder)) or self.tree.root
            cost = self.weight[slot]
            if group.name in full or used[group.name] + cost > group.quota + min(0.5, cost / 2) + 1e-9:
                full.add(group.name)
                found.add(slot)
            used[group.name] += cost
        return found

    def _accepting(self, parent: QuotaGroup) -> list[QuotaGroup]:
        return [
            group for child in parent.children if child.accept_surplus for group in (child, *self._accepting(child))
        ]

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
        """Give one match at a time to the group that uses the smallest part of its quota."""
        open_ = {name: list(self.members[name]) for name in caps if self.members[name]}
        while open_:
            name = min(open_, key=self._part_used)
            group = self.tree.find(name) or self.tree.root
            self.turn = Turn(name, None, [*self._caps(group), *caps[name]], True)
            parties = open_[name]
            party = min(parties, key=lambda n: self._deal_order(n, False), default=None)
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

    def _quota_left(self) -> float:
        turn = self.turn
        return 1e300 if turn.limit is None or turn.group is None else turn.limit - self.used_by([turn.group])

    def _entitled(self) -> dict[str, float]:
        """Return the entitlements, found by trial: parts rise, each up to its demand, until they fill the pie."""
        sharing = [name for name in self.demand if self._shares_pie(name)]
        pie = self.turn.limit
        if pie is None:
            pie = self.size - sum(used for name, used in self.held.items() if name not in sharing)
        return {name: self._part(name, sharing, max(0.0, pie)) for name in sharing}

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
            pie_left = pie - sum(self.demand[name] for name in satisfied if name != me)
            share = pie_left / sum(1 / self.priority(name) for name in wanting)
            satisfied_now = {n for n in wanting if n != me and self.demand[n] < share / self.priority(n)}
            if not satisfied_now:
                return max(0.0, share / self.priority(me))
            satisfied |= satisfied_now

    # one pie

    def _pie(self, names: list[str], floors: bool) -> list[str]:
        smallest = min(self.weight)
        first = True
        line: list[str] = []
        self.limited_to_busy_slots = set()
        entitled = {} if self.turn.again or not self.preempting else self._entitled()

        def misses(name: str) -> float:
            used = self.held.get(name, 0.0)
            missing = max(0.0, entitled.get(name, 0.0) - used - self.size * 1e-9)
            return min(self._floor(name) - used, missing) if floors else missing

        while names:
            ignores_limit = first and self.preempting
            if not ignores_limit and self._quota_left() <= 0:
                break
            slices = self._slices(names)
            if first:
                starved = {
                    n: self._starvation(self.held.get(n, 0.0), self._own_slice(n, slices, floors)) for n in names
                }
                names.sort(key=lambda n: (self.priority(n), starved[n], n))
                line = list(names)
            moved, staying = False, []
            for index, name in enumerate(names):
                if not ignores_limit and self._quota_left() <= 0:
                    staying += names[index:]
                    break
                missing = misses(name) if first else 0.0
                own_slice = self._own_slice(name, slices, floors)
                limit = max(own_slice, missing) if ignores_limit else own_slice
                ceiling_left = self._ceiling_left(name)
                if not first and limit < smallest:
                    staying.append(name)
                elif ceiling_left > 0 and ceiling_left >= smallest:
                    before = len(self.matches)
                    if not self._documented_turn(name, limit, own_slice, missing, ceiling_left, first):
                        staying.append(name)
                    moved |= len(self.matches) > before
            moved |= len(staying) < len(names)
            names, first = staying, False
            if floors or not moved or not self._free_weight():
                break
        may_preempt = self.preempting and str(self.requirements) != "false" and not self.turn.again
        if may_preempt:
            # A match of less than twice the missing weight brings the use nearer to the entitlement.
            self._deal_one_by_one(names, floors, lambda name: 2 * misses(name), by_priority=True)
        self._deal_one_by_one(names, floors, lambda name: 1e300)
        if may_preempt:
            # A submitter that the limit refused only busy slots may have waited for a free one that is now taken.
            for name in line:
                if name not in names and name not in self.limited_to_busy_slots:
                    continue
                ceiling_left, missing = self._ceiling_left(name), misses(name)
                if missing > 0 and not (ceiling_left == 0 or ceiling_left < smallest):
                    self._documented_turn(name, missing, 0.0, missing, ceiling_left, first=False, free_first=False)
        return [name for name in names if any(request[1] for request in self.queues[name])]

    def _free_weight(self) -> float:
        return sum(w for w, free, who in zip(self.weight, self.free, self.holder, strict=True) if free and who is None)

    def _slices(self, names: list[str]) -> dict[str, float]:
        """Return the slices: leave out users with more than their part, one at a time, until none is left."""
        wanting = [name for name in names if any(request[1] for request in self.queues[name])]
        free = min(self._free_weight(), max(0.0, self._quota_left()))
        while True:
            total = free + sum(self.held.get(name, 0.0) for name in wanting)
            shares = sum(1 / self.priority(name) for name in wanting)
            slices = {n: total / self.priority(n) / shares - self.held.get(n, 0.0) for n in wanting}
            smallest = min(slices, key=lambda name: slices[name], default=None)
            if smallest is None or slices[smallest] >= -1e-9:
                return {name: round(own_slice, 6) for name, own_slice in slices.items()}
            wanting.remove(smallest)

    def _own_slice(self, name: str, slices: dict[str, float], floors: bool) -> float:
        own_slice = slices.get(name, 0.0)
        return max(0.0, min(own_slice, self._floor(name) - self.held.get(name, 0.0)) if floors else own_slice)

    def _ceiling_left(self, name: str) -> float:
        record = self.records.get(name)
        if record is None or record.ceiling < 0:
            return 1e300
        return max(0.0, float(record.ceiling - int(self.held.get(name, 0.0))))

    def _documented_turn(
        self,
        name: str,
        limit: float,
        own_slice: float,
        missing: float,
        ceiling_left: float,
        first: bool,
        free_first: bool = True,
    ) -> bool:
        """Run a turn; return whether the submitter needs no other turn."""
        used = free_used = 0.0
        refused_free = is_refused = False
        refused: list[Ad] = []

        def permits(cost: float, state: int, holder: str | None) -> bool:
            if not self._within_caps(cost, None if state == NONE else holder):
                return False
            if state == NONE:
                return free_used + cost <= own_slice + self.size * 1e-9 and used + cost <= ceiling_left
            return state == RANK or used + cost / 2 < missing

        for request in [r for r in self.queues[name] if r[1]]:
            if any(request[2] == ad for ad in refused):
                continue
            while request[1]:
                if used >= limit and not (first and self.preempting):
                    return False
                if used >= ceiling_left:
                    return True
                least = min(self.weight)
                if not any(self.holder) and (
                    own_slice - free_used < least - 1e-9 or not self._within_caps(least, None)
                ):
                    # If no slot fits the limit, no further job is offered.
                    return False
                choice, passed_free, is_refused_here = None, False, False
                for slot, state in self._candidates(name, request[2], used >= limit):
                    # Priority preempts nothing while a better slot is free that may still be dealt.
                    if permits(self.weight[slot], state, self.holder[slot]) and not (
                        state == PRIO and passed_free and free_first
                    ):
                        choice = slot, state
                        break
                    passed_free |= state == NONE
                    is_refused_here = True
                if choice is None:
                    is_refused |= is_refused_here
                    refused_free |= passed_free
                    refused.append(request[2])
                    break
                slot, state = choice
                self._match(name, request, slot, state)
                used += self.weight[slot]
                free_used += self.weight[slot] if state == NONE else 0.0
        if not any(request[1] for request in self.queues[name]) or ceiling_left - used < min(self.weight):
            return True
        done = not (used >= limit or used >= ceiling_left or refused_free)
        if done and is_refused:
            self.limited_to_busy_slots.add(name)
        return done

    def _candidates(self, name: str, job: Ad, only_rank: bool) -> list[tuple[int, int]]:
        entries, _ = self._list(name, job, only_rank, lambda cost: True, lambda cost: True)
        return entries

    def _match(self, name: str, request: list[Any], slot: int, state: int) -> None:
        cost, victim = self.weight[slot], self.holder[slot] if state != NONE else None
        if victim is not None:
            self.held[victim] -= cost
        self.held[name] = self.held.get(name, 0.0) + cost
        self.free[slot] = False
        request[1] -= 1
        self.matches.append((name, request[0], self.pool[slot]["Name"], victim))

    def _deal_order(self, name: str, by_priority: bool) -> tuple[float, float, str]:
        priority = self.priority(name)
        ratio = round(self.held.get(name, 0.0) * priority, 6)
        return (priority, ratio, name) if by_priority else (ratio, priority, name)

    def _deal_one_by_one(
        self, names: list[str], floors: bool, bound: Callable[[str], float], by_priority: bool = False
    ) -> None:
        parties = list(names)
        while parties:
            name = min(parties, key=lambda n: self._deal_order(n, by_priority))
            below = not floors or self.held.get(name, 0.0) < self._floor(name)
            if not below or not self._deal_one(name, bound(name)):
                parties.remove(name)

    def _deal_one(self, name: str, bound: float) -> bool:
        most = min(self._ceiling_left(name), bound, self._quota_left()) + self.size * 1e-9
        if self._ceiling_left(name) < min(self.weight) or bound < min(self.weight) or most < min(self.weight):
            return False
        for request in self.queues[name]:
            if request[1]:
                for slot, state in self._candidates(name, request[2], only_rank=False):
                    cost = self.weight[slot]
                    if state == NONE and cost <= most and self._within_caps(cost, None):
                        self._match(name, request, slot, state)
                        return True
        return False
