"""The memory of the pseudo queues of a unified queue (docs/panda.md, Queues)."""

from tests.engine.brokerage.pools import queue

from fairq.engine.brokerage.pool.columns import split_queue
from fairq.engine.brokerage.pool.world import ATLAS_RESOURCE_TYPES


def test_a_pseudo_queue_has_the_part_of_its_cores_of_the_slots_memory():
    """Of 8 cores with 8 GB, one core has 1 GB, though its type allows 2; unlimited memory stays so.

    The smallest memory is that of the slot, or of the type.
    """
    slots = queue("Q", capability="ucore", corecount=8, maxrss=8000, minrss=800)
    expected = {
        "SCORE": (1, 800, 1000),
        "SCORE_HIMEM": (1, 2001, 1000),
        "MCORE": (8, 800, 8000),
        "MCORE_HIMEM": (8, 16001, 8000),
    }
    limited, unlimited = (split_queue(of, ATLAS_RESOURCE_TYPES) for of in (slots, queue("Q", corecount=8, maxrss=None)))
    assert {one.resource_type: (one.corecount, one.minrss, one.maxrss) for one in limited} == expected
    assert [one.maxrss for one in unlimited] == [2000, None, 16000, None]
