"""Divides the pies of accounting groups: one for each turn of a group."""

from __future__ import annotations

from functools import partial

from fairq.engine.negotiation.dealing import deal_pie, pie_rules
from fairq.engine.negotiation.groups import Groups
from fairq.engine.negotiation.last_dealing import deal_among_groups
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.pie import Pie
from fairq.engine.negotiation.pie_rules import PieQuota
from fairq.engine.quotas.enforcement import room_under_caps
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.order import percent_of_quota_used
from fairq.engine.quotas.record import figures
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie
from fairq.engine.quotas.tree import QuotaGroup


def deal_group_pies(ledger: Ledger, groups: Groups) -> None:
    """Run all turns of all groups, and record them in the ledger's decision."""
    decision = ledger.decision
    before = [groups.used(group) for group in groups.tree.groups]
    rounds: FlatTurns | AllocationRounds
    if groups.is_flat:
        rounds = FlatTurns(groups.tree, groups.terms, groups, groups.policy.strict_priority)
    else:
        rounds = AllocationRounds(groups.tree, groups.policy, groups.terms, groups)
    for turn in rounds.run():
        if isinstance(turn, GroupPie):
            _deal_group_pie(ledger, groups, turn)
        else:
            for member in groups.members[turn.group.name]:
                member.pass_over(turn.limiting_group.name)
    decision.problems = groups.tree.problems
    decision.rounds = rounds.rounds
    decision.groups = rounds.turns
    decision.quotas = [
        figures(
            group,
            used_before=used_before,
            used_after=groups.used(group),
            subtree_used=groups.subtree_used(group),
            sort_key=rounds.keys[group.name],
            submitters=groups.size[group.name],
        )
        for group, used_before in zip(groups.tree.groups, before, strict=True)
    ]
    times = {group.name: int(group.round_robin_time) for group in groups.tree.groups}
    decision.round_robin_times = {name: time for name, time in times.items() if time}


def _deal_group_pie(ledger: Ledger, groups: Groups, pie: GroupPie) -> None:
    group = pie.group
    quota = PieQuota(
        limit=pie.limit,
        group=group.name,
        charged=pie.charged,
        caps_preemption=groups.is_flat,
        limiting_group=pie.limiting_group.name,
        leftovers=pie.again,
    )
    left = groups.members[group.name] = deal_pie(ledger, groups.members[group.name], quota)
    if groups.is_flat and group.autoregroup and not group.is_root:
        groups.members[groups.tree.root.name] += left


def deal_leftovers_of_groups(ledger: Ledger, groups: Groups) -> None:
    """Deal what fractions of slots in the groups' allocations left over: unused quota is for those who accept it.

    Each match goes to the group that uses the smallest part of its quota. A group that accepts no surplus stays within
    its quota, together with its subtree.
    """
    if groups.is_flat:
        return
    tree = groups.tree
    accepting = [
        group for group in [*tree.groups[1:], tree.root] if group.accept_surplus and groups.members[group.name]
    ]
    lines = {}
    for group in accepting:
        members = groups.members[group.name]
        quota = PieQuota(limit=None, group=group.name, limiting_group=group.limiting_group().name, leftovers=True)
        room = partial(room_under_caps, group, groups.subtree_used)
        lines[group.name] = Pie(ledger, pie_rules(ledger, quota), members).line(room, members)

    def percent_used(name: str) -> float:
        group: QuotaGroup = tree.find(name) or tree.root
        return percent_of_quota_used(groups.used(group), group.quota)

    deal_among_groups(lines, percent_used)
    for group in accepting:
        groups.members[group.name] = [of for of in groups.members[group.name] if of.queue.jobs_left]
