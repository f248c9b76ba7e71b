"""fairq import of HTCondor's dumps: what is in the state afterwards."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.steps.import_cases import NOW, dump, job, slot, user

from fairq.state import history, jobs, meta, slots, submitters
from fairq.state.connection import reading

REAL = Path(__file__).parents[2] / "data" / "condor_status-long-8.9.ads.gz"

Run = Callable[..., Any]


@pytest.fixture
def bring(run, state):
    """Run ``fairq import`` on the state at NOW; it must succeed."""

    def bring(*words):
        ended = run("--state", state, "import", *words, "--now", NOW)
        assert ended.code == 0, ended.err
        return ended

    return bring


def queue(state):
    with reading(state) as opened:
        return jobs.select(opened)


def test_pool_of_three_dumps(bring, state, tmp_path):
    """Slots keep their order, jobs become ranges, accounting records have their real priority; one line tells."""
    ended = bring(
        *("--slots", dump(tmp_path, "slots", slot("b"), slot("a"))),
        *("--jobs", dump(tmp_path, "jobs", job(7, 0), job(7, 1), job(8, 0))),
        *("--accounting", dump(tmp_path, "accounting", user(Floor=3))),
    )

    assert ended.out == "imported 2 slots, 3 jobs, 2 clusters, 1 accounting record\n"
    with reading(state) as opened:
        assert slots.load_names(opened) == ["b", "a"]
        (record,) = submitters.load_all(opened)
        assert (record.name, record.priority, record.priority_factor) == ("alice@example.org", 10.0, 100.0)
        assert (record.ceiling, record.floor, record.is_group) == (-1, 3, False)
        assert meta.get(opened, "last_update") == str(NOW)
    assert [(one.cluster, one.first_proc, one.last_proc) for one in queue(state)] == [(7, 0, 1), (8, 0, 0)]


def test_json_summary(bring, tmp_path):
    """--json gives the counts by name."""
    ended = bring("--slots", dump(tmp_path, "slots", slot()), "--json")

    assert json.loads(ended.out) == {"slots": 1}


def test_real_pool(bring, state):
    """condor_status -long of a real HTCondor 8.9 is imported completely, gzip and all."""
    bring("--slots", REAL)

    with reading(state) as opened:
        assert len(set(slots.load_names(opened))) == 8


def test_dump_from_standard_input(fairq, state):
    """- is the standard input."""
    ended = fairq("--state", state, "import", "--slots", "-", "--now", NOW, stdin=json.dumps([slot()]))

    assert ended.out == "imported 1 slot\n"


def test_compressed_dump(bring, tmp_path):
    """gzip is told by its content, whatever the name."""
    path = tmp_path / "slots.json"
    path.write_bytes(gzip.compress(json.dumps([slot()]).encode()))

    assert bring("--slots", path).out == "imported 1 slot\n"


def test_dry_run(run, state, tmp_path):
    """--dry-run reads and counts everything and creates nothing."""
    ended = run("--state", state, "import", "--slots", dump(tmp_path, "slots", slot()), "--dry-run")

    assert ended.out == "would import 1 slot\n"
    assert not state.exists()


def test_what_is_not_given_stays(bring, state, tmp_path):
    """Slots alone leave queue and accounting as they are; accounting leaves the records that it does not name."""
    bring("--jobs", dump(tmp_path, "jobs", job()), "--accounting", dump(tmp_path, "a", user("a@x"), user("b@x")))
    bring("--slots", dump(tmp_path, "slots", slot()))
    bring("--accounting", dump(tmp_path, "a", user("b@x", Priority=77)))

    with reading(state) as opened:
        assert [(one.name, one.priority) for one in submitters.load_all(opened)] == [("a@x", 10.0), ("b@x", 77.0)]
    assert len(queue(state)) == 1


def test_jobs_replace_the_queue(bring, state, tmp_path):
    """The queue afterwards is the dump's, an empty one included."""
    bring("--jobs", dump(tmp_path, "jobs", job(1), job(2)))
    bring("--jobs", dump(tmp_path, "jobs", job(2), job(3)))
    assert [one.cluster for one in queue(state)] == [2, 3]

    bring("--jobs", dump(tmp_path, "jobs"))
    assert queue(state) == []


def test_procs_that_differ(bring, state, tmp_path):
    """What is equal over a cluster is shared; a proc's own part is its own; the order in the dump is nothing."""
    ads = [job(1, 3), job(1, 0), job(1, 1, Args="x"), job(1, 2)]
    bring("--jobs", dump(tmp_path, "jobs", *ads))

    ranges = queue(state)
    assert [(one.first_proc, one.last_proc, one.own) for one in ranges] == [
        (0, 0, None),
        (1, 1, {"Args": "x"}),
        (2, 3, None),
    ]
    with reading(state) as opened:
        assert len(jobs.ads(opened, {one.ad_id for one in ranges})) == 1


def test_equal_numbers_of_different_kind_differ(bring, state, tmp_path):
    """1, 1.0 and true are three values: the procs that have them are kept apart."""
    bring("--jobs", dump(tmp_path, "jobs", job(1, 0, X=1), job(1, 1, X=1.0), job(1, 2, X=True), job(1, 3, X=[1])))

    assert [repr(one.own) for one in queue(state)] == ["{'X': 1}", "{'X': 1.0}", "{'X': True}", "{'X': [1]}"]


@pytest.mark.parametrize(
    ("ad", "submitter"),
    [
        ({}, "alice@example.org"),
        ({"AccountingGroup": "physics.alice"}, "physics.alice@example.org"),
        ({"NiceUser": True}, "nice-user.alice@example.org"),
        ({"accountinggroup": "alias"}, "alias@example.org"),
        ({"User": "alice@elsewhere.net"}, "alice@elsewhere.net"),
    ],
)
def test_submitter_of_a_job(ad, submitter, bring, state, tmp_path):
    """A job is its accounting group's, else its owner's, in the domain of its User if none is configured."""
    bring("--jobs", dump(tmp_path, "jobs", job(**ad)))

    assert queue(state)[0].submitter == submitter


@pytest.mark.parametrize(("user", "submitter"), [("alice", "alice@uid.org"), ("alice@far.org", "alice@far.org")])
def test_configured_domain_completes_names(user, submitter, bring, state, tmp_path, monkeypatch):
    """Submitters whose User has no domain are of the configured one; the others keep theirs."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "uid.org")
    bring("--jobs", dump(tmp_path, "jobs", job(User=user)))

    assert queue(state)[0].submitter == submitter


def test_status_and_columns(bring, state, tmp_path):
    """Held jobs keep their reason, suspended and transferring ones run, ended and unmatched ones are left out."""
    ads = [
        job(1, JobStatus=5, HoldReason="no disk", EnteredCurrentStatus=NOW - 5, JobPrio=-3),
        job(2, JobStatus=7),
        job(3, JobStatus=6),
        job(4, JobStatus=4),
        job(5, JobStatus=3),
        job(6, JobUniverse=7),
        job(7, JobUniverse=9),
        job(8, JobUniverse=9, WantMatching=True),
    ]
    ended = bring("--jobs", dump(tmp_path, "jobs", *ads))

    assert [(one.cluster, one.status) for one in queue(state)] == [(1, 5), (2, 2), (3, 2), (8, 1)]
    held = queue(state)[0]
    assert (held.reason, held.status_date, held.priority) == ("no disk", NOW - 5, -3)
    assert ended.err.splitlines()[:3] == [
        "left out: 2 (already ended)",
        "left out: 1 (scheduler universe)",
        "left out: 1 (grid universe)",
    ]


NOT_OFFERED: list[tuple[dict[str, object], str]] = [
    ({"JobUniverse": 8}, "MPI universe"),
    ({"JobUniverse": 11, "MinHosts": 2, "MaxHosts": 2}, "parallel universe"),
    ({"JobUniverse": 12}, "local universe"),
    ({"JobUniverse": 5, "WantParallelScheduling": True}, "dedicated scheduler"),
    ({"JobUniverse": 5, "JobStatus": 2, "Scheduler": "DedicatedScheduler@s1"}, "dedicated scheduler"),
    ({"JobUniverse": 5, "Managed": "External"}, "managed by another program"),
    ({"JobUniverse": 5, "IsNoopJob": True}, "no-op job"),
    ({"JobUniverse": 5, "JobCoolDownExpiration": NOW + 60}, "in its cool-down"),
    ({"JobUniverse": 5, "CurrentHosts": 1, "MaxHosts": 1}, "matched already"),
]
OFFERED: list[dict[str, object]] = [
    {"JobUniverse": 10},
    {"WantParallelScheduling": False},
    {"Scheduler": "s1"},
    {"Managed": "Schedd"},
    {"JobCoolDownExpiration": NOW - 1},
    {"JobStatus": 2, "CurrentHosts": 1, "MaxHosts": 1},
    {"CurrentHosts": 0, "MaxHosts": 1},
]


@pytest.mark.parametrize("many", [1, 40])
def test_what_the_schedd_does_not_offer_is_left_out(bring, state, tmp_path, many):
    """Each with its reason, wherever they are among others; jobs like them that are offered stay."""
    ads = [job(n, ProcId=proc, **more) for proc in range(many) for n, (more, _) in enumerate(NOT_OFFERED, 1)]
    kept = [job(n, ProcId=proc, **more) for proc in range(many) for n, more in enumerate(OFFERED, 50)]
    ended = bring("--jobs", dump(tmp_path, "jobs", *kept, *ads))
    reasons = Counter(why for _, why in NOT_OFFERED for _ in range(many))
    assert {line for line in ended.err.splitlines() if line.startswith("left out")} == {
        f"left out: {count} ({why})" for why, count in reasons.items()
    }
    assert {one.cluster for one in queue(state)} == set(range(50, 50 + len(OFFERED)))
    assert sum(map(len, queue(state))) == many * len(OFFERED)


def test_schedds_are_told_apart_only_if_there_are_several(bring, state, tmp_path):
    """One schedd needs no name; of two, jobs of the same number are two jobs."""
    one, other = job(GlobalJobId="s1#1.0#5"), job(GlobalJobId="s2#1.0#5")
    bring("--jobs", dump(tmp_path, "jobs", one))
    assert [found.schedd for found in queue(state)] == [""]

    bring("--jobs", dump(tmp_path, "jobs", one, other))
    assert [found.schedd for found in queue(state)] == ["s1", "s2"]


def test_slot_that_is_draining(bring, state, tmp_path):
    """A slot that advertises Draining gets no more jobs from fairq either."""
    bring("--slots", dump(tmp_path, "slots", slot("a", Draining=True), slot("b")))

    with reading(state) as opened:
        assert [found.draining for found in slots.load_all(opened)] == [True, False]


def test_ads_of_other_daemons_are_left_out(bring, state, tmp_path):
    """condor_status -any prints more than slots."""
    ended = bring("--slots", dump(tmp_path, "slots", {"MyType": "Scheduler", "Name": "s"}, slot()))

    assert ended.err.splitlines()[0] == "left out: 1 (ad of type Scheduler)"
    with reading(state) as opened:
        assert slots.count(opened) == 1


def test_null_is_undefined_and_the_last_spelling_counts(bring, state, tmp_path):
    """HTCondor prints undefined as null; of two spellings of an attribute the later one counts."""
    bring("--slots", dump(tmp_path, "slots", slot(Rank=None, Memory=1, MEMORY=2)))

    with reading(state) as opened:
        (ad,) = slots.load_ads(opened)
    assert ad["Rank"] == "/Expr(undefined)/"
    assert {name: value for name, value in ad.items() if name.lower() == "memory"} == {"MEMORY": 2}


def test_accounting_in_full(bring, state, tmp_path):
    """Usage, limits, leases and groups are taken over; a factor below 1 is one that was never set."""
    group = user("physics", IsAccountingGroup=True, PriorityFactor=0)
    full = user(
        "bob@x",
        Ceiling=9,
        Floor=2,
        AccumulatedUsage=5,
        BeginUsageTime=3,
        LastUsageTime=4,
        CeilingLeaseExpiration=NOW + 9,
        CeilingPreLeaseValue=-1,
        LastUpdate=NOW - 100,
    )
    bring("--accounting", dump(tmp_path, "accounting", group, full, {"Name": "new@x"}))

    with reading(state) as opened:
        bob, new, physics = submitters.load_all(opened)
        assert meta.get(opened, "last_update") == str(NOW - 100)
    assert (bob.ceiling, bob.floor, bob.accumulated_usage, bob.weighted_accumulated_usage) == (9, 2, 5.0, 5.0)
    assert (bob.begin_usage_time, bob.last_usage_time) == (3, 4)
    assert bob.ceiling_lease is not None
    assert (bob.ceiling_lease.expiration, bob.ceiling_lease.prelease_value) == (NOW + 9, -1)
    assert (new.priority, new.priority_factor) == (0.5, None)
    assert (physics.is_group, physics.priority_factor) == (True, None)


def test_fairqs_own_accounting_ads(bring, run, state, tmp_path):
    """What userprio prints, where Priority is the effective one, is imported by its RealPriority."""
    bring("--accounting", dump(tmp_path, "accounting", user()))
    printed = run("--state", state, "userprio", "--allusers", "--json").out
    (tmp_path / "again").write_text(printed)
    bring("--accounting", tmp_path / "again")

    with reading(state) as opened:
        (record,) = submitters.load_all(opened)
    assert (record.priority, record.priority_factor) == (10.0, 100.0)


def test_priorities_do_not_decay_for_the_past(bring, run, state, tmp_path):
    """The first cycle after an import finds the priorities as imported."""
    bring("--accounting", dump(tmp_path, "accounting", user()), "--slots", dump(tmp_path, "slots", slot()))
    run("--state", state, "negotiate", "--now", NOW)
    ads = json.loads(run("--state", state, "userprio", "--allusers", "--json").out)

    assert {ad["Name"]: ad["RealPriority"] for ad in ads}["alice@example.org"] == 10.0


def test_a_job_that_runs_on_a_slot_that_was_not_imported_is_no_fault(run, bring, state, tmp_path):
    """A queue imported without its pool keeps its running jobs, and the state is sound."""
    bring("--jobs", dump(tmp_path, "jobs", job(7, 0, JobStatus=2), job(7, 1)))

    assert run("--state", state, "state", "check").code == 0
    assert run("--state", state, "queue", "--af:j", "JobStatus").out == "7.0 2\n7.1 1\n"


def test_ads_of_condor_userprio_have_the_effective_priority(bring, state, tmp_path):
    """Its ads name what kind of record they are, and their Priority is the real one times the factor."""
    ad = {"Name": "a@x", "IsAccountingGroup": False, "Priority": 5000.0, "PriorityFactor": 1000.0}
    bring("--accounting", dump(tmp_path, "accounting", ad))

    with reading(state) as opened:
        assert [(record.name, record.priority) for record in submitters.load_all(opened)] == [("a@x", 5.0)]


def test_import_is_in_the_history(bring, state, tmp_path):
    """Who imported what, and what stood there before."""
    bring("--slots", dump(tmp_path, "slots", slot("a"), slot("b")))
    bring("--slots", dump(tmp_path, "slots", slot("a")), "--accounting", dump(tmp_path, "accounting", user()))

    with reading(state) as opened:
        entries = history.load(opened)
    assert [(one.subject, one.before) for one in entries] == [("slots", 0), ("slots", 2), ("alice@example.org", None)]
    assert entries[1].after == 1
    assert entries[2].after["RealPriority"] == 10.0
