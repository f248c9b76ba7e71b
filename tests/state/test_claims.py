"""What claims have in common is stored once, as long as any claim has it."""

from msgspec.structs import replace

from fairq.common.records import Claim, SlotRecord
from fairq.state import claims, slots
from fairq.state.claims import AlikeClaims
from fairq.state.connection import reading, writing

FIRST = Claim(1, "a@x", 100, 1.5, "far", 7, 3, 0.5, "lic", "g", True, matched=True)


def stored(state):
    """How many terms there are."""
    return int(state.connection.execute("SELECT count(*) FROM claim_terms").fetchone()[0])


def test_alike_claims_share_their_terms_until_the_last_is_released(state):
    with writing(state) as opened:
        slots.add(opened, [SlotRecord(0, f"s{number}", {}) for number in range(4)])
        claims.store_alike(opened, [AlikeClaims(FIRST, [2, 4, 1])])
        claims.store(opened, [Claim(3, "b@x", 100, 1.0, advertised={"Activity": "Idle"})])
    second, third = replace(FIRST, slot_id=4, proc=4), replace(FIRST, slot_id=1, proc=5)
    with reading(state) as opened:
        every, table = claims.load_all(opened), claims.load_table(opened)
        assert every[0] == third
        assert list(table.values()) == every
        assert list(table.without(4).values()) == [one for one in every if one.slot_id != 4]
        assert table == claims.load_table(opened) != table.without(4)
        assert table.weights_in_use()["a@x", "far"] == 4.5
        assert claims.of_slots(opened, [4, 3]) == [second, Claim(3, "b@x", 100, 1.0, advertised={"Activity": "Idle"})]
        assert stored(opened) == 2
        assert claims.any_advertised(opened)
    with writing(state) as opened:
        assert claims.release(opened, [1, 9]) == [third]
        claims.store(opened, [replace(second, charged=False)])
        assert stored(opened) == 3
        claims.release(opened, [2, 4])
        assert stored(opened) == 1
        claims.delete_all(opened)
        assert (claims.load_all(opened), dict(claims.load_table(opened)), stored(opened)) == ([], {}, 0)


def test_readers_go_on_while_very_many_claims_are_stored(state):
    """They are written at the end: a writer that does it before locks everybody out, as SQLite's memory is full."""
    count = 60_000
    with writing(state) as opened:
        slots.add(opened, (SlotRecord(0, f"s{number}", {}) for number in range(count)))
    with writing(state) as opened:
        claims.store_alike(opened, [AlikeClaims(FIRST, range(1, count + 1))])
        with reading(state, wait=0) as other:
            assert claims.load_all(other) == []
    with reading(state) as opened:
        assert claims.count_matched(opened) == count
        assert claims.of_slots(opened, [count])[0].proc == count + 2
