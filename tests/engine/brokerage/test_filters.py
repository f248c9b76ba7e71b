"""Every filter of PanDA's production code: what it refuses, with what reason and numbers, and what it lets pass."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import NOW, at, chunk, names, pool, queue, reason, task, verdict
from tests.engine.brokerage.pools import ask_code as ask

from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import LinkMetric, Pilots, Relation, ResourceType, Slots, Storage
from fairq.steps.broker.flows import preset

WITHOUT_CPU = preset("panda", infer_cpu=False)
"""PanDA's rules, but that a platform alone asks for no CPU."""

DOWN = {"write_wan": "OFF"}


def jobs(share="MC", **counts):
    return {share: counts}


@pytest.mark.parametrize(
    ("status", "passes"),
    [("online", True), ("standby", True), ("test", False), ("brokeroff", False), ("paused", False), ("", False)],
)
def test_status(status, passes):
    outcome = ask(pool(queue("Q", status=status)))
    assert reason(outcome, "Q") == ("" if passes else "status")
    assert names(ask(pool(queue("Q", status=status)), task(site="Q"))) == ["Q"], "a given queue may have any status"


def test_links_to_a_nucleus_that_cannot_be_written_to():
    world = pool(queue("Q"), storages={"NUC": Storage("NUC", "NUC", space_free=1000, activities=DOWN)})
    told = verdict(ask(world, task()), "Q")
    assert (told.reason, told.permanent) == ("dest_blacklisted", False)
    assert told.details["endpoint"] == "NUC"


@pytest.mark.parametrize(("others", "expected"), [(9999, ""), (10000, "links_full")])
def test_links_full(others, expected):
    """All files queued for the nucleus count; its own queues are exempt."""
    links = (LinkMetric("ELSEWHERE", "NUC", "Production Output_queued", others),)
    outcome = ask(pool(queue("Q"), links=links))
    assert reason(outcome, "Q") == expected
    assert reason(outcome, "NUC_Q") == ""


def test_a_blocked_link_is_final_and_a_full_one_is_not():
    links = (
        LinkMetric("BLOCKED", "NUC", "AGIS_closeness", -1),
        LinkMetric("BLOCKED", "NUC", "Production Output_queued", 500),
        LinkMetric("FULL", "NUC", "Production Output_queued", 150),
        LinkMetric("FREE", "NUC", "Production Output_queued", 149),
    )
    outcome = ask(pool(queue("BLOCKED"), queue("FULL"), queue("FREE"), links=links))
    blocked, full = verdict(outcome, "BLOCKED"), verdict(outcome, "FULL")
    assert (blocked.reason, blocked.permanent) == ("link_unusable", True)
    assert (full.reason, full.permanent) == ("link_unusable", False)
    assert full.details["queued"] == full.details["NQUEUED_SAT_CAP"] == 150
    assert reason(outcome, "FREE") == ""


def test_the_last_temporary_reason_is_told_and_a_final_one_goes_before():
    links = (LinkMetric("Q", "NUC", "Production Output_queued", 150),)
    world = pool(queue("Q"), links=links, pilots={"NUC_Q": Pilots(5, 5)})
    assert reason(ask(world), "Q") == "nopilot"
    assert reason(ask(world, task(core_count=8)), "Q") == "cpucore"


@pytest.mark.parametrize(
    ("age", "waiting", "expected"), [(7201, 1, "inactive"), (7200, 1, ""), (7201, 0, ""), (None, 1, "")]
)
def test_inactive(age, waiting, expected):
    """Jobs of any share that are to start count."""
    started = None if age is None else NOW - age
    world = pool(
        queue("Q"),
        pilots={"Q": Pilots(5, 5, started), "NUC_Q": Pilots(5, 5)},
        job_stats={"Q": jobs("Other", activated=waiting)},
    )
    assert reason(ask(world, task(rules={"MO": "1"})), "Q") == expected
    assert reason(ask(world), "Q") == "", "ordinary tasks do not mind"


def test_zero_share():
    world = pool(queue("Q", fairsharepolicy="type=evgen:100%,type=any:0%"))
    told = verdict(ask(world), "Q")
    assert told.reason == "zeroshare"
    assert told.details["decided_by"] == "type=any:0%"
    assert reason(ask(world, task(processing_type="evgen")), "Q") == ""
    assert reason(ask(world, task(gshare="test")), "Q") == ""


def test_jumbo_queues_are_for_jumbo_jobs():
    world = pool(queue("JUMBO", catchall="useJumboJobs,minEventsForJumbo=100"), queue("Q"))
    assert reason(ask(world), "JUMBO") == "jumbo"
    jumbo = task(rules={"NJ": "1"})
    outcome = ask(world, jumbo, chunk(ready_events=99))
    assert verdict(outcome, "JUMBO").details == {"ready_events": 99, "minEventsForJumbo": 100}
    outcome = ask(world, jumbo, chunk(ready_events=100))
    assert {one.queue: one.jumbo for one in outcome.candidates} == {"JUMBO": True, "NUC_Q": False, "Q": False}


@pytest.mark.parametrize("rules", [DOCUMENTED, PANDA])
def test_queues_for_jumbo_jobs_alone_are_none(rules):
    """The other jobs of the task have nowhere to go: PanDA fails the task in its last stage."""
    world = pool(queue("JUMBO", catchall="useJumboJobs"))
    outcome = ask(world, task(rules={"NJ": "1"}, site="JUMBO"), chunk(ready_events=100), rules)
    assert outcome.status == "failed"
    assert (outcome.stages[-1].stage, outcome.stages[-1].units_after) == ("final check", 0)
    assert reason(outcome, "JUMBO") == "jumbo_alone"


@pytest.mark.parametrize(
    ("cores", "slots", "expected"),
    [(1, 8, "cpucore"), (None, 8, "cpucore"), (8, 1, "cpucore"), (8, 8, ""), (0, 8, ""), (0, 1, ""), (1, 0, "")],
)
def test_cores(cores, slots, expected):
    world = pool(queue("Q", corecount=slots))
    assert reason(ask(world, task(core_count=cores)), "Q") == expected


def test_more_cores_than_the_task_may_use():
    world = pool(queue("Q", corecount=8), queue("FEW", corecount=4))
    outcome = ask(world, task(core_count=8, rules={"CC": "4"}))
    assert verdict(outcome, "Q").details == {"corecount": 8, "maxCoreCount": 4}
    assert names(outcome) == ["FEW"]
    assert names(ask(world, task(core_count=8, max_core_count=4))) == ["FEW"]
    assert "Q" in names(ask(world, task(core_count=8, max_core_count=4, rules={"CC": "8"}))), "the rule goes first"


def test_any_cores_means_several_for_scouts():
    world = pool(queue("ONE", site="NUC", role="nucleus"), queue("MANY", site="NUC", role="nucleus", corecount=8))
    outcome = ask(world, task(core_count=0), chunk(is_scout=True), PANDA)
    assert [reason(outcome, "ONE"), reason(outcome, "MANY")] == ["cpucore", "scout_walltime"]


def test_missing_release():
    software = {"Q": {"cvmfs": ["atlas"], "containers": ["any"], "cmtconfigs": []}}
    world = pool(queue("Q"), queue("NONE"), queue("ANY", releases=("ANY",)), software=software)
    outcome = ask(world, task(trans_home="Athena-24.0.1", architecture="x86_64-el9-gcc13-opt"), rules=WITHOUT_CPU)
    assert [reason(outcome, name) for name in ("Q", "NONE", "ANY")] == ["", "cache", ""]
    assert verdict(outcome, "NONE").details["transHome"] == "Athena-24.0.1"
    assert reason(ask(world, task(architecture="x86_64-el9-gcc13-opt")), "NONE") == "", "no release, no check"


def test_a_platform_pattern_must_come_out_at_the_queue():
    common = {"cvmfs": ["atlas"], "containers": ["any"]}
    software = {"Q": {**common, "cmtconfigs": ["x86_64-el9-gcc13-opt"]}, "OLD": {**common, "cmtconfigs": []}}
    outcome = ask(
        pool(queue("Q"), queue("OLD"), software=software),
        task(trans_home="Athena-24.0.1", architecture="x86_64-el9-gcc[0-9]+-opt"),
        rules=WITHOUT_CPU,
    )
    assert reason(outcome, "OLD") == "regexpcmtconfig"
    assert [one.platform for one in outcome.candidates] == ["x86_64-el9-gcc13-opt"]


def test_scratch_disk_is_shared_among_the_cores_of_a_slot():
    """Output of at least 1500 MiB, 300 MiB of margin and the input must fit into the job's part."""
    need = 1500 + 300 + 1024
    world = pool(
        queue("EXACT", maxwdir=need),
        queue("LESS", maxwdir=need - 1),
        queue("NO_LIMIT", maxwdir=0),
        queue("DIRECT", maxwdir=1800, maxinputsize=-1),
        replicas=at(NUC=1),
    )
    outcome = ask(world, task(work_disk_count=0, work_disk_unit="MB"), chunk(files=1))
    assert [reason(outcome, name) for name in ("EXACT", "LESS", "NO_LIMIT", "DIRECT")] == ["", "disk", "", ""]
    told = verdict(outcome, "LESS").details
    assert (told["kind"], told["scratch_need_mb"], told["scratch_have_mb"]) == ("scratch", need, need - 1)
    parts = pool(queue("Q", capability="ucore", corecount=8, maxwdir=need * 8 - 1, maxrss=16000), replicas=at(NUC=1))
    assert reason(ask(parts, task(work_disk_count=0, work_disk_unit="MB"), chunk(files=1)), "Q/SCORE") == "disk"


def test_direct_input_only():
    world = pool(queue("Q"), queue("LAN", direct_access_lan=True), queue("ALWAYS", maxinputsize=-1))
    outcome = ask(world, task(rules={"IL": "2"}))
    assert [reason(outcome, name) for name in ("Q", "LAN", "ALWAYS")] == ["remoteio", "", ""]


@pytest.mark.parametrize(("free", "expected"), [(199, "disk"), (200, "")])
def test_space_for_output(free, expected):
    """Free and expired space count, less what is kept free and reserved."""
    storage = Storage("Q", "Q", "DATADISK", False, free, 50, 30, 20)
    told = verdict(ask(pool(queue("Q"), storages={"Q": storage})), "Q")
    assert told.reason == expected
    if expected:
        assert told.details["space_usable"] == 199
        assert told.details["kind"] == "output_space"


@pytest.mark.parametrize(
    ("activity", "expected"),
    [(name, f"{name}_blacklist") for name in ("read_lan", "write_lan", "write_wan", "read_wan")],
)
def test_storage_out_of_service(activity, expected):
    for state, told in (("OFF", expected), ("TEST", expected), ("PROBING", "")):
        storage = Storage("Q", "Q", space_free=1000, activities={activity: state})
        assert reason(ask(pool(queue("Q"), storages={"Q": storage})), "Q") == told


def test_input_that_cannot_be_moved():
    """Where no source can be read over WAN, only the nucleus can run the task."""
    source = Storage("NUC", "NUC", space_free=1000, activities={"read_wan": "OFF"})
    world = pool(queue("Q"), storages={"NUC": source}, replicas=at(NUC=1))
    outcome = ask(world, data=chunk(files=1))
    assert reason(outcome, "Q") == "source_blacklist"
    assert names(outcome) == ["NUC_Q"]


@pytest.mark.parametrize(
    ("found", "files", "expected"),
    [(89, 200, "incomplete_input"), (190, 200, ""), (90, 100, ""), (10, 20, ""), (0, 5, "incomplete_input")],
)
def test_input_must_be_somewhere(found, files, expected):
    """At most 10 files may be missing, or 90 per cent must be there."""
    outcome = ask(pool(queue("Q"), replicas=at(Q=found)), data=chunk(files=files, size=1))
    assert outcome.stopped_by == expected
    if expected:
        assert {one.reason for one in outcome.verdicts()} == {expected}, "every queue has that reason"
        assert outcome.status == "failed"


def test_input_that_nobody_can_read():
    away = Storage("Q", "Q", activities={"read_lan": "OFF", "read_wan": "TEST"})
    world = pool(queue("Q"), storages={"Q": away}, replicas=at(Q=1))
    assert ask(world, data=chunk(files=1)).stopped_by == "source_unreadable"
    assert ask(world, task(rules={"IS": "1"}), chunk(files=1)).stopped_by == "", "input is staged in advance"


def test_minimum_time():
    asked = task(cpu_time=1, cpu_time_unit="HS06sPerEvent", core_count=1)
    world = pool(queue("EXACT", mintime=10), queue("MORE", mintime=11), replicas=at(NUC=1))
    outcome = ask(world, asked, chunk(files=1))
    assert [reason(outcome, name) for name in ("EXACT", "MORE")] == ["", "longwalltime"]
    assert verdict(outcome, "MORE").details["mintime"] == 11


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


def test_connectivity():
    values = {"FULL": "full", "HTTP": "http", "NOTHING": "", "V6": "full#IPv6"}
    world = pool(*(queue(name, wnconnectivity=value) for name, value in values.items()))
    http, full, ip6 = (task(rules=rules) for rules in ({"IP": "2"}, {"IP": "1"}, {"IK": "6"}))
    assert set(names(ask(world, http))) == {"FULL", "HTTP", "V6"}
    assert set(names(ask(world, full))) == {"FULL", "V6"}
    assert names(ask(world, ip6)) == ["V6"]
    assert set(names(ask(world))) == {*values, "NUC_Q"}


def test_event_service():
    world = pool(*(queue(seed.upper(), jobseed=seed) for seed in ("es", "all", "eshigh")),
                 queue("U", capability="ucore", jobseed="es"))  # fmt: skip
    outcome = ask(world, task(event_service=1))
    reasons = {name: reason(outcome, name) for name in ("NUC_Q", "ES", "ALL", "ESHIGH", "U/SCORE")}
    assert reasons == {"NUC_Q": "es", "ES": "", "ALL": "", "ESHIGH": "eshigh", "U/SCORE": "es_ucore"}
    outcome = ask(world)
    assert reason(outcome, "ES") == "nones"
    assert reason(ask(world, task(event_service=1, cloning=True)), "ES") == "nones", "cloning is no event service"


def test_transfers_to_a_nucleus_that_is_down_do_not_count():
    other = queue("N2Q", site="N2", role="nucleus")
    down = Storage("N2", "N2", space_free=1000, activities=DOWN)
    world = pool(queue("Q"), other, storages={"N2": down}, job_stats={"Q": jobs(transferring=2500)})
    assert reason(ask(world), "Q") == "transferring"
    assert reason(ask(replace(world, transferring_by_nucleus={"Q": {"N2": 500}})), "Q") == ""


def test_pledges_while_work_is_short():
    world = pool(
        queue("NONE", pledgedcpu=-1),
        queue("OVER", pledgedcpu=100),
        queue("AT", pledgedcpu=100),
        core_stats={"OVER": {"running": 90, "starting": 11}, "AT": {"running": 90, "starting": 10}},
        config=Config({"core.WORK_SHORTAGE": True}),
    )
    outcome = ask(world)
    assert [reason(outcome, name) for name in ("NONE", "OVER", "AT")] == ["non_pledged", "over_pledged", ""]
    assert verdict(outcome, "OVER").details == {"pledgedcpu": 100, "cores": 101}


def test_a_negative_t1_weight_keeps_the_task_at_the_nucleus():
    """Queues that write to the nucleus's storage may run it, too; one queue is chosen."""
    world = pool(queue("SHARING"), queue("Q"), relations={
        "NUC_Q": (Relation("NUC"),), "SHARING": (Relation("NUC"),), "Q": (Relation("Q"),)},
        job_stats={"SHARING": jobs("Other", running=5)})  # fmt: skip
    outcome = ask(world, task(rules={"TW": "-1"}))
    assert [reason(outcome, name) for name in ("SHARING", "NUC_Q", "Q")] == ["", "t1_weight", "t1weight"]


def test_io_intensity_limit_of_a_queue():
    world = pool(queue("Q", params={"max_io_intensity": 100}))
    assert reason(ask(world, task(io_intensity=101)), "Q") == "max_io_intensity"
    assert reason(ask(world, task(io_intensity=100)), "Q") == ""


def test_full_chains():
    bare = queue("BARE", site="NUC", role="nucleus", catchall="bareNucleus=only")
    world = pool(queue("Q"), bare)
    assert reason(ask(world), "BARE") == "not_full_chain"
    # The first queue of the nucleus says so.
    world = replace(world, queues={"BARE": world.queues["BARE"], **world.queues})
    outcome = ask(world, task(rules={"FU": "1"}))
    assert [reason(outcome, name) for name in ("BARE", "NUC_Q", "Q")] == ["", "", "full_chain"]


def test_pilots():
    """Tests, and queues that are asked to keep slots filled, need none."""
    world = pool(queue("Q"), queue("KEPT"), pilots={"NUC_Q": Pilots(5, 5)}, slots=(Slots("KEPT", "MC", None, 0),))
    outcome = ask(world)
    assert [reason(outcome, "Q"), reason(outcome, "KEPT")] == ["nopilot", ""]
    assert reason(ask(world, task(label="rc_test")), "Q") == ""


def test_much_io_goes_where_input_is():
    """Missing 10 GiB or 100 files passes; tape is second choice; if nobody has enough the check is off."""
    tape = Storage("TAPE", "TAPE", "DATATAPE", True, 1000)
    relations = {name: (Relation(name),) for name in ("NUC_Q", "ALL", "FAR")} | {
        "NUC_Q": (Relation("NUC"),),
        "TAPED": (Relation("TAPED"), Relation("TAPE", default_write=False)),
    }
    common: dict[str, Any] = {"storages": {"TAPE": tape}, "relations": relations}
    queues = (queue("ALL"), queue("TAPED"), queue("FAR"))
    asked, data = task(io_intensity=201), chunk(files=11)

    outcome = ask(pool(*queues, **common, replicas=at(ALL=11, TAPE=11)), asked, data)
    assert [reason(outcome, name) for name in ("ALL", "TAPED", "FAR")] == ["", "io", "io"]
    assert verdict(outcome, "FAR").details["fileSizeToMoveMB"] == 11 * 1024
    outcome = ask(pool(*queues, **common, replicas=at(TAPE=11)), asked, data)
    assert [reason(outcome, name) for name in ("ALL", "TAPED", "FAR")] == ["io", "", "io"]
    outcome = ask(pool(*queues, **common, replicas=at(TAPE=10)), asked, data)
    assert set(names(outcome)) == {"ALL", "TAPED", "FAR", "NUC_Q"}, "an incomplete replica is no help"
    outcome = ask(pool(*queues, **common, replicas=at(TAPE=11)), asked, chunk(files=10))
    assert set(names(outcome)) == {"ALL", "TAPED", "FAR", "NUC_Q"}


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
    told = verdict(outcome, "U")
    assert (told.reason, told.details) == ("no_resource_type", {"corecount": 1, "resource_types": ["MCORE"]})
    assert names(outcome) == ["V/MCORE"]
