"""Without preemption today's negotiator knows little of claimed slots: the pies of cycles of the real one (23.9.6)."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, slots

from fairq.engine.classad import parse


def pie(own, **changes):
    """The pie of a claimed slot of 4 cores, with its *own* attributes, and a free one."""
    pool = slots(2, Cpus=4, Requirements=True)
    pool[0] = claimed({**pool[0], **own}, "a@x")
    return cycle(pool, {"a@x": [jobs(1)]}, **{**HTCONDOR, "consider_preemption": False, **changes}).pie


def test_what_the_weight_reads_is_known_if_the_slot_has_a_weight():
    assert pie({"SlotWeight": "/Expr(Cpus * 2)/"}) == 12.0


def test_a_slot_without_a_weight_counts_one():
    assert pie({}) == 5.0


def test_what_the_requirements_read_is_known():
    assert pie({"Requirements": "/Expr(TARGET.RequestCpus <= MY.Cpus)/"}) == 8.0


def test_the_size_of_the_pool_asks_for_the_rest_in_vain():
    assert pie({"SlotWeight": 4}, pool_size=parse("Memory > 100")) == 4.0


@pytest.mark.parametrize("known", [{"consider_preemption": True}, {"rules": "documented"}])
def test_otherwise_all_is_known(known):
    assert pie({}, **known) == 8.0
    assert pie({"SlotWeight": 4}, pool_size=parse("Memory > 100"), **known) == 8.0
