"""Queues as CRIC publishes them: everything readable is read, everything else is named."""

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.brokerage.pool.columns import split_queue
from fairq.engine.brokerage.pool.cric import read_queue
from fairq.engine.brokerage.pool.storage import relations_of
from fairq.engine.brokerage.pool.world import ATLAS_RESOURCE_TYPES

CERN = json.loads(lzma.decompress((Path(__file__).parent.parent / "data" / "cric-queue-cern.json.xz").read_bytes()))


def test_a_real_queue_is_read_whole():
    """CERN's queue: unified, eight cores, 32 GB; nothing in it is complained about."""
    queue, complaints = read_queue("CERN", CERN)
    assert not complaints
    assert (queue.site, queue.cloud, queue.status, queue.type) == ("CERN-PROD", "CERN", "online", "unified")
    assert (queue.corecount, queue.maxrss, queue.maxwdir, queue.maxtime) == (8, 32000, 160000, 288000)
    assert (queue.releases, queue.wnconnectivity, queue.jobseed) == (("AUTO",), "full#IPv4", "eshigh")
    assert (queue.pledgedcpu, queue.transferringlimit, queue.maxdiskio) == (0, 0, 0)
    assert queue.direct_access_lan
    assert [part.name for part in split_queue(queue, ATLAS_RESOURCE_TYPES)] == [
        "CERN/SCORE",
        "CERN/SCORE_HIMEM",
        "CERN/MCORE",
        "CERN/MCORE_HIMEM",
    ]


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        ("corecount", "eight", 0),
        ("corecount", -4, 0),
        ("maxtime", "a day", None),
        ("pledgedcpu", -2, 0),
        ("status", "sleeping", "sleeping"),
        ("status", None, ""),
        ("releases", "AUTO", ()),
        ("direct_access_lan", "true", False),
        ("params", "{", {}),
        ("jobseed", "often", "often"),
        ("maxwdir", "lots", 102000),
    ],
)
def test_what_cannot_be_understood_is_named_and_replaced(field, value, taken):
    queue, complaints = read_queue("Q", {"status": "online", "maxinputsize": 100000, field: value})
    assert [(complaint.field, complaint.value, complaint.value_used) for complaint in complaints] == [
        (field, value, taken)
    ]
    assert queue.name == "Q"


def test_the_order_of_storage_is_that_of_the_lists():
    """From 1 in each list; 0 is not in it."""
    relations = relations_of({"astorages": {"read_lan": ["A", "B"], "write_lan": ["B", "C"]}})
    assert {one.rse: (one.order_read, one.order_write) for one in relations} == {"A": (1, 0), "B": (2, 1), "C": (0, 2)}


def test_numbers_may_be_text():
    queue, complaints = read_queue("Q", {"status": "online", "corecount": "4", "maxrss": "8000.0", "corepower": "9.5"})
    assert not complaints
    assert (queue.corecount, queue.maxrss, queue.corepower) == (4, 8000, 9.5)


def test_memory_and_scratch_may_be_given_per_core():
    fields = {"status": "online", "corecount": 8, "maxrss": 2000, "minrss": 100, "maxwdir": 10000}
    queue, _ = read_queue("Q", {**fields, "catchall": "per_core_attr"})
    assert (queue.maxrss, queue.minrss, queue.maxwdir) == (16000, 800, 80000)


def test_a_unified_queue_without_limits_is_split_all_the_same():
    """PanDA gives up on such a queue and on all unified ones behind it."""
    queue, _ = read_queue("U", {"status": "online", "capability": "ucore", "corecount": 8, "maxrss": None})
    limits = {part.resource_type: (part.minrss, part.maxrss) for part in split_queue(queue, ATLAS_RESOURCE_TYPES)}
    assert limits == {
        "SCORE": (0, 2000),
        "SCORE_HIMEM": (2001, None),
        "MCORE": (0, 16000),
        "MCORE_HIMEM": (16001, None),
    }


def test_the_memory_that_a_unified_queue_requires_is_required_in_its_parts():
    """That of the whole slot; if the type has a minimum of its own, this or that of the cores, whichever is more."""
    fields = {"status": "online", "capability": "ucore", "corecount": 8, "maxrss": 32000, "minrss": 16800}
    parts = split_queue(read_queue("U", fields)[0], ATLAS_RESOURCE_TYPES)
    assert {part.resource_type: part.minrss for part in parts} == {
        "SCORE": 16800,
        "SCORE_HIMEM": 2100,
        "MCORE": 16800,
        "MCORE_HIMEM": 16800,
    }


FIELDS = sorted({*CERN, "maxdiskio", "minrss"})
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=12))
def test_no_field_of_any_value_is_a_crash(fields):
    """Whatever CRIC publishes, the queue and its pseudo queues come out with numbers that can be compared."""
    queue, complaints = read_queue("Q", {**CERN, **fields})
    assert {complaint.field for complaint in complaints} <= set(fields) | {"status"}
    for part in [queue, *split_queue(queue, ATLAS_RESOURCE_TYPES)]:
        assert part.corecount >= 0
        assert part.maxrss is None or part.maxrss >= 0
