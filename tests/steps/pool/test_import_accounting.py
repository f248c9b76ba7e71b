"""Accounting of a real pool: numbered ads, effective priorities, use in use, and what is assumed without."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.steps.import_cases import NOW, claimed, dump, job, slot, user

Run = Callable[..., Any]

NUMBERED = f"""LastUpdate = {NOW - 600}
NumSubmittors = 3
ConcurrencyLimit_gpu2 = 1.0
Name1 = "<none>"
IsAccountingGroup1 = true
Priority1 = 700.0
PriorityFactor1 = 0.0
ConfigQuota1 = 0.0
EffectiveQuota1 = 4.0
SubtreeQuota1 = 4.0
GroupSortKey1 = 3.4E+38
Requested1 = 2.0
SurplusPolicy1 = "byquota"
WeightedResourcesUsed1 = 2.0
Name2 = "zoe@example.org"
IsAccountingGroup2 = false
Priority2 = 2000.0
PriorityFactor2 = 1000.0
ResourcesUsed2 = 0
WeightedResourcesUsed2 = 0.0
AccumulatedUsage2 = 0.0
WeightedAccumulatedUsage2 = 0.0
Ceiling2 = -1
Floor2 = 3
Name3 = "alice@example.org"
IsAccountingGroup3 = false
Priority3 = 1000.0
PriorityFactor3 = 500.0
ResourcesUsed3 = 2
WeightedResourcesUsed3 = 2.0
AccumulatedUsage3 = 1200.0
WeightedAccumulatedUsage3 = 1200.0
LastUsageTime3 = {NOW - 600}
"""
"""What condor_userprio -long -allusers prints, with the attributes in another order."""

RULES = '[negotiator]\nrules = "htcondor"\n[accounting]\npriority_halflife = 600\n'


@pytest.fixture
def fairq(run, state, tmp_path):
    """Run a command on the state under the rules of the program, with a half-life of ten minutes."""
    config = tmp_path / "fairq.toml"
    config.write_text(RULES)
    return lambda *words: run("--state", state, "--config", config, *words)


def records(fairq):
    ads = json.loads(fairq("userprio", "--allusers", "--json").out)
    return {ad["Name"]: ad for ad in ads}


def test_one_ad_with_numbered_attributes(fairq, tmp_path):
    """Each number is a record; Priority is the effective one, and the import says so."""
    (tmp_path / "acct.long").write_text(NUMBERED)
    ended = fairq("import", "--accounting", tmp_path / "acct.long", "--now", NOW)

    assert ended.out == "imported 3 accounting records\n"
    assert "Priority of 3 accounting ads is the effective priority, divided by PriorityFactor" in ended.err
    found = records(fairq)
    assert [found[name]["RealPriority"] for name in ("<none>", "zoe@example.org", "alice@example.org")] == [0.7, 2, 2]
    assert (found["zoe@example.org"]["Floor"], found["alice@example.org"]["LastUpdate"]) == (3, NOW - 600)


def test_what_the_records_say_is_in_use_is_charged_up_to_the_import(fairq, tmp_path):
    """Two slots for one half-life make 2.0 of 2.0; no slot is in use from then on, so that it decays."""
    (tmp_path / "acct.long").write_text(NUMBERED)
    dumps = ("--slots", dump(tmp_path, "slots", slot()), "--accounting", tmp_path / "acct.long")
    assert fairq("import", *dumps, "--now", NOW).code == 0
    assert records(fairq)["alice@example.org"]["WeightedResourcesUsed"] == 2.0
    assert fairq("state", "check").code == 0

    fairq("negotiate", "--now", NOW + 600)
    found = records(fairq)
    assert found["alice@example.org"]["RealPriority"] == pytest.approx(1.0)
    assert found["alice@example.org"]["WeightedAccumulatedUsage"] == pytest.approx(2400.0)
    assert found["zoe@example.org"]["RealPriority"] == pytest.approx(0.5)
    assert fairq("state", "check").code == 0


def test_slots_count_from_the_import_on(fairq, tmp_path):
    """The records know of no use; the slot's ad does, from now on."""
    slots = dump(tmp_path, "slots", claimed("slot1@m1", "zoe@example.org", "7.0"))
    jobs = dump(tmp_path, "jobs", job(7, 0, JobStatus=2, Owner="zoe", User="zoe@example.org"))
    (tmp_path / "acct.long").write_text(NUMBERED)
    dumps = ("--slots", slots, "--jobs", jobs, "--accounting", tmp_path / "acct.long")
    assert fairq("import", *dumps, "--now", NOW).code == 0

    fairq("negotiate", "--now", NOW + 600)
    found = records(fairq)["zoe@example.org"]
    assert found["WeightedAccumulatedUsage"] == pytest.approx(600.0)
    assert found["RealPriority"] == pytest.approx(1.0 * 0.5 + 0.5)


def test_accounting_ads_among_others(fairq, tmp_path):
    """condor_status -any has Accounting ads, too; one of somebody who left uses nothing since."""
    mine = {"MyType": "Accounting", "NegotiatorName": "cm", "Priority": 4000.0, "PriorityFactor": 1000.0}
    ads = [
        {"MyType": "Machine", "Name": "slot1@m"},
        {**mine, "Name": "a@x", "WeightedResourcesUsed": 0.0, "LastUpdate": NOW},
        {**mine, "Name": "left@x", "WeightedResourcesUsed": 9.0, "LastUpdate": NOW - 600},
    ]
    ended = fairq("import", "--accounting", dump(tmp_path, "any", *ads), "--now", NOW)

    assert "left out: 1 (ad of type Machine)" in ended.err
    found = records(fairq)
    assert (found["a@x"]["RealPriority"], found["left@x"]["RealPriority"]) == (4.0, pytest.approx(2.0))
    assert found["left@x"]["WeightedResourcesUsed"] == 0.0


def test_a_pool_without_accounting_says_so_until_the_first_cycle(fairq, tmp_path):
    note = "no accounting records: every submitter starts with the best priority"
    ended = fairq("import", "--slots", dump(tmp_path, "slots", slot()), "--jobs", dump(tmp_path, "jobs", job()))
    assert note in ended.err
    assert note in fairq("negotiate", "--dry-run").err
    assert note in fairq("negotiate").err
    assert note not in fairq("negotiate").err

    assert note not in fairq("import", "--accounting", dump(tmp_path, "accounting", user())).err


@pytest.mark.parametrize(
    ("version", "counts", "told"),
    [
        ("23.9.6", "false", "the rules of HTCondor 23.9.6 hold, without accounting.count_preempted"),
        ("25.10.1", "true", "the rules of HTCondor 25.10.1 hold (CondorVersion of the slots)"),
        (None, "true", "no CondorVersion in the dumps: the rules of the newest HTCondor hold"),
    ],
)
def test_rules_of_the_version_of_the_pool(fairq, tmp_path, version, counts, told):
    """A preempted slot counts for its former user only since 25.10: the next spin's limit of that user shows it."""
    more = {} if version is None else {"CondorVersion": f"$CondorVersion: {version} 2026-01-01 $"}
    ended = fairq("import", "--slots", dump(tmp_path, "slots", slot(**more)))
    assert told in ended.err

    conf = tmp_path / "pool.conf"
    conf.write_text("PRIORITY_HALFLIFE = 600\n" + (f"CONDOR_VERSION = {version}\n" if version else ""))
    assert fairq("config", "import", conf).code == 0
    assert fairq("config", "get", "count_preempted").out == f"{counts}\n"


@pytest.mark.parametrize(
    ("option", "ad", "kind"),
    [
        ("--slots", {"MyType": "Submitter", "Name": "a@x", "IdleJobs": 1, "RunningJobs": 0}, "Submitter"),
        ("--slots", {"Name": "a@x", "ScheddName": "s", "IdleJobs": 1, "RunningJobs": 0}, "Submitter"),
        ("--slots", job(), "Job"),
        ("--jobs", slot(), "Machine"),
        ("--jobs", {"Name1": "a@x", "Priority1": 1.0}, "Accounting"),
        ("--accounting", {"Name": "slot1@m", "State": "Unclaimed", "Activity": "Idle"}, "Machine"),
    ],
)
def test_a_dump_of_another_kind_is_refused(fairq, tmp_path, option, ad, kind):
    """The pool stays as it is, whether MyType tells the kind or the attributes do."""
    assert fairq("import", "--slots", dump(tmp_path, "good", slot())).code == 0
    ended = fairq("import", option, dump(tmp_path, "bad", ad))

    assert ended.code == 51
    assert f"1 of type {kind}; give what 'condor_" in ended.err
    assert fairq("slots", "--af", "Name").out == "slot1@m1\n"


@pytest.mark.parametrize("text", ["", "\n", "All queues are empty\n"])
def test_a_dump_without_ads(fairq, tmp_path, text):
    """HTCondor's tools print nothing, or that sentence, where there is nothing."""
    (tmp_path / "jobs").write_text(text)
    assert fairq("import", "--jobs", tmp_path / "jobs").out == "imported 0 jobs, 0 clusters\n"


def test_several_documents_are_one_dump(fairq, tmp_path):
    """As condor_q -json prints them for one schedd after the other, or a line for each ad."""
    text = "".join(f"{json.dumps([job(number)])}\n" for number in (1, 2)) + json.dumps(job(3))
    (tmp_path / "jobs").write_text(text)
    assert fairq("import", "--jobs", tmp_path / "jobs").out == "imported 3 jobs, 3 clusters\n"
