"""One cycle of a real HTCondor beside fairq's, as the benchmark holds them; it runs where FAIRQ_TEST_ENGINES is set."""

import os

import pytest
from benchmarks.beside_htcondor import beside
from tests.engines.htcondor_pool import missing

_REASON = "" if os.environ.get("FAIRQ_TEST_ENGINES") else "needs FAIRQ_TEST_ENGINES to be set: it starts an HTCondor"
_REASON = _REASON or missing()
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON or "-")


# With more than 2,574 slots, condor_status -sort no no longer keeps the collector's order.
@pytest.mark.parametrize("pool", ["a3000-3000-10", "b300-300-20g", "a500-1000-10x"])
def test_the_next_cycle_of_a_running_pool_is_the_real_one(pool, monkeypatch):
    monkeypatch.setenv("CONDOR_CONFIG", "")
    _, _, found = beside(pool)
    assert found.same, found
