"""Filters of production that neither the page nor the recorded cases reach, in PanDA's code and in the page's rules."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import NOW, chunk, names, pool, queue, reason, task, verdict
from tests.engine.brokerage.pools import ask_code as ask

from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import Relation, ResourceType, Storage

DOWN = {"write_wan": "OFF"}


def jobs(share="MC", **counts):
    return {share: counts}


@pytest.mark.parametrize("rules", [DOCUMENTED, PANDA])
def test_queues_for_jumbo_jobs_alone_are_none(rules):
    """The other jobs of the task have nowhere to go: PanDA fails the task in its last stage."""
    world = pool(queue("JUMBO", catchall="useJumboJobs"))
    outcome = ask(world, task(rules={"NJ": "1"}, site="JUMBO"), chunk(ready_events=100), rules)
    assert outcome.status == "failed"
    assert (outcome.stages[-1].stage, outcome.stages[-1].units_after) == ("final check", 0)
    assert reason(outcome, "JUMBO") == "jumbo_alone"


def test_more_cores_than_the_task_may_use():
    world = pool(queue("Q", corecount=8), queue("FEW", corecount=4))
    outcome = ask(world, task(core_count=8, rules={"CC": "4"}))
    assert verdict(outcome, "Q").details == {"corecount": 8, "maxCoreCount": 4}
    assert names(outcome) == ["FEW"]
    assert names(ask(world, task(core_count=8, max_core_count=4))) == ["FEW"]
    assert "Q" in names(ask(world, task(core_count=8, max_core_count=4, rules={"CC": "8"}))), "the rule goes first"


def test_dynamic_events_use_the_smallest_chunk_where_time_has_a_minimum():
    """The smallest job must end in time, and the longest run of events must be long enough."""
    events = tuple(File("f", 1, 1000, number * 100, number * 100 + 99) for number in range(10))
    data = Chunk((Dataset("ds", events),))
    asked = task(cpu_time=10, cpu_time_unit="HS06sPerEvent", rules={"DY": "10", "MX": "500", "NF": "1"})
    world = pool(
        queue("PLAIN", maxtime=99),
        queue("DYNAMIC", maxtime=99, mintime=50),
        queue("LONG", mintime=500),
        queue("LONGER", mintime=501),
        replicas={"ds": {"NUC": None}},
    )
    outcome = ask(world, asked, data)
    expected = {"PLAIN": "shortwalltime", "DYNAMIC": "", "LONG": "", "LONGER": "longwalltime"}
    assert {name: reason(outcome, name) for name in expected} == expected


def test_transfers_to_a_nucleus_that_is_down_do_not_count():
    other = queue("N2Q", site="N2", role="nucleus")
    down = Storage("N2", "N2", space_free=1000, activities=DOWN)
    world = pool(queue("Q"), other, storages={"N2": down}, job_stats={"Q": jobs(transferring=2500)})
    assert reason(ask(world), "Q") == "transferring"
    moving = replace(world, transferring_by_nucleus={"Q": {"N2": 500}})
    assert reason(ask(moving), "Q") == ""
    assert reason(ask(replace(moving, storages={**world.storages, "N2": replace(down, activities={})})), "Q") != ""


@pytest.mark.parametrize(("missing", "size", "expected"), [(5, 1.2, ""), (6, 1, "io"), (5, 1.25, "io")])
def test_input_may_be_missing_up_to_both_cut_offs(missing, size, expected):
    """As many files, or GiB, as the cut-off says still move; one more does not. NUC has all of it."""
    cut_offs = Config({"jobbroker.NUM_CUTOFF_TO_MOVE_INPUT": 5, "jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT": 6})
    world = pool(queue("Q"), config=cut_offs, replicas={"ds": {"NUC": None}})
    assert reason(ask(world, task(io_intensity=600), chunk(missing, size * 2**30)), "Q") == expected


def test_full_chains():
    bare = queue("BARE", site="NUC", role="nucleus", catchall="bareNucleus=only")
    world = pool(queue("Q"), bare)
    assert reason(ask(world), "BARE") == "not_full_chain"
    # The first queue of the nucleus says so.
    world = replace(world, queues={"BARE": world.queues["BARE"], **world.queues})
    outcome = ask(world, task(rules={"FU": "1"}))
    assert [reason(outcome, name) for name in ("BARE", "NUC_Q", "Q")] == ["", "", "full_chain"]


def test_merges_go_to_where_their_input_was_made_or_its_storage_is_read():
    """The given queue may be in any state; those that read its storage must be online."""
    world = pool(
        queue("GIVEN", status="offline"),
        queue("READS"),
        queue("DOWN", status="brokeroff"),
        queue("OTHER"),
        relations={name: (Relation("GIVEN"),) for name in ("GIVEN", "READS", "DOWN")} | {"OTHER": (Relation("OTHER"),)},
        replicas={"ds": {"GIVEN": None}},
    )
    files = (File("f0", 2**20, 10),)
    merge = Chunk((Dataset("ds", files, site="GIVEN", created=NOW - 2e5, modified=NOW - 1e5),), is_merging=True)
    asked = task(cpu_time=1, cpu_time_unit="HS06sPerEvent")
    assert set(names(ask(world, asked, merge))) == {"GIVEN", "READS"}
    waiting = replace(asked, frozen_time=NOW - 21601)
    free = ask(world, waiting, merge)
    assert set(names(free)) == {"OTHER", "READS"}, "after 24 hours and failing for 6 it may go anywhere"
    assert reason(free, "GIVEN") == "status"


def test_a_unified_queue_that_no_resource_type_fits_is_told_so():
    kinds = (ResourceType("MCORE", 2),)
    world = pool(queue("U", capability="ucore", corecount=1), queue("V", capability="ucore", corecount=4))
    outcome = ask(replace(world, resource_types=kinds), task(core_count=4))
    refused = verdict(outcome, "U")
    assert (refused.reason, refused.details) == ("no_resource_type", {"corecount": 1, "resource_types": ["MCORE"]})
    assert names(outcome) == ["V/MCORE"]
