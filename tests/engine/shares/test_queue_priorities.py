"""How shares become priorities of task queues."""

import math

import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED, corrected, history, instance, preset, queue, registry

from fairq.engine.shares.check import as_queried, as_written, check, common_priority
from fairq.engine.shares.division import recalculate
from fairq.engine.shares.explanation import explain
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.queues import QueueTable, Requirements, TaskQueue
from fairq.errors.shares import DiracStopsError

both_rules = pytest.mark.parametrize("rules", [DOCUMENTED, DIRAC], ids=["documented", "dirac"])


def priorities(queues, groups, rules=DOCUMENTED, corrections=None):
    return recalculate(QueueTable.of(queues), groups, rules, corrections).stored_priorities()


@both_rules
def test_queues_of_a_group_with_job_sharing_are_one_pool(rules):
    """Whoever owns them: each gets 1/N."""
    queues = [queue(1, "ann", "p", [1], rules), queue(2, "bob", "p", [1], rules), queue(3, "bob", "p", [1], rules)]
    assert priorities(queues, registry(OwnerGroup("p", 3000, job_sharing=True)), rules) == [1000, 1000, 1000]


@both_rules
def test_without_job_sharing_users_are_equal(rules):
    """Each queue gets 1/(N U): bob's two queues part what ann's one has."""
    queues = [queue(1, "ann", "u", [1], rules), queue(2, "bob", "u", [1], rules), queue(3, "bob", "u", [1], rules)]
    assert priorities(queues, registry(OwnerGroup("u", 1000)), rules) == [500, 250, 250]


@both_rules
def test_a_group_that_is_not_configured_has_the_default_share(rules):
    assert priorities([queue(1, "zed", "unknown", [1], rules)], {}, rules) == [1000]


def test_emptied_queues_count_among_the_users_under_dirac_rules_alone():
    """DIRAC divides by the owners in its table; the schema by those with waiting jobs."""
    for rules, share in ((DOCUMENTED, 1000), (DIRAC, 500)):
        queues = [queue(1, "ann", "u", [1], rules), queue(2, "gone", "u", [], rules)]
        found = priorities(queues, registry(OwnerGroup("u", 1000)), rules)
        assert found[0] == share
        assert math.isnan(found[1])


def test_queues_that_differ_in_sites_alone_are_given_their_sum_by_dirac():
    """So that work that is split by sites does not lose; by the schema each queue stands by itself."""
    asks = [{"sites": ("A",)}, {"sites": ("B",)}, {"banned_sites": ("C",)}, {"min_ram": 2000}]
    queues = [queue(n, "ann", "u", [1], DOCUMENTED, cpu_time=360, **ask) for n, ask in enumerate(asks, 1)]
    queues.append(queue(5, "ann", "u", [1], DOCUMENTED, cpu_time=3600))
    groups = registry(OwnerGroup("u", 1000))
    assert priorities(queues, groups) == pytest.approx([200] * 5)
    assert priorities(queues, groups, DIRAC) == pytest.approx([800, 800, 800, 800, 200])
    assert priorities(queues, groups, preset("dirac", site_families=False)) == pytest.approx([200] * 5)


def test_order_of_tags_makes_families_under_dirac_rules_alone():
    for rules, expected in ((preset("documented", site_families=True), [1000, 1000]), (DIRAC, [500, 500])):
        queues = [
            queue(1, "ann", "u", [1], rules, cpu_time=360, tags=("a", "b")),
            queue(2, "ann", "u", [1], rules, cpu_time=360, tags=("b", "a")),
        ]
        assert priorities(queues, registry(OwnerGroup("u", 1000)), rules) == expected


@both_rules
def test_background_queues_leave_the_share_to_the_others(rules):
    """One job of priority 1 among ten of 0 is background, too."""
    queues = [
        queue(1, "ann", "u", [0], rules),
        queue(2, "ann", "u", [1] + [0] * 10, rules),
        queue(3, "ann", "u", [1], rules),
    ]
    assert priorities(queues, registry(OwnerGroup("u", 1000, background=True)), rules) == [0.001, 0.001, 1000]
    assert priorities(queues, registry(OwnerGroup("u", 1000)), rules)[2] < 1000


def test_the_number_of_jobs_counts_for_the_schema_and_not_for_dirac():
    queues = [queue(1, "ann", "u", [1], DOCUMENTED), queue(2, "ann", "u", [1] * 9, DOCUMENTED)]
    groups = registry(OwnerGroup("u", 1000))
    assert priorities(queues, groups) == [100, 900]
    assert priorities(queues, groups, DIRAC) == [500, 500]


def test_a_user_called_all_hides_the_others_under_dirac_rules_alone():
    for rules, bob in ((DOCUMENTED, 500), (DIRAC, math.nan)):
        queues = [
            queue(1, "all", "u", [1], rules),
            queue(2, "all", "u", [1], rules),
            queue(3, "bob", "u", [1], rules),
        ]
        assert priorities(queues, registry(OwnerGroup("u", 1000)), rules) == pytest.approx([250, 250, bob], nan_ok=True)


def test_one_queue_of_a_user_called_all_hides_nobody():
    """DIRAC looks for the queues of a single user only if he has more than one."""
    queues = [queue(1, "all", "u", [1], DIRAC), queue(2, "bob", "u", [1], DIRAC)]
    assert priorities(queues, registry(OwnerGroup("u", 1000)), DIRAC) == [500, 500]


def test_no_queues_at_all():
    result = recalculate(
        QueueTable.of([]), registry(OwnerGroup("u")), DIRAC, corrected(DIRAC, instance(S={}), history({}))
    )
    assert (result.stored_priorities(), [one.users for one in explain(result)]) == ([], [()])


def test_jobs_that_weigh_nothing_part_the_share_evenly_and_stop_dirac():
    queues = [TaskQueue(n, Requirements("ann", "u", n), 1, 0.0) for n in (1, 2)]
    assert priorities(queues, registry(OwnerGroup("u", 1000))) == [500, 500]
    with pytest.raises(DiracStopsError, match="add up to 0"):
        priorities(queues, registry(OwnerGroup("u", 1000)), DIRAC)


def test_stored_priorities_are_compared_as_a_table_shows_them():
    """1000/3 is stored as 333.333; a queue that stayed at 1 is told, and that all of them do, too."""
    queues = [queue(n, owner, "u", [1], DIRAC) for n, owner in enumerate(("ann", "bob", "eve"), 1)]
    result = recalculate(QueueTable.of(queues), registry(OwnerGroup("u", 1000)), DIRAC)
    assert as_queried(as_written(1000 / 3)) == 333.333
    found = check(result, {1: 333.333, 2: 1.0})
    assert [(one.queue, one.verdict) for one in found] == [(1, "same"), (2, "differs"), (3, "missing")]
    assert (found[1].expected, found[1].stored) == (333.333, 1.0)
    assert common_priority({1: 1.0, 2: 1.0, 3: 1.0}) == 1.0
    assert common_priority({1: 1.0, 2: 2.0}) is None
