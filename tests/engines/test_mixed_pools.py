"""Random pools in which everything occurs: a cycle of the real negotiator and one of fairq.

It runs where FAIRQ_TEST_ENGINES is set, and takes about three seconds for a pool. `tests.engines.explore` tries more.
"""

import os

import pytest
from tests.engines.beside import beside
from tests.engines.htcondor_pool import missing
from tests.engines.mixed_pools import drawn

_REASON = "" if os.environ.get("FAIRQ_TEST_ENGINES") else "needs FAIRQ_TEST_ENGINES to be set: it starts an HTCondor"
_REASON = _REASON or missing()
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON or "-")


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_matches_and_rejections_are_the_same(seed, tmp_path):
    found, real = beside(drawn(seed), tmp_path)
    assert found == real
