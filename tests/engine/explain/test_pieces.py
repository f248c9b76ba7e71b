"""Some slots of a pool: what is known of a slot goes along with it."""

from fairq.engine.classad import AdColumns
from fairq.engine.explain.pieces import slots_of
from fairq.engine.negotiation.pieces import Carved
from fairq.engine.negotiation.pool import PoolSlots, ReservedSlots


def test_drained_dynamic_and_reserved_slots_stay_so_among_other_ones():
    ads = AdColumns([{"Name": name} for name in "abcd"])
    part, reserved = Carved(1, {"Cpus": 1.0}), ReservedSlots([0, 3], lambda name: name == "bob@x", 0)
    pool = PoolSlots(list("abcd"), [1, 2, 3, 4], ads, frozenset({0, 3}), {2: part}, [reserved])

    picked = slots_of(pool, [3, 2, 1], ads)

    assert (picked.names, picked.keys, picked.draining) == (["d", "c", "b"], [4, 3, 2], {0})
    assert picked.carved == {1: Carved(2, {"Cpus": 1.0})}
    assert [slots.rows for slots in picked.reserved] == [[0]]
    assert slots_of(pool, [0, 2], ads).carved == {}, "a dynamic slot without its parent"
