"""Slots, claims, submitters, runs, cycles, history: what is stored comes back."""

import pytest
from tests.state.pools import ACTOR, fill

from fairq.common.past import CycleRecord, MatchRecord
from fairq.common.records import AccountingRecord, Actor, Change, Claim, Lease, Run, SlotRecord
from fairq.errors.base import StateError
from fairq.state import claims, cycles, history, meta, runs, slots, submitters
from fairq.state.connection import reading, writing


def slot(name, address="", **ad):
    return SlotRecord(0, name, dict(ad), address)


class TestSlots:
    def test_they_keep_the_order_in_which_they_came(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("b", Memory=1), slot("a", Memory=2)])
            slots.add(opened, [slot("c", Memory=3)])
            assert slots.load_names(opened) == ["b", "a", "c"]
            assert slots.load_ads(opened) == [{"Memory": 1}, {"Memory": 2}, {"Memory": 3}]
            assert slots.load_ids(opened) == [one.id for one in slots.load_all(opened)] == [1, 2, 3]
            assert slots.count(opened) == 3

    def test_a_slot_that_is_advertised_again_keeps_its_place_and_claim(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a", Memory=1), slot("b")])
            claims.store(opened, [Claim(1, "alice@x", 5, 1.0)])
            assert slots.add(opened, [slot("a", Memory=2), slot("c")]) == [1, 3]
            assert slots.load(opened, "a") == [SlotRecord(1, "a", {"Memory": 2})]
            assert len(claims.load_all(opened)) == 1

    def test_slots_of_one_name_differ_by_their_address(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a", "<1>"), slot("a", "<2>")])
            assert [one.address for one in slots.load(opened, "a")] == ["<1>", "<2>"]

    def test_a_new_pool_keeps_the_claims_of_slots_that_are_still_there(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b"), slot("c")])
            claims.store(opened, [Claim(number, f"user{number}@x", 5, 1.0) for number in (1, 2, 3)])
            lost = slots.replace_all(opened, [slot("c"), slot("new"), slot("a")])
            assert [claim.submitter for claim in lost] == ["user2@x"]
            kept = [(claim.slot_id, claim.submitter) for claim in claims.load_all(opened)]
            assert kept == [(1, "user3@x"), (3, "user1@x")]

    def test_a_slot_that_is_removed_takes_its_claim_along(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b")])
            claims.store(opened, [Claim(1, "alice@x", 5, 1.0)])
            assert [claim.submitter for claim in slots.remove(opened, [1, 9])] == ["alice@x"]
            assert slots.load_names(opened) == ["b"]
            assert claims.load_all(opened) == []

    def test_draining_is_switched_by_name(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b")])
            assert slots.set_draining(opened, ["b", "unknown"], True) == 1
            assert [found.draining for found in slots.load_all(opened)] == [False, True]

    def test_names_are_completed_in_order(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("slot2@é"), slot("slot1@m"), slot("other"), slot("slot1@m", "<2>")])
            assert slots.names_starting(opened, "slot") == ["slot1@m", "slot2@é"]
            assert slots.names_starting(opened, "slot", limit=1) == ["slot1@m"]
            assert slots.names_starting(opened, "slot%") == slots.names_starting(opened, "o", limit=0) == []


class TestClaims:
    def test_a_new_claim_takes_the_place_of_the_slot_s_former_one(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b")])
            claims.store(opened, [Claim(1, "alice@x", 5, 1.0, "", 1, 0), Claim(2, "bob@x", 5, 1.0, "", 2, 0)])
            claims.store(opened, [Claim(1, "bob@x", 6, 1.0, "", 2, 0), Claim(2, "alice@x", 6, 1.0, "", 1, 0)])
            assert [claim.submitter for claim in claims.load_all(opened)] == ["bob@x", "alice@x"]

    def test_a_job_has_one_slot(self, state):
        with pytest.raises(StateError), writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b")])
            claims.store(opened, [Claim(number, "alice@x", 5, 1.0, "", 1, 0) for number in (1, 2)])

    def test_they_are_found_by_job(self, state):
        with writing(state) as opened:
            slots.add(opened, [slot("a"), slot("b"), slot("c")])
            claims.store(opened, [Claim(4 - proc, "alice@x", 5, 1.0, "", 1, proc) for proc in (1, 2, 3)])
            found = claims.of_procs(opened, [("", 1, 2, 9), ("far", 1, 0, 9)])
            assert [(claim.proc, claim.slot_id) for claim in found] == [(2, 2), (3, 1)]

    def test_a_release_returns_what_it_released(self, state):
        with writing(state) as opened:
            fill(opened)
            assert [claim.submitter for claim in claims.release(opened, [3, 99])] == ["carol@z"]
            assert [claim.slot_id for claim in claims.load_all(opened)] == [2, 4, 5]


class TestSubmitters:
    def test_a_record_comes_back_as_it_was(self, state):
        lease = Lease(99, 1e10)
        record = AccountingRecord("a@x", priority=0.1 + 0.2, ceiling=5, factor_lease=lease, submitter_share=1 / 3)
        with writing(state) as opened:
            submitters.store(opened, [AccountingRecord("a@x", priority=9.0), AccountingRecord("<none>", is_group=True)])
            submitters.store(opened, [record])
        with reading(state) as opened:
            assert submitters.load(opened, "a@x") == record
            assert submitters.load_all(opened) == [AccountingRecord("<none>", is_group=True), record]
            assert submitters.load(opened, "b@x") is None
            assert submitters.names_starting(opened, "a") == ["a@x"]

    def test_deleted_records_are_gone(self, state):
        with writing(state) as opened:
            submitters.store(opened, [AccountingRecord("a@x"), AccountingRecord("b@x")])
            assert submitters.delete(opened, "a@x")
            assert not submitters.delete(opened, "a@x")
            opened.connection.execute("DELETE FROM submitter")
            assert submitters.load_all(opened) == []


class TestWhatIsKeptForGood:
    def test_runs_are_found_by_job(self, state):
        ended = [Run(1, proc, "a@x", "s", 1.5, 10, 20, "finished", 3) for proc in (2, 1)]
        with writing(state) as opened:
            runs.add(opened, [*ended, Run(2, 1, "a@x", "s", 1.0, 1, 2, "lost", schedd="far")])
        with reading(state) as opened:
            assert runs.load(opened, cluster=1) == ended
            assert runs.load(opened, cluster=1, proc=1) == ended[1:]
            assert len(runs.load(opened)) == 3

    def test_cycles_are_numbered_and_keep_their_matches(self, state):
        match = MatchRecord(0, "", 1, 0, "a@x", "s", "priority", "b@x")
        with writing(state) as opened:
            assert cycles.latest(opened) is None
            for number in (1, 2):
                assert cycles.next_number(opened) == number
                cycles.add(opened, CycleRecord(number, 10 * number, "documented", {"pie": 0.1}, [match]))
        with reading(state) as opened:
            assert cycles.latest(opened) == CycleRecord(2, 20, "documented", {"pie": 0.1}, [match])
            assert cycles.load(opened, 3) is None

    def test_the_history_tells_who_did_what_newest_last(self, state):
        other = Actor("bob", "fairq hold 1.0", 2000)
        with writing(state) as opened:
            history.record(opened, ACTOR, [Change("alice@x", None, {"Factor": 1.5}), Change("slots", 1, 2)])
            history.record(opened, other, [Change("1.0", "idle", "held")])
        with reading(state) as opened:
            assert [entry.subject for entry in history.load(opened)] == ["alice@x", "slots", "1.0"]
            assert [entry.subject for entry in history.load(opened, 2)] == ["slots", "1.0"]
            (first,) = history.load(opened, subject="alice@x")
            assert (first.user, first.command, first.time) == (ACTOR.user, ACTOR.command, ACTOR.time)
            assert (first.before, first.after) == (None, {"Factor": 1.5})
            assert [entry.number for entry in history.load(opened, user="bob")] == [3]

    @pytest.mark.parametrize(
        ("table", "column"), [("history", "time"), ("run", "slot"), ("cycle", "time"), ("match", "runs")]
    )
    @pytest.mark.parametrize("act", ["DELETE FROM {}", "UPDATE {} SET {} = 0"])
    def test_nothing_of_it_can_be_changed_or_deleted(self, state, table, column, act):
        with writing(state) as opened:
            fill(opened)
        with pytest.raises(StateError, match="append-only"), writing(state) as opened:
            opened.connection.execute(act.format(table, column))


def test_single_values_have_a_default(state):
    with writing(state) as opened:
        assert meta.get(opened, "last_update") is None
        assert meta.get(opened, "last_update", "0") == "0"
        meta.set(opened, "last_update", "5")
        meta.set(opened, "last_update", "6")
        assert meta.get(opened, "last_update", "0") == "6"
