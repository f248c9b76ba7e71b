"""Schedds, global job priorities, what is passed over after a failure, and what tells jobs apart."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.negotiation.pools import cycle, jobs, matched, slots

from fairq.engine.negotiation.autoclusters import SignificantAttributes
from fairq.engine.negotiation.rejections import RejectReason

NEVER = {"Requirements": False}


def order(decision):
    """Submitter, schedd and cluster of every match, in the order made."""
    return [(match.submitter, match.schedd, match.cluster) for match in decision.matches]


class TestSchedds:
    """One submitter at several schedds."""

    def test_a_name_has_one_share_at_all_its_schedds(self):
        """Two schedds do not double a submitter's part of the pool."""
        wants = {"a@x!s2": [jobs(9)], "a@x!s1": [jobs(9)], "b@x!s1": [jobs(9)]}
        decision = cycle(slots(8), wants, {"a@x": 10, "b@x": 10})

        got: dict[str, int] = {}
        for entry in decision.submitters:
            got[entry.submitter] = got.get(entry.submitter, 0) + entry.matched
            assert entry.share == 0.5
        assert got == {"a@x": 4, "b@x": 4}

    def test_schedds_take_turns_by_name(self):
        """Whichever way they are listed, the first by name goes first, and the next sees what it used."""
        wants = {"a@x!s2": [jobs(2)], "a@x!s1": [jobs(2)]}
        listed = [cycle(slots(3), dict(items)) for items in (wants.items(), reversed(wants.items()))]

        assert [[schedd for _, schedd, _ in order(decision)] for decision in listed] == [["s1", "s1", "s2"]] * 2


class TestGlobalPriorities:
    """USE_GLOBAL_JOB_PRIOS."""

    EQUAL: ClassVar[dict[str, float]] = {"a@x": 10.0, "b@x": 10.0}
    MIXED: ClassVar[dict[str, Any]] = {
        "a@x!s1": [jobs(2, JobPrio=5), jobs(2, JobPrio=1)],
        "b@x!s1": [jobs(2, JobPrio=3)],
    }

    def test_priorities_decide_among_equal_submitters(self):
        """a's 5 goes before b's 3, and that before a's 1."""
        on = cycle(slots(12), self.MIXED, self.EQUAL, global_job_prios=500)
        off = cycle(slots(12), self.MIXED, self.EQUAL)

        assert [cluster for _, _, cluster in order(on)] == [1, 1, 3, 3, 2, 2]
        assert [cluster for _, _, cluster in order(off)] == [1, 1, 2, 2, 3, 3]

    def test_user_priority_comes_first(self):
        """Where submitters are not equal, their own priorities decide."""
        decision = cycle(slots(12), self.MIXED, {"a@x": 10, "b@x": 5}, global_job_prios=500)

        assert [cluster for _, _, cluster in order(decision)] == [3, 3, 1, 1, 2, 2]

    def test_one_submitter_is_one_record_and_one_request(self):
        """Neighbouring priorities of one submitter are one entry; alike jobs of it one request."""
        wants = {"a@x": [jobs(2, JobPrio=5), jobs(2, JobPrio=1)]}
        decision = cycle(slots(12), wants, global_job_prios=500)

        (submitter,) = decision.submitters
        assert (submitter.matched, submitter.idle) == (4, 4)
        assert {match.request for match in decision.matches} == {(1, 0)}

    def test_more_priorities_than_allowed_go_with_the_last(self):
        """With two priorities allowed, the third is offered with the second."""
        wants = {**self.MIXED, "a@x!s1": [jobs(1, JobPrio=prio) for prio in (9, 5, 1)]}
        decision = cycle(slots(12), wants, self.EQUAL, global_job_prios=2)

        assert [cluster for _, _, cluster in order(decision)] == [1, 2, 3, 4, 4]

    def test_every_entry_counts_in_the_first_spins_sum_alone(self):
        """As recorded: two submitters with three entries over 9 slots; nobody gets more than its share."""
        decision = cycle(slots(9), {"a@x": [jobs(9, JobPrio=5), jobs(9, JobPrio=1)], "b@x": [jobs(9, JobPrio=3)]},
                         self.EQUAL, global_job_prios=500)  # fmt: skip

        assert sorted(matched(decision).values()) in ([4, 4], [4, 5])


class TestPassingOver:
    """What a failure means for the jobs behind."""

    WANTS: ClassVar[dict[str, Any]] = {"a@x": [jobs(1, **NEVER), jobs(1), jobs(1, **NEVER), jobs(1), jobs(1, **NEVER)]}

    def test_alike_jobs_are_passed_over(self):
        """The third and the fifth cluster are like the first, so they are not offered."""
        decision = cycle(slots(9), self.WANTS)

        assert [rejection.request for rejection in decision.rejections] == [(1, 0)]

    @pytest.mark.parametrize(("skip_by", "offered"), [("cluster", [(1, 0)]), ("nothing", [(1, 0), (3, 0), (5, 0)])])
    def test_other_clusters_are_tried(self, skip_by, offered):
        """Passing over nothing offers the others, too; by cluster they are known to fail as the first did."""
        decision = cycle(slots(9), self.WANTS, skip_by=skip_by)

        assert [rejection.request for rejection in decision.rejections] == offered
        assert matched(decision) == {"a@x": 2}

    def test_a_cluster_whose_first_job_is_known_to_fail_is_passed_over(self):
        """The first job of the second cluster is like one that failed: the other job of that cluster has no turn."""
        two = {**jobs(1)[1], "Requirements": '/Expr(ProcId == 0 ? Never : TARGET.Arch == "X86_64")/', "Never": False}
        decision = cycle(slots(9), {"a@x": [(1, two), (2, two), jobs(1)]}, skip_by="cluster")

        assert [match.request[0] for match in decision.matches] == [3]

    def test_being_stopped_by_the_slice_is_no_failure(self):
        """A's big job fits its slice of no slot; the small one of the same cluster is tried."""
        wish = "/Expr(TARGET.Cpus >= (ProcId == 0 ? 4 : 1) && (ProcId == 0 || TARGET.Cpus < 4))/"
        pool = [*slots(2), *({**slot, "Cpus": 4, "Name": f"slot1@big{n}"} for n, slot in enumerate(slots(1)))]
        decision = cycle(pool, {"a@x": [jobs(2, Requirements=wish)], "b@x": [jobs(2, Requirements=wish)]})

        assert matched(decision) == {"a@x": 2, "b@x": 1}

    def test_significant_attributes_say_what_a_cluster_is(self):
        """Jobs of different clusters with the same Project are one cluster; those that differ in it are not."""
        chosen = SignificantAttributes(chosen=frozenset({"project"}))
        queue = [jobs(1, **NEVER, Project=1), jobs(1, Project=1), jobs(1, Project=2)]
        decision = cycle(slots(9), {"a@x": queue}, significant=chosen)

        assert [match.request[0] for match in decision.matches] == [3]

    @pytest.mark.parametrize(("skip_by", "got"), [("autocluster", 2), ("cluster", 0), ("nothing", 2)])
    def test_the_rest_of_a_cluster(self, skip_by, got):
        """By cluster, jobs that differ from the failed one are passed over, too."""
        choosy = '/Expr(ProcId == 0 ? false : TARGET.Arch == "X86_64")/'
        decision = cycle(slots(9), {"a@x": [jobs(3, Requirements=choosy)]}, skip_by=skip_by)

        assert matched(decision) == {"a@x": got}

    def test_without_request_counts_every_job_is_a_request(self):
        """Each match carries its own job's number, and so does the refusal."""
        counted, single = (cycle(slots(2), {"a@x": [jobs(3)]}, request_counts=counts) for counts in (True, False))

        assert [match.request for match in counted.matches] == [(1, 0), (1, 0)]
        assert [match.request for match in single.matches] == [(1, 0), (1, 1)]
        assert [rejection.request for rejection in single.rejections] in ([], [(1, 2)])

    def test_all_matches_of_a_request_have_its_first_job_whatever_the_slots_weigh(self):
        """Slots of one weight are matched together, then those of the next. As in cycles of the real negotiator."""
        pool = slots(5)
        for slot, weight in zip(pool, (2, 2, 1, 1, 1), strict=True):
            slot["SlotWeight"] = weight
        decision = cycle(pool, {"a@x": [jobs(5)]})
        assert [match.request for match in decision.matches] == [(1, 0)] * 5


class TestSignificantAttributes:
    """Which attributes make jobs different."""

    WANTS: ClassVar[dict[str, Any]] = {"a@x": [jobs(1, RequestMemory=4096), jobs(1, RequestMemory=512)]}

    @pytest.mark.parametrize(
        ("significant", "got"),
        [
            (SignificantAttributes(), 1),
            (SignificantAttributes(removed=frozenset({"requestmemory"})), 0),
            (SignificantAttributes(removed_pattern=re.compile("^Request", re.IGNORECASE)), 0),
            (SignificantAttributes(chosen=frozenset({"requestcpus"})), 0),
            (SignificantAttributes(chosen=frozenset({"requestcpus", "requestmemory"})), 1),
            (SignificantAttributes(frozenset({"requestcpus"}), added=frozenset({"requestmemory"})), 1),
        ],
    )
    def test_jobs_that_count_as_alike_are_judged_by_the_first(self, significant, got):
        """The first job is too big; the small one behind it is passed over where memory does not tell them apart."""
        assert matched(cycle(slots(5), self.WANTS, significant=significant)) == {"a@x": got}

    def test_added_attributes_tell_alike_jobs_apart(self):
        """Jobs that differ in an added attribute alone are offered each on its own."""
        wants = {"a@x": [jobs(1, **NEVER, Project=1), jobs(1, **NEVER, Project=2)]}
        added = SignificantAttributes(added=frozenset({"project"}))

        assert len(cycle(slots(5), wants).rejections) == 1
        assert len(cycle(slots(5), wants, significant=added).rejections) == 2


jobs_of = st.lists(st.tuples(st.integers(1, 4), st.integers(-2, 2), st.booleans()), min_size=1, max_size=4)


@given(
    st.dictionaries(st.sampled_from(["a@x!s1", "a@x!s2", "b@x!s1", "c@x"]), jobs_of, min_size=1),
    st.integers(1, 12),
    st.sampled_from([None, 1, 2, 500]),
    st.sampled_from(["autocluster", "cluster", "nothing"]),
)
def test_laws_of_the_queues(queues, size, most, skip_by):
    """However jobs are offered, no job runs twice, no slot is given twice, and only what is refused is refused."""
    wants: dict[str, Any] = {
        name: [jobs(count, JobPrio=priority, **({} if fits else NEVER)) for count, priority, fits in entries]
        for name, entries in queues.items()
    }
    decision = cycle(slots(size), wants, global_job_prios=most, skip_by=skip_by)

    made = [(match.schedd, match.cluster, match.proc) for match in decision.matches]
    assert len(made) == len(set(made))
    assert len({match.slot for match in decision.matches}) == len(made)
    assert sum(submitter.matched for submitter in decision.submitters) == len(made)
    fitting = sum(count for entries in queues.values() for count, _, fits in entries if fits)
    if skip_by == "nothing":
        assert len(made) >= min(size, fitting) - len({name.partition("!")[0] for name in wants})
    assert {rejection.reason for rejection in decision.rejections} <= {
        RejectReason.NO_MATCH,
        RejectReason.SUBMITTER_LIMIT,
    }
