"""Concurrency limits: jobs wait while what they share is used up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, matched, slots

from fairq.engine.negotiation.concurrency import parse_limits
from fairq.steps.cycle.document import rejection_words

BY_ARCH = '/Expr(TARGET.Arch == "ARM" ? "arm_license" : undefined)/'


def refusals(decision):
    """Who was refused and why, in the negotiator's words."""
    return [(rejection.submitter, rejection_words(rejection)) for rejection in decision.rejections]


class TestNames:
    """What a job may write."""

    @pytest.mark.parametrize(
        ("text", "limits"),
        [
            ("license", [("license", 1.0)]),
            ("License:2", [("license", 2.0)]),
            ("a, b:0.5 c", [("a", 1.0), ("b", 0.5), ("c", 1.0)]),
            ("db.x:3", [("db.x", 3.0)]),
            ("a,a", [("a", 2.0)]),
            ("a:0, b:-1, c:junk, d:", [(name, 1.0) for name in "abcd"]),
            ("a:2x", [("a", 2.0)]),
            ("a:1e400, b:nan", [("a", 1.0), ("b", 1.0)]),
            ("a.b.c, .x, x., 1st, my-db, é", []),
            ("", []),
            (" , ", []),
        ],
    )
    def test_names_and_amounts(self, text, limits):
        """Names in any case with an amount; one that is no number above 0 is 1; what is no name is ignored."""
        assert list(parse_limits(text)) == limits


class TestMaxima:
    """Where the most of a limit comes from."""

    @pytest.mark.parametrize(
        ("limits", "name", "got"),
        [
            ({"license": 3, "default": 9}, "license", 3),
            ({"license": 3, "default": 9}, "LICENSE", 3),
            ({"license": 3, "default": 4}, "other", 4),
            ({"db.x": 2, "default_db": 5, "default": 9}, "db.x", 2),
            ({"db.x": 2, "default_db": 5, "default": 9}, "db.y", 5),
            ({"db": 2, "default_db": 5, "default": 9}, "db", 2),
            ({"default_db": 5, "default": 9}, "web.y", 9),
            ({"license": 0, "default": 9}, "license", 0),
            ({"license": 3.5, "default": 9}, "license:1.5", 2),
            ({"a": 5, "b": 2, "default": 9}, "a, b", 2),
            ({"a": 5, "default": 9}, "a,a", 2),
        ],
    )
    def test_no_more_jobs_than_the_limit(self, limits, name, got):
        """The limit's own entry, else that of its prefix, else the general one decides."""
        decision = cycle(slots(12), {"a@x": [jobs(12, ConcurrencyLimits=name)]}, limits=limits)

        assert matched(decision) == {"a@x": got}

    @pytest.mark.parametrize(("rules", "got"), [({}, 2), (HTCONDOR, 3)])
    def test_today_a_name_given_twice_is_tested_one_by_one(self, rules, got):
        """Of 5, two jobs have 4: the documented rules refuse the third, today's negotiator counts it as 6."""
        limits = {"a": 5.0, "default": 9.0}
        decision = cycle(slots(12), {"a@x": [jobs(12, ConcurrencyLimits="a,a")]}, limits=limits, **rules)

        assert matched(decision) == {"a@x": got}

    @pytest.mark.parametrize(("rules", "words"), [({}, "concurrency limit a reached"), (HTCONDOR, "no match found")])
    def test_today_a_limit_is_not_told_that_was_free_when_the_list_was_made(self, rules, words):
        """The first of two jobs alike takes the one licence; the list was made for both."""
        pool = slots(4, License="a")
        wants = {"a@x": [jobs(2, ConcurrencyLimits="/Expr(TARGET.License)/")]}
        decision = cycle(pool, wants, limits={"a": 1.0}, **rules)

        assert refusals(decision) == [("a@x", words)]

    @pytest.mark.parametrize(("rules", "got"), [({}, 0), (HTCONDOR, 1)])
    def test_today_an_expression_is_tested_without_a_slot_and_counted_with_it(self, rules, got):
        """Without a slot the jobs of a@x ask for b; on these slots they count for a, so that b is left for b@x."""
        wanted = '/Expr(ifThenElse(TARGET.Arch =?= "X86_64", "a", "b"))/'
        wants = {"a@x": [jobs(2, ConcurrencyLimits=wanted)], "b@x": [jobs(1, ConcurrencyLimits="b")]}
        decision = cycle(slots(4), wants, {"a@x": 1, "b@x": 9}, limits={"a": 2.0, "b": 2.0}, **rules)

        assert matched(decision) == {"a@x": 2, "b@x": got}


class TestInUse:
    """What runs already counts."""

    def test_what_the_slots_advertise_counts(self):
        """Jobs on claimed slots, and those that wait to preempt them, use their limits; the figures tell it."""
        pool = slots(10)
        pool[0] = claimed(pool[0], "old@x", ConcurrencyLimits="license:2,other")
        pool[1] = claimed(pool[1], "old@x", PreemptingConcurrencyLimits="license")
        decision = cycle(pool, {"a@x": [jobs(9, ConcurrencyLimits="license")]}, limits={"license": 5, "default": 9})

        assert matched(decision) == {"a@x": 2}
        license_, other = decision.limits
        assert (license_.name, license_.in_use_before, license_.in_use, license_.maximum) == ("license", 3, 5, 5)
        assert (other.name, other.in_use, other.maximum) == ("other", 1, 9)

    def test_submitters_share_a_limit(self):
        """The better submitter goes first; jobs without the limit do not mind."""
        wants = {
            "a@x": [jobs(3, ConcurrencyLimits="license")],
            "b@x": [jobs(3, ConcurrencyLimits="license"), jobs(2)],
        }
        decision = cycle(slots(12), wants, {"a@x": 10, "b@x": 20}, limits={"license": 4})

        assert matched(decision) == {"a@x": 3, "b@x": 3}
        assert refusals(decision) == [("b@x", "concurrency limit license reached")]

    def test_nobody_is_preempted_to_get_back_under_a_limit(self):
        """More in use than allowed is left as it is."""
        pool = [claimed(slot, "old@x", ConcurrencyLimits="license") for slot in slots(3)]
        decision = cycle(pool, {"a@x": [jobs(1)]}, limits={"license": 1})

        assert decision.matches == []

    def test_the_first_limit_used_up_is_named(self):
        """Of several limits the reason names the first that has no room."""
        wants = {"a@x": [jobs(1, ConcurrencyLimits="full,db.y,db.z")]}
        decision = cycle(slots(1), wants, limits={"full": 1, "default_db": 0})

        assert refusals(decision) == [("a@x", "concurrency limit db.y reached")]


class TestBySlot:
    """Limits that hang on the slot."""

    @pytest.mark.parametrize("tie_break", ["slot_name", "std_sort"])
    def test_only_slots_with_room_are_taken(self, tie_break):
        """A job that needs a licence on some slots takes others once the licences are used up."""
        pool: list[dict[str, Any]] = slots(6)
        for slot in pool[:4]:
            slot["Arch"] = "ARM"
        wants = {"a@x": [jobs(6, ConcurrencyLimits=BY_ARCH, Requirements=True)]}
        decision = cycle(pool, wants, limits={"arm_license": 1}, tie_break=tie_break)

        assert sorted(match.slot for match in decision.matches) == [0, 4, 5]
        assert [match.concurrency_limits for match in decision.matches].count("arm_license") == 1
        assert refusals(decision) == [("a@x", "concurrency limit arm_license reached")]

    def test_an_expression_that_needs_no_slot_is_like_a_plain_text(self):
        """It is worked out from the job alone."""
        limits = '/Expr(strcat("lic", "ense", ":", RequestCpus))/'
        decision = cycle(slots(4), {"a@x": [jobs(4, ConcurrencyLimits=limits, RequestCpus=1)]}, limits={"license": 3})

        assert matched(decision) == {"a@x": 3}

    @pytest.mark.parametrize("value", [5, True, "/Expr(undefined)/", "/Expr(1/0)/", ["license"]])
    def test_what_is_no_text_is_no_limit(self, value):
        """Numbers and failing expressions do not hold a job back."""
        decision = cycle(slots(4), {"a@x": [jobs(4, ConcurrencyLimits=value)]}, limits={"license": 0})

        assert matched(decision) == {"a@x": 4}


class TestOrderOfReasons:
    """A concurrency limit is told before other reasons, and does not end the turn."""

    def test_it_is_told_where_nothing_matches_either(self):
        """The limit is looked at before any slot."""
        wants = {"a@x": [jobs(1, ConcurrencyLimits="license", Requirements=False)]}
        decision = cycle(slots(1), wants, limits={"license": 0})

        assert refusals(decision) == [("a@x", "concurrency limit license reached")]

    def test_jobs_behind_are_offered_still(self):
        """Other jobs of the same submitter follow after the refusal."""
        wants = {"a@x": [jobs(2, ConcurrencyLimits="license"), jobs(3)]}
        decision = cycle(slots(9), wants, limits={"license": 1})

        assert matched(decision) == {"a@x": 4}


amounts = st.sampled_from(["a", "b:2", "a:0.5", "a,b", "db.x:3", "db.y"])


@given(
    st.lists(st.tuples(st.sampled_from(["u@x", "v@x", "w@x"]), amounts, st.integers(1, 5)), min_size=1, max_size=6),
    st.fixed_dictionaries({name: st.integers(0, 6) for name in ("a", "b", "default_db", "default")}),
    st.integers(1, 15),
)
def test_no_limit_is_exceeded(wants, limits, size):
    """After any cycle no more of a limit is in use than there may be, and the figures are the matches' sums."""
    queues: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for name, text, count in wants:
        queues.setdefault(name, []).append(jobs(count, ConcurrencyLimits=text))
    decision = cycle(slots(size), queues, limits=limits)

    sums: dict[str, float] = {}
    for match in decision.matches:
        for name, amount in parse_limits(match.concurrency_limits or ""):
            sums[name] = sums.get(name, 0) + amount
    assert all(limit.in_use <= limit.maximum for limit in decision.limits)
    assert sums == {limit.name: limit.in_use for limit in decision.limits if limit.in_use}


@pytest.mark.parametrize(("adds_up", "told"), [(False, "license"), (True, "db, license")])
def test_limits_told_may_add_up(adds_up, told):
    """Today's negotiator names those of the refusals just before, too (recorded); of the same submitter alone."""
    wants = {
        "a@x": [jobs(1, ConcurrencyLimits="db"), jobs(1, ConcurrencyLimits="license")],
        "b@x": [jobs(1, ConcurrencyLimits="license")],
    }
    decision = cycle(slots(4), wants, limits={"license": 0, "db": 0}, limit_reasons_add_up=adds_up)

    words = [words for _, words in refusals(decision)][:3]
    assert words == [f"concurrency limit {names} reached" for names in ("db", told, "license")]


@pytest.mark.parametrize(("stay", "got"), [(False, 1), (True, 0)])
def test_limits_of_a_slot_may_stay_with_who_takes_it(stay, got):
    """Today's negotiator counts for a job without any those in the slot's ad once more (recorded)."""
    pool = [claimed(slots(1)[0], "v@x", ConcurrencyLimits="license", Rank=5, CurrentRank=0), *slots(2)[1:]]
    wants = {"a@x": [jobs(1, Requirements="/Expr(TARGET.Rank == 5)/")], "b@x": [jobs(1, ConcurrencyLimits="license")]}
    decision = cycle(pool, wants, {"a@x": 1.0, "b@x": 2.0}, limits={"license": 2}, limits_of_slots_stay=stay)

    assert matched(decision) == {"a@x": 1, "b@x": got}


def test_a_slot_refused_as_others_were_taken_does_not_keep_a_submitter_in_the_pie():
    """After two matches the license is used up; between them the share refused a slot of weight 2.

    It had been on the list, so the submitter got all it wants: it is not offered again in the second spin. Seen in a
    cycle of the real negotiator.
    """
    pool = slots(3)
    for slot, weight in zip(pool, (1, 2, 0.5), strict=True):
        slot["SlotWeight"] = weight
    wants = {"a@x": [jobs(3, ConcurrencyLimits="license")], "b@x": [jobs(1, RequestMemory=10**9)]}
    decision = cycle(pool, wants, limits={"license": 2, "default": 9}, **HTCONDOR)

    assert [match.slot for match in decision.matches] == [0, 2]
    assert [who for who, _ in refusals(decision)].count("a@x") == 1
