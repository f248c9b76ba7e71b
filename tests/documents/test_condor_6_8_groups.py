"""Condor 6.8's manual, sentence by sentence, where it says other things than Condor 7 and HTCondor 8."""

import pytest
from tests.documents.condor_pool import CONDOR_6_8, PHYSICS, make_pool
from tests.documents.sentences import NotNormative, says

TEXT = CONDOR_6_8

pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative("Introduction, EUP, Priority Calculation", "Announcements and references to other sections.",
                 "as in HTCondor 8"),
    NotNormative("EUP, paragraph 1, sentences 3 and 4", "The factor is 1.0 unless configured.",
                 "HTCondor 8 says 1000, and holds; default_prio_factor = 1 is this"),
    NotNormative("Group Accounting, paragraph 2, length", "A name has at most 40 characters.",
                 "HTCondor 8 names no maximum, and holds; the flat model keeps it for groups"),
    NotNormative("Group Quotas, paragraph 1", "Why quotas are wanted, and what RANK would do instead.",
                 "describes the problem"),
    NotNormative("Group Quotas, no verification", "Nobody checks that a user is a member of his group.",
                 "says that nothing is checked"),
]  # fmt: skip


@says("Group Accounting, periods")
def test_a_period_has_no_meaning_without_groups(pool):
    """A period in an accounting group's name has no meaning for accounting: it is part of the name."""
    pool.slots(2)
    pool.submit("b", 1, group="a")
    pool.submit("c", 1, group="a")
    assert pool.got() == {"a.b": 1, "a.c": 1}


@says("Group Quotas, quotas in numbers of slots")
def test_quotas_are_numbers_of_slots(pool):
    """A quota is a number of slots, to which a group's users have preference."""
    pool.settings(PHYSICS + '[negotiator]\nquota_model = "flat"\n')
    pool.slots(30)
    pool.submit("ann", 60)
    pool.submit("newton", 60, group="group_physics")
    assert pool.groups_got() == {"group_physics": 20, "<none>": 10}
