"""Divides the pies of accounting groups: one for each turn of a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fairq.engine.negotiation.dealing import deal_pie, pie_rules
from fairq.engine.negotiation.groups import Groups
from fairq.engine.negotiation.last_dealing import Line, deal_among_groups
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.pie import Pie
from fairq.engine.negotiation.pie_rules import PieQuota
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.engine.quotas.enforcement import Cap
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.order import percent_of_quota_used
from fairq.engine.quotas.record import figures
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie, Rounding
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
    for event in rounds.run():
        if isinstance(event, GroupPie):
            _deal_group_pie(ledger, groups, event)
        elif isinstance(event, Rounding):
            _round_fractions(ledger, groups, event.pies)
        else:
            for member in groups.members[event.group.name]:
                member.pass_over(event.limiting_group.name)
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
    left = groups.members[group.name] = deal_pie(ledger, groups.members[group.name], _quota(groups, pie, pie.charged))
    if groups.is_flat and group.autoregroup and not group.is_root:
        groups.members[groups.tree.root.name] += left


def _quota(groups: Groups, pie: GroupPie, charged: bool, caps: Sequence[Cap] = ()) -> PieQuota:
    """Return what binds a group's pie; *caps* besides the hard ones."""
    group = pie.group
    return PieQuota(
        limit=pie.limit,
        group=group.name,
        charged=charged,
        caps_preemption=groups.is_flat,
        limiting_group=pie.limiting_group.name,
        leftovers=pie.again,
        caps=groups.caps(group, caps),
    )


def _round_fractions(ledger: Ledger, groups: Groups, pies: Sequence[GroupPie]) -> None:
    """Deal single matches that bring groups nearer to their limits, which are fractions of a slot above their use."""
    if not ledger.policy.last_dealing or ledger.free_weight.total <= 0:
        return
    lines = {}
    for pie in pies:
        group, limit = pie.group, pie.limit
        members = groups.members[group.name]
        if members and pie.charged and limit is not None and groups.used(group) < limit:
            cap = Cap(
                pie.limiting_group.name,
                limit,
                partial(groups.used, group),
                frozenset([groups.tree.groups.index(group)]),
            )
            lines[group.name] = _line(ledger, _quota(groups, pie, False, [cap]), members)
    _deal_lines(groups, lines)


def _line(ledger: Ledger, quota: PieQuota, members: Sequence[SubmitterTurn]) -> Line[SubmitterTurn]:
    return Pie(ledger, pie_rules(ledger, quota), members).line(members)


def _deal_lines(groups: Groups, lines: Mapping[str, Line[SubmitterTurn]]) -> None:
    """Give each match to the group that uses the smallest part of its quota; who has no jobs left drops out."""
    tree = groups.tree

    def percent_used(name: str) -> float:
        group: QuotaGroup = tree.find(name) or tree.root
        return percent_of_quota_used(groups.used(group), group.quota)

    deal_among_groups(lines, percent_used)
    for name in lines:
        groups.members[name] = [of for of in groups.members[name] if of.queue.jobs_left]


def deal_leftovers_of_groups(ledger: Ledger, groups: Groups) -> None:
    """Deal what is still free: unused quota is for those who accept it, within the same parent before others.

    Each match goes to the group that uses the smallest part of its quota. A group that accepts no surplus stays within
    its quota, together with its subtree.
    """
    if groups.is_flat:
        return
    tree = groups.tree
    for parent in reversed(tree.groups):
        if not parent.children or ledger.free_weight.total <= 0:
            continue
        caps = [] if parent.is_root else [groups.cap(parent)]
        lines = {}
        for group in [*_accepting(parent), parent]:
            members = groups.members[group.name]
            if members:
                quota = PieQuota(
                    group=group.name,
                    limiting_group=group.limiting_group().name,
                    leftovers=True,
                    caps=groups.caps(group, caps),
                )
                lines[group.name] = _line(ledger, quota, members)
        _deal_lines(groups, lines)


def _accepting(parent: QuotaGroup) -> Iterator[QuotaGroup]:
    """Yield the groups below *parent* that get what it leaves: those that accept surplus, below such groups alone."""
    for child in parent.children:
        if child.accept_surplus:
            yield child
            yield from _accepting(child)
