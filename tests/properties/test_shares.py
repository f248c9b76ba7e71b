"""What holds for every share, every history and every set of task queues."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.engine.shares.queues import DIRAC, DOCUMENTED, chances, corrected, preset, registry

from fairq.engine.shares.choice import order
from fairq.engine.shares.corrector import Corrections
from fairq.engine.shares.division import FLOOR, recalculate
from fairq.engine.shares.explanation import explain, factor
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.match import Matcher
from fairq.engine.shares.queues import QueueTable, Requirements, RequirementTable, TaskQueue
from fairq.errors.shares import DiracStopsError, ShareCorrectionError

EPSILON = 1e-9

both_rules = pytest.mark.parametrize("rules", [DOCUMENTED, DIRAC], ids=["documented", "dirac"])

NAMES = st.sampled_from(["ann", "bob", "eve", "zoe"])
SHARES = st.dictionaries(NAMES, st.integers(1, 5000).map(float), min_size=1)
BOUNDS = st.integers(1, 20)
SLICES = st.lists(st.tuples(st.integers(1, 100), BOUNDS), min_size=1, max_size=3)
"""Weight and MaxCorrection of each."""

USE = st.floats(0.001, 1e6)
ANY_NUMBER = st.floats() | st.sampled_from([0.0, 5e-324, 1e308, -1.0])
"""Zero, the least and the largest, negative, infinite and none at all."""


def settings(slices, bound, scale=1):
    """One instance between groups, whose slices look back 1, 2, ... seconds."""
    inner = {
        f"S{span}": {"TimeSpan": span, "Weight": scale * weight, "MaxCorrection": maximum}
        for span, (weight, maximum) in enumerate(slices, 1)
    }
    return {"ShareCorrectorsToStart": "WMSHistory", "WMSHistory": {"I": {"MaxGlobalCorrection": bound, **inner}}}


def correct(rules, block, use, shares):
    """Correct *shares*; *use*: the report of each slice."""
    return corrected(rules, block, lambda request: use[int(request.span) - 1]).correct(shares)


USES = st.lists(st.dictionaries(NAMES, USE), min_size=3, max_size=3)


@both_rules
@given(SLICES, BOUNDS, USES, SHARES)
def test_corrections_stay_within_their_bounds(rules, slices, bound, use, shares):
    """Every slice's within its own, and the factor within the global one."""
    found = correct(rules, settings(slices, bound), use, shares)
    for name, share in shares.items():
        assert share / bound * (1 - EPSILON) <= found.shares[name] <= share * bound * (1 + EPSILON)
    for step in (step for steps in found.steps.values() for step in steps):
        for one in step.slices:
            assert one.clamped is None or 1 / one.maximum <= one.clamped <= one.maximum


@both_rules
@given(SLICES, BOUNDS, SHARES, st.lists(USE, min_size=3, max_size=3))
def test_balanced_use_changes_nothing(rules, slices, bound, shares, amounts):
    use = [{name: share * amount for name, share in shares.items()} for amount in amounts]
    assert correct(rules, settings(slices, bound), use, shares).shares == pytest.approx(shares)


@both_rules
@given(st.integers(4, 100), USE)
def test_three_times_the_share_gives_a_third(rules, users, amount):
    """Of so many equal users one had three times its part, and the others the rest."""
    shares = {f"user{number}": 1.0 for number in range(users)}
    use = dict.fromkeys(shares, amount * (users - 3) / (users - 1))
    use["user0"] = 3 * amount
    assume(use["user1"] > 0)
    found = correct(rules, settings([(1, 1000)], 1000), [use], shares).shares
    assert found["user0"] == pytest.approx(1 / 3)


@both_rules
@given(SLICES, BOUNDS, USES, SHARES, st.integers(2, 1000))
def test_scaling_all_weights_changes_nothing(rules, slices, bound, use, shares, scale):
    once = correct(rules, settings(slices, bound), use, shares)
    scaled = correct(rules, settings(slices, bound, scale), use, shares)
    assert scaled.shares == pytest.approx(once.shares)


@given(
    SLICES, BOUNDS,
    st.lists(st.none() | st.dictionaries(NAMES, ANY_NUMBER), min_size=3, max_size=3),
    st.dictionaries(NAMES, st.floats(0, 1e308) | st.sampled_from([0.0, 5e-324])),
)  # fmt: skip
def test_no_history_divides_by_zero(slices, bound, use, shares):
    """Whatever the reports say; DIRAC's rules end in an error of their own or in a result, too."""
    found = correct(DOCUMENTED, settings(slices, bound), use, shares).shares
    assert found.keys() == shares.keys()
    assert all(found[name] >= 0 for name in shares)
    with contextlib.suppress(DiracStopsError):
        correct(DIRAC, settings(slices, bound), use, shares)


OPTIONS = st.sampled_from([0, 1, -2, 0.5, "3", "many", "", 1e308])
POINTS = {
    "both_bound_names": st.booleans(), "whole_numbers": st.booleans(), "checked_settings": st.booleans(),
    "absent_weighted": st.booleans(), "zero_use": st.sampled_from(["absent", "error"]),
    "failed_report": st.sampled_from(["slice", "instance"]), "weight_of_skipped": st.sampled_from(["shared", "lost"]),
}  # fmt: skip


@given(
    st.fixed_dictionaries({}, optional=POINTS),
    st.dictionaries(st.sampled_from(["MaxGlobalCorrection", "MaxGlobalCorrectionFactor"]), OPTIONS),
    st.dictionaries(
        st.sampled_from(["A", "B"]),
        st.dictionaries(st.sampled_from(["TimeSpan", "Weight", "MaxCorrection", "Other"]), OPTIONS),
    ),
    st.dictionaries(NAMES, ANY_NUMBER),
    SHARES,
)
def test_whatever_the_settings_shares_come_out_or_a_clear_error(points, bounds, slices, use, shares):
    """Whichever points of the rules are mixed."""
    block = {"ShareCorrectorsToStart": "WMSHistory", "WMSHistory": {"I": {**bounds, **slices}}}
    for name in ("documented", "dirac"):
        with contextlib.suppress(DiracStopsError, ShareCorrectionError):
            found = corrected(preset(name, **points), block, lambda request: use).correct(shares)
            assert found.shares.keys() == shares.keys()


OWNERS = st.sampled_from(["ann", "bob", "all"])
GROUPS = st.sampled_from(["private", "shared", "background", "unknown"])
QUEUES = st.lists(
    st.tuples(
        OWNERS, GROUPS, st.sampled_from([(), ("GPU",), ("x", "y"), ("y", "x")]), st.sampled_from([(), ("A",), ("B",)]),
        st.integers(0, 5), st.sampled_from([1e-5, 1.0, 5.0, 1e6]),
    ),
    max_size=12,
)  # fmt: skip
REGISTRY = registry(
    OwnerGroup("private", 1000),
    OwnerGroup("shared", 3000, job_sharing=True),
    OwnerGroup("background", 7, background=True),
)


def priorities(queues):
    """The priority of each queue, by number."""
    result = recalculate(QueueTable.of(queues), REGISTRY, DOCUMENTED)
    return dict(zip(result.queues.ids.tolist(), result.priorities.tolist(), strict=True))


def task_queues(drawn):
    """The queues, numbered."""
    return [
        TaskQueue(number, Requirements(owner, group, 360, tags=tags, sites=sites), jobs, jobs * priority)
        for number, (owner, group, tags, sites, jobs, priority) in enumerate(drawn, 1)
    ]


@both_rules
@given(QUEUES)
def test_every_queue_with_jobs_gets_at_least_the_floor(rules, drawn):
    """And an emptied one nothing. (A user called "all" makes an exception of DIRAC.)"""
    queues = task_queues(drawn)
    for queue, priority in zip(queues, recalculate(QueueTable.of(queues), REGISTRY, rules).priorities, strict=True):
        if not queue.jobs:
            assert math.isnan(priority)
        elif rules is DOCUMENTED or queue.requirements.group == "shared":
            assert priority >= FLOOR


@both_rules
@given(st.integers(1, 30), st.data(), st.integers(1, 100_000))
def test_a_pool_of_queues_shares_out_its_share(rules, count, data, share):
    """Queues of which none is a variant of another, and none at the floor, get the group's share together."""
    averages = data.draw(st.lists(st.floats(1, 9), min_size=count, max_size=count))
    owners = data.draw(st.lists(OWNERS.filter(lambda name: name != "all"), min_size=count, max_size=count))
    queues = [
        TaskQueue(number, Requirements(owner, "g", number), 1, average)
        for number, (owner, average) in enumerate(zip(owners, averages, strict=True))
    ]
    for sharing in (True, False):
        found = recalculate(QueueTable.of(queues), registry(OwnerGroup("g", share, job_sharing=sharing)), rules)
        assert found.priorities.sum() == pytest.approx(share)
        if not sharing:
            for user in explain(found)[0].users:
                own = sum(one.priority for one in user.queues)
                assert own == pytest.approx(share / len(set(owners)))


JOBS = st.lists(st.floats(0.01, 1000), min_size=1, max_size=5)


@given(st.lists(JOBS, min_size=1, max_size=8), st.integers(1000, 100_000), st.booleans())
def test_by_the_schema_the_queues_of_a_pool_add_up_to_its_share_and_part_it_by_their_sums(jobs, share, sharing):
    """Also where queues differ in sites alone, whatever the UserPriorities above 0, unless one is at the floor."""
    queues = [
        TaskQueue(number, Requirements("ann", "g", 360, sites=(f"S{number}",)), len(given), sum(given))
        for number, given in enumerate(jobs)
    ]
    found = recalculate(
        QueueTable.of(queues), registry(OwnerGroup("g", share, job_sharing=sharing)), DOCUMENTED
    ).priorities
    total = sum(map(sum, jobs))
    expected = [max(share * sum(given) / total, FLOOR) for given in jobs]
    assert found.tolist() == pytest.approx(expected)
    assert found.sum() == pytest.approx(share, rel=1e-4)


@given(QUEUES, st.randoms(use_true_random=False))
def test_the_order_of_queues_does_not_matter(drawn, shuffle):
    queues = task_queues(drawn)
    mixed = queues.copy()
    shuffle.shuffle(mixed)
    found = dict(
        zip(
            (one.id for one in queues), recalculate(QueueTable.of(queues), REGISTRY, DOCUMENTED).priorities, strict=True
        )
    )
    other = dict(
        zip((one.id for one in mixed), recalculate(QueueTable.of(mixed), REGISTRY, DOCUMENTED).priorities, strict=True)
    )
    assert found == pytest.approx(other, nan_ok=True)


@both_rules
@given(QUEUES, SLICES, BOUNDS, st.dictionaries(GROUPS, USE))
def test_explanations_lead_to_the_priorities(rules, drawn, slices, bound, use):
    """Every queue is explained once; a share is what was expected times its factors, a priority its family's sum."""
    queues = task_queues(drawn)
    corrections = Corrections(rules, built_in())
    corrections.update(settings(slices, bound), lambda request: use)
    result = recalculate(QueueTable.of(queues), REGISTRY, rules, corrections)
    explained = {}
    for group in explain(result):
        assert group.share.share == pytest.approx(group.share.expected * factor(group.share.steps))
        for one in (one for user in group.users for one in user.queues):
            assert one.queue.id not in explained
            explained[one.queue.id] = one.priority
            assert (
                one.priority is None or one.own <= one.priority <= one.family * group.share.share + FLOOR * one.family
            )
    expected = {queue.id: priority for queue, priority in zip(queues, result.priorities.tolist(), strict=True)}
    assert {number: math.nan if one is None else one for number, one in explained.items()} == pytest.approx(
        expected, nan_ok=True
    )


VALUES = st.sampled_from(["A", "B", "any", "GPU", ""])
PILOTS = st.fixed_dictionaries(
    {"CPUTime": st.sampled_from([100, 360, 10**6])},
    optional={
        "Site": VALUES | st.lists(VALUES),
        "Tag": VALUES | st.lists(VALUES),
        "BannedSite": VALUES | st.lists(VALUES),
        "Owner": OWNERS,
        "OwnerGroup": GROUPS | st.lists(GROUPS, min_size=1),
        "MaxRAM": st.integers(0, 4000),
    },
)


@both_rules
@given(PILOTS, QUEUES, st.dictionaries(st.sampled_from(["Site", "Owner", "Tag"]), st.lists(VALUES | OWNERS)))
def test_a_queue_is_offered_exactly_if_nothing_speaks_against_it(rules, pilot, drawn, negative):
    matcher = Matcher(pilot, REGISTRY, rules, negative)
    asked = [queue.requirements for queue in task_queues(drawn)]
    assert matcher.matching(RequirementTable.of(asked)) == [
        place for place, one in enumerate(asked) if not matcher.refusals(one)
    ]


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20), st.integers(0, 1000))
def test_every_candidate_is_drawn_once_and_chances_add_up(weights, seed):
    """The heavier one never has the smaller chance."""
    for selection in ("dirac", "proportional", "strict"):
        drawn = order(weights, np.random.default_rng(seed).random, selection)
        assert sorted(drawn) == list(range(len(weights)))
        found = chances(weights, selection)
        assert sum(found) == pytest.approx(1)
        ranked = [found[place] for place in sorted(range(len(weights)), key=lambda place: weights[place])]
        if selection != "strict":
            assert ranked == pytest.approx(sorted(ranked), abs=EPSILON)
