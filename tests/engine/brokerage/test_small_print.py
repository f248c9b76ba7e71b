"""What PanDA's broker does where its page says nothing: each rule by the smallest pool that shows it."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import PANDA
from tests.engine.brokerage.pools import QUEUE, ask, at, chunk, pool, queue, reason, task
from tests.engine.brokerage.test_analysis import ask as ask_analysis
from tests.engine.brokerage.test_analysis import names, reasons, users_pool

from fairq.engine.brokerage.criteria.scratch import analysis_scratch, reads_directly
from fairq.engine.brokerage.criteria.sources import Replica
from fairq.engine.brokerage.jobs.atom import effective_events, smallest_job
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Task, parse_rules
from fairq.engine.brokerage.pool.cric import read_queue
from fairq.engine.brokerage.pool.flags import read_flags
from fairq.engine.brokerage.pool.world import LinkMetric, Relation, ResourceType, Storage
from fairq.engine.brokerage.software.check import resolve_platform


@pytest.mark.parametrize(("beside", "files"), [({}, {"Q": (0, 4)}), ({"P": "DISK"}, {"Q": (3, 4), "P": (3, 0)})])
def test_files_on_disk_are_not_looked_for_beside_a_whole_replica(beside, files):
    """PanDA asks for single files only where a queue has no whole replica; what it finds then, all readers have."""
    queues = [queue(name, site=name) for name in ("Q", *beside)]
    relations = {"Q": (Relation("TAPE"), Relation("DISK")), **{name: (Relation(rse),) for name, rse in beside.items()}}
    world = pool(
        *queues,
        relations={"NUC_Q": (Relation("NUC"),), **relations},
        storages={
            "TAPE": Storage("TAPE", "Q", space_free=1000, is_tape=True),
            "DISK": Storage("DISK", "Q", space_free=1000),
        },
        replicas={"ds": {"TAPE": None, "DISK": frozenset(["f0", "f1", "f2"])}},
    )
    outcome = ask(world, data=chunk(4), rules=PANDA)
    counts = {
        candidate.queue: (candidate.local_files, candidate.tape_files)
        for candidate in outcome.candidates
        if candidate.queue != "NUC_Q"
    }
    assert counts == files


@pytest.mark.parametrize("kind", ["unified", "production"])
def test_a_queue_for_both_without_a_cloud_takes_no_analysis_either(kind):
    world = users_pool(queue("A"), queue("B", cloud="", type=kind))
    assert reasons(ask_analysis(world, PANDA))["B"] == "wrong_type"


def test_a_queue_for_analysis_needs_no_cloud():
    assert names(ask_analysis(users_pool(queue("A", cloud="", type="analysis")))) == ["A"]


def test_a_task_given_a_queue_that_is_not_known_goes_anywhere():
    """A queue for both that has no cloud is as good as a name that nobody has heard of."""
    world = users_pool(queue("A"), queue("B", cloud=""))
    assert names(ask_analysis(world, PANDA, site="B")) == ["A"]


def test_hospitals_alone_are_not_told_as_a_stage():
    outcome = ask_analysis(users_pool(queue("A_HOSPITAL"), replicas={"ds": {"A_HOSPITAL": None}}))
    assert names(outcome) == ["A_HOSPITAL"]
    assert "hospital check" not in [stage.stage for stage in outcome.stages]


@pytest.mark.parametrize(("value", "direct"), [("0", True), ("1", False)])
def test_rule_li_at_0_is_not_set(value, direct):
    reader = replace(QUEUE, direct_access_lan=True)
    copies = task(rules={"IL": "1", "LI": value}).copies_input
    assert reads_directly(reader, merging=False, copies=copies, may_read=True) is direct


def test_merges_split_by_rules_of_their_own():
    """NF is about the jobs whose output is merged; ZF is about the merge."""
    merge = chunk(4, is_merging=True)
    assert smallest_job(task(rules={"NF": "4"}), merge).input_bytes == 2**30
    assert smallest_job(task(rules={"NF": "4", "ZF": "2"}), merge).input_bytes == 2 * 2**30


def test_scratch_for_direct_reading_under_rule_ng_is_not_rounded():
    """1 GiB of input, 100 bytes of output for each MiB: 0.098 MiB beside 300 MiB and 1 MiB of work."""
    scratch_task = task(
        rules={"NG": "1"}, out_disk_count=100, out_disk_unit=None, work_disk_count=1, work_disk_unit="MB"
    )
    atom = smallest_job(scratch_task, chunk(1, size=2**20))
    needed = analysis_scratch(scratch_task, atom, PANDA, merging=False)
    assert needed.direct == 301 + 100 * 1024 / 2**20


def test_for_a_merge_a_queue_with_a_part_of_the_input_has_all_of_it():
    world = pool(queue("Q"), replicas=at(Q=1, NUC=4))
    merge_counts = {
        candidate.queue: candidate.local_files
        for candidate in ask(world, task(walltime=0), chunk(4, is_merging=True)).candidates
    }
    assert merge_counts.get("Q", 4) == 4
    counts = {candidate.queue: candidate.local_files for candidate in ask(world, data=chunk(4)).candidates}
    assert counts["Q"] == 1


def test_a_satellite_can_be_where_output_goes():
    """Its own queues are near, as those of a nucleus would be."""
    world = pool(queue("Q", role="satellite"), queue("R", role="satellite"))
    outcome = ask(world, task(nucleus="Q", rules={"TW": "-1"}), rules=PANDA)
    assert [reason(outcome, name) for name in ("Q", "R")] == ["", "t1weight"]


def test_a_secondary_nucleus_is_not_where_output_goes():
    world = pool(queue("Q", catchall="secondaryNucleus=NUC"))
    assert reason(ask(world, task(rules={"TW": "-1"})), "Q") == "t1weight"


def test_files_on_tape_as_a_whole_are_counted_though_some_are_on_disk():
    tape = Storage("TAPE", "Q", "DATATAPE", is_tape=True)
    relations = (Relation("Q"), Relation("TAPE", default_read=False, default_write=False))
    world = pool(queue("Q"), storages={"TAPE": tape}, replicas=at(Q=1, TAPE=3, NUC=3))
    world = replace(world, relations={**world.relations, "Q": relations})
    (candidate,) = (named for named in ask(world, data=chunk(3)).candidates if named.queue == "Q")
    assert (candidate.local_files, candidate.tape_files) == (1, 3)


@pytest.mark.parametrize(
    ("second", "events"),
    [
        (File("f0", 0, 100, 50, 99), 100),
        (File("f1", 0, 100, 50, 99), 50),
        (File("f0", 0, 100, 60, 99), 50),
    ],
    ids=["the same file goes on", "another file goes on", "a gap"],
)
def test_jobs_by_events_end_with_the_file(second, events):
    data = Chunk((Dataset("ds", (File("f0", 0, 100, 0, 49), second)),))
    assert smallest_job(Task(rules={"NE": "1000"}), data).events == events


def test_jobs_by_events_go_on_from_the_end_of_a_file_to_the_beginning_of_another():
    data = Chunk((Dataset("ds", (File("f0", 0, 100, 50, 99), File("f1", 0, 100, 0, 49))),))
    assert smallest_job(Task(rules={"NE": "1000"}), data).events == 100


def test_a_file_of_no_events_has_one():
    assert effective_events(File("f", 0, 0)) == 1


def test_what_is_found_of_a_dataset_of_no_files_does_not_count():
    replica = Replica(Storage("D", "D"), file_count=1, total=0)
    assert not replica.counts(10, 90)


@pytest.mark.parametrize(
    ("maxwdir", "maxinputsize", "scratch"),
    [("x", None, 0), ("x", 0, 0), ("", 1000, 3000), ("x", -1, 1999), ("x", "y", 16336), (None, 1000, 0)],
)
def test_scratch_that_cannot_be_read(maxwdir, maxinputsize, scratch):
    """It follows from what input a job may have, plus 2000 MiB."""
    assert read_queue("Q", {"maxwdir": maxwdir, "maxinputsize": maxinputsize}).queue.maxwdir == scratch


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("(x86_64|aarch64)-el9-gcc13-opt", "x86_64-el9-gcc13-opt"),
        ("(x86_64)-el9-gcc13-opt", "x86_64-el9-gcc13-opt"),
        ("(x86_64|aarch64)-el9-gcc.*-opt", None),
        ("(x86_64|aarch64)", None),
    ],
)
def test_only_plain_alternatives_are_resolved_by_the_architecture_of_the_queue(platform, expected):
    entry = {"cmtconfigs": ["x86_64-slc6"], "architectures": [{"type": "cpu", "arch": ["x86_64"]}]}
    assert resolve_platform(platform, None, entry) == expected


def test_a_flag_without_a_value_names_no_nucleus():
    assert read_flags("", {"secondaryNucleus": ""}).secondary_nucleus is None


def test_a_task_for_a_nucleus_that_nobody_knows_is_stopped():
    world = pool(queue("Q"), queue("R", type="analysis"))
    outcome = ask(world, task(nucleus="R"))
    assert (outcome.status, outcome.stopped_by, outcome.stop_details) == ("failed", "unknown_nucleus", {"nucleus": "R"})
    assert ask(world, task(nucleus=None)).status == "assigned"


@pytest.mark.parametrize(("kind", "shares"), [("unified", True), ("production", False)])
def test_queues_share_storage_with_a_nucleus_only_if_they_are_for_all_that_it_is_for(kind, shares):
    """The nucleus's own queue is for production and for analysis."""
    world = pool(queue("Q", type=kind))
    world = replace(world, relations={**world.relations, "Q": (Relation("NUC"),)})
    assert (reason(ask(world, task(rules={"TW": "-1"})), "Q") != "t1weight") is shares


def test_the_first_queue_of_a_nucleus_says_whether_it_is_bare():
    world = pool(queue("A", site="NUC", role="nucleus", catchall="bareNucleus=allow"), queue("Q"))
    assert reason(ask(world, task(rules={"FU": "1"})), "Q") == ""


def test_the_first_of_rules_that_are_set_twice_counts():
    assert parse_rules("NF=1,TW=5,NF=2") == {"NF": "1", "TW": "5"}


def test_a_job_of_unknown_length_is_not_too_long_for_a_queue():
    """Not even where the base walltime alone exceeds the queue's maxtime; what fails is the day that is asked for."""
    world = pool(queue("Q", maxtime=345600), replicas=at(NUC=1))
    for time in (None, 0):
        unknown = task(cpu_time=time, cpu_time_unit="HS06sPerEvent", base_walltime=1_000_000)
        assert reason(ask(world, unknown, rules=PANDA), "Q") == "min_walltime"
    long = task(cpu_time=1, cpu_time_unit="HS06sPerEvent", base_walltime=1_000_000)
    assert reason(ask(world, long, chunk(1), rules=PANDA), "Q") == "shortwalltime"


def test_the_satellite_of_a_queue_is_where_its_default_output_is():
    """Also where the queue itself cannot write there over LAN."""
    blocked = LinkMetric("B", "NUC", "AGIS_closeness", -1)
    world = pool(queue("Q"), links=(blocked,), storages={"B": Storage("B", "B", space_free=100000)})
    relations = Relation("Q", default_write=False), Relation("B", frozenset({"read_lan"}))
    outcome = ask(replace(world, relations={**world.relations, "Q": relations}), rules=PANDA)
    assert reason(outcome, "Q") == "link_unusable"


@pytest.mark.parametrize(
    ("label", "site", "found"), [("managed", "Q", ""), ("test", "Q", "zeroshare"), ("test", None, "")]
)
def test_tasks_of_the_share_test_have_a_share_but_those_of_other_kinds_at_a_given_queue(label, site, found):
    world = pool(queue("Q", fairsharepolicy="type=any:0%"))
    assert reason(ask(world, task(gshare="test", label=label, site=site), rules=PANDA), "Q") == found


def test_a_unified_queue_for_production_alone_takes_no_analysis_though_the_task_names_it():
    """PanDA adds the queue itself to its list and not its pseudo queues; a plain queue is added."""
    types = (ResourceType("SCORE", 1, 1),)
    unified = queue("U", type="production", capability="ucore", corecount=8)
    world = users_pool(queue("A"), unified, queue("P", type="production"), resource_types=types, replicas={})
    assert ask_analysis(world, PANDA, chunk(), site="U").status == "fatal"
    assert names(ask_analysis(world, PANDA, chunk(), site="P")) == ["P"]


def test_the_weight_of_a_task_without_input_is_told_as_1():
    outcome = ask_analysis(users_pool(queue("A")), PANDA, chunk())
    assert outcome.verdict(outcome.ask.pool.rows["A"]).numbers["dataW"] == 1


def test_users_jobs_read_from_tape_what_is_on_no_disk():
    """All of a dataset that a tape has as a whole; otherwise only the files that no disk has."""
    tape = Storage("TAPE", "A", "DATATAPE", is_tape=True)
    relations = Relation("A"), Relation("TAPE", default_read=False, default_write=False)
    for disk, on_tape, counted in ((3, 2, 0), (3, 3, 3), (1, 2, 1)):
        world = users_pool(queue("A"), storages={"TAPE": tape}, replicas=at(A=disk, TAPE=on_tape, NUC=disk))
        world = replace(world, relations={**world.relations, "A": relations})
        counts = {
            candidate.queue: (candidate.local_files, candidate.tape_files)
            for candidate in outcome_at_a(world).candidates
        }
        assert counts["A"] == (disk, counted)


def outcome_at_a(world):
    """Return what becomes of a user's task of three files that looks nowhere but at A."""
    return ask_analysis(world, PANDA, chunk(3), site="A")


def test_a_unified_queue_that_is_not_for_production_gives_a_production_task_nothing():
    """Though it is named: its pseudo queues are looked for among those for production. A plain queue is taken."""
    types = (ResourceType("SCORE", 1, 1),)
    unified = queue("U", type="analysis", capability="ucore", corecount=8)
    world = pool(unified, queue("P", type="analysis"), queue("Q"), resource_types=types)
    outcome = ask(world, task(site="U,P,Q"), rules=PANDA)
    assert sorted(candidate.queue for candidate in outcome.candidates) == ["P", "Q"]
    # One queue that is left of two names is a single one, which need not have the cores.
    assert [candidate.queue for candidate in ask(world, task(site="U,P", core_count=8), rules=PANDA).candidates] == [
        "P"
    ]
