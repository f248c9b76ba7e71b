"""What holds for every tree of groups, every demand and every pool."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.engine.quotas.groups import rules_of

from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.order import negotiation_order, sort_keys
from fairq.engine.quotas.policy import GroupQuota
from fairq.engine.quotas.remainders import deal_remainders
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie, PoolTerms
from fairq.engine.quotas.surplus import share_fairly
from fairq.engine.quotas.tree import build_tree

EPSILON = 1e-6

FRACTIONS = st.integers(0, 20).map(lambda n: n / 20)
NUMBERS = st.integers(0, 40).map(float) | st.integers(0, 160).map(lambda n: n / 4)


@dataclass
class Site:
    """Groups, the size of the pool, and what each group's own submitters want."""

    groups: list[GroupQuota]
    size: float
    wants: dict[str, float]

    def tree(self, oversubscription=False):
        """The tree with its quotas and demands."""
        tree = build_tree(self.groups)
        assign_quotas(tree, self.size, oversubscription)
        for group in tree.groups:
            group.demand = group.requested = self.wants.get(group.name, 0.0)
        return tree

    def allocated(self):
        """What each group is allocated."""
        tree = self.tree()
        share_fairly(tree)
        return {group.name: group.allocated for group in tree.groups}


@st.composite
def sites(draw, surplus=None, whole=False):
    """Draw up to a dozen groups in up to four levels."""
    names: list[str] = []
    for number in range(draw(st.integers(1, 12))):
        parents = ["", *(name for name in names if name.count(".") < 3)]
        parent = draw(st.sampled_from(parents))
        names.append(f"{parent}.g{number}".lstrip("."))
    quota = st.integers(0, 40).map(float) if whole else NUMBERS
    groups = [
        GroupQuota(
            name,
            *draw(st.tuples(quota, st.none()) | st.tuples(st.none(), FRACTIONS)),
            accept_surplus=draw(st.booleans()) if surplus is None else surplus,
        )
        for name in names
    ]
    wants = {name: draw(quota) for name in ["<none>", *names]}
    return Site(groups, draw(st.integers(0, 100).map(float)), wants)


def below(tree, top):
    """The group and all below it."""
    return [group for group in tree.groups if top in group.up()]


@given(sites())
def test_no_more_is_allocated_than_the_pool_has(site):
    """Nor does anybody get more than asked for, or less than nothing."""
    allocated = site.allocated()

    assert sum(allocated.values()) <= site.size + EPSILON
    for name, amount in allocated.items():
        assert -EPSILON <= amount <= site.wants[name] + EPSILON


@given(sites())
def test_own_quotas_sum_to_the_pool(site):
    """Every slot belongs to exactly one group, and a subtree's quota is that of the groups in it."""
    tree = site.tree()

    for top in tree.groups:
        if top.subtree_quota > 0:
            assert math.isclose(sum(g.quota for g in below(tree, top)), top.subtree_quota, abs_tol=EPSILON)


@given(sites())
def test_nobody_gets_beyond_a_hard_cap_above(site):
    """All groups below one that takes no surplus have no more than its quota between them."""
    tree = site.tree()
    share_fairly(tree)

    for top in tree.groups:
        if not top.accept_surplus:
            assert sum(group.allocated for group in below(tree, top)) <= top.subtree_quota + EPSILON


@given(sites(), st.integers(1, 99))
def test_scaling_keeps_ratios(site, percent):
    """Where static quotas alone exceed what there is, siblings keep the ratio that is configured."""
    site.size *= percent / 100
    tree = site.tree()

    for parent in tree.groups:
        static = [child for child in parent.children if child.static]
        total = sum(child.config_quota for child in static)
        if total > parent.subtree_quota > 0:
            for child in static:
                expected = child.config_quota / total * parent.subtree_quota
                assert math.isclose(child.subtree_quota, expected, rel_tol=1e-9, abs_tol=1e-12)


@given(sites())
def test_surplus_shrinks_nobody(site):
    """Everybody has at least what it asks for out of its own quota."""
    tree = site.tree()
    share_fairly(tree)

    for group in tree.groups:
        assert group.allocated >= min(group.demand, group.quota) - EPSILON


@given(sites(), st.data())
def test_accepting_surplus_never_costs_the_group(site, data):
    """A group that starts to accept surplus has no less than before."""
    at = data.draw(st.integers(0, len(site.groups) - 1))
    group = site.groups[at]
    before = Site([*site.groups], site.size, site.wants)
    before.groups[at] = GroupQuota(group.name, group.quota, group.quota_dynamic, accept_surplus=False)
    site.groups[at] = GroupQuota(group.name, group.quota, group.quota_dynamic, accept_surplus=True)

    assert site.allocated()[group.name] >= before.allocated()[group.name] - EPSILON


@given(sites(), st.data(), st.integers(1, 40))
def test_raising_a_quota_never_lowers_that_group(site, data, more):
    """A leaf whose static quota is raised has no less for it."""
    parents = {group.name.rpartition(".")[0] for group in site.groups}
    leaves = [at for at, g in enumerate(site.groups) if g.quota is not None and g.name not in parents]
    if not leaves:
        return
    at = data.draw(st.sampled_from(leaves))
    group = site.groups[at]
    before = site.allocated()[group.name]
    site.groups[at] = GroupQuota(group.name, (group.quota or 0.0) + more, None, group.accept_surplus)

    assert site.allocated()[group.name] >= before - EPSILON


@given(sites(), st.randoms(use_true_random=False))
def test_the_order_of_configuration_lines_does_not_matter(site, random):
    """Whichever way the groups are listed, each has exactly the same."""
    shuffled = [*site.groups]
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert Site(shuffled, site.size, site.wants).allocated() == site.allocated()


@given(sites(whole=True), st.booleans())
def test_whole_slots_stay_within_the_fractions(site, std_sort):
    """Dealing out remainders makes every allocation whole and takes nobody more than a slot's part away."""
    tree = site.tree()
    share_fairly(tree)
    fractions = {group.name: group.allocated for group in tree.groups}
    deal_remainders(tree, std_sort)

    assert sum(group.allocated for group in tree.groups) <= site.size + EPSILON
    for group in tree.groups:
        assert group.allocated == int(group.allocated)
        assert math.floor(fractions[group.name] - EPSILON) <= group.allocated <= group.demand + EPSILON


class Slots:
    """A pool of slots alike in which every group takes what it may and wants."""

    def __init__(self, tree, size):
        self.free = size
        self.in_use = {group.name: 0.0 for group in tree.groups}
        self.tree = tree

    def used(self, group):
        return self.in_use[group.name]

    def subtree_used(self, group):
        return sum(self.in_use[each.name] for each in below(self.tree, group))

    def has_submitters(self, group):
        return self.in_use[group.name] < group.demand

    def deal(self, pie):
        group = pie.group
        allowed = self.free if not pie.charged or pie.limit is None else pie.limit - self.used(group)
        taken = math.floor(max(0.0, min(allowed, self.free, group.demand - self.used(group))))
        self.in_use[group.name] += taken
        self.free -= taken


def negotiated(site, use_slot_weights, policy=None):
    """Hold the rounds over slots of weight 1."""
    tree = site.tree()
    rules = policy or rules_of({})
    negotiator = Slots(tree, site.size)
    terms = PoolTerms(site.size, 0, consider_preemption=False, use_slot_weights=use_slot_weights, std_sort=False)
    for turn in AllocationRounds(tree, rules, terms, negotiator).run():
        if isinstance(turn, GroupPie):
            negotiator.deal(turn)
    return negotiator


@settings(max_examples=60)
@given(sites(whole=True))
def test_rounds_never_hand_out_more_than_there_is(site):
    """Neither more than the pool, nor beyond a hard cap, whatever the groups take."""
    negotiator = negotiated(site, use_slot_weights=True)

    assert sum(negotiator.in_use.values()) <= site.size
    for top in negotiator.tree.groups:
        if not top.accept_surplus:
            cap = top.config_quota if top.static else top.subtree_quota
            assert negotiator.subtree_used(top) <= cap + EPSILON


@settings(max_examples=60)
@given(sites(whole=True), st.booleans())
def test_a_second_chance_allocates_nothing_twice(site, keeps_quota):
    """With autoregroup <none> may use the whole pool, but the groups' allocations stay within it in every round.

    Today's negotiator shares out the whole pool once more from the second round on.
    """
    site.groups[0] = replace(site.groups[0], autoregroup=True)
    tree = site.tree()
    terms = PoolTerms(site.size, 0, consider_preemption=True, use_slot_weights=True, std_sort=False)
    slots = Slots(tree, site.size)
    rounds = AllocationRounds(tree, rules_of({}, regroup_keeps_quota=keeps_quota), terms, slots)
    for turn in rounds.run():
        if isinstance(turn, GroupPie):
            slots.deal(turn)

    for number in range(1, rounds.rounds + 1) if keeps_quota else [1]:
        allocated = {turn.group: turn.allocated for turn in rounds.turns if turn.round == number}
        assert allocated.pop("<none>") == site.size
        assert sum(allocated.values()) <= site.size + EPSILON


@settings(max_examples=60)
@given(sites(whole=True, surplus=False))
def test_slot_weights_do_not_matter_where_every_weight_is_one(site):
    """With whole quotas, no surplus and slots of weight 1, weights on or off hand out the same."""
    groups = [GroupQuota(g.name, g.quota if g.quota is not None else 1.0) for g in site.groups if "." not in g.name]
    plain = Site(groups, 40.0 * len(groups), site.wants)

    assert negotiated(plain, use_slot_weights=True).in_use == negotiated(plain, use_slot_weights=False).in_use


@given(st.lists(st.integers(0, 3), max_size=80))
def test_the_order_of_groups_is_that_of_their_keys(keys):
    """In either sort the keys ascend; equals stay in order in fairq's own."""
    tree = build_tree([GroupQuota(f"g{number:03}", 1.0) for number in range(len(keys))])
    values = [9.0, *map(float, keys)]
    at = {group.name: place for place, group in enumerate(tree.groups)}
    for std_sort in (False, True):
        order = [at[group.name] for group in negotiation_order(tree, values, std_sort)]
        assert [values[place] for place in order] == sorted(values)
        if not std_sort:
            assert order == sorted(range(len(values)), key=lambda place: values[place])


@given(sites())
def test_the_default_order_is_by_starvation(site):
    """The key is use over quota; without quota, and for <none>, it is last."""
    tree = site.tree()
    for number, group in enumerate(tree.groups):
        group.usage = float(number % 5)
    keys = sort_keys(tree, rules_of({}).sort_expression, 0)

    for group, key in zip(tree.groups[1:], keys[1:], strict=True):
        assert math.isclose(key, group.usage / group.quota if group.quota > 0 else 3.3e38)
    assert keys[0] == max(keys)
