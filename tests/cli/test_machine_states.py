"""What a machine's state means for a match: the manual's ordered list, and what today's negotiator makes of it.

The slots are as condor_status tells of them; a job of ann's asks, whose priority is better than that of ben, who
has the slot where anybody does, and the policy gives everything away.
"""

import json

import pytest

NOW = 1_795_210_080


SLOT = {
    "Name": "slot1@m", "Machine": "m", "SlotID": 1, "Cpus": 1, "Memory": 1, "Requirements": True, "Rank": 0.0,
    "CurrentRank": 0.0,
}  # fmt: skip
JOB = {
    "ClusterId": 1, "ProcId": 0, "JobStatus": 1, "User": "ann@x", "Owner": "ann", "QDate": NOW, "RequestCpus": 1,
    "Requirements": True,
}  # fmt: skip
ACCOUNTS = [
    {"Name": "ann@x", "Priority": 2.0, "PriorityFactor": 1.0},
    {"Name": "ben@x", "Priority": 10.0, "PriorityFactor": 1.0},
    {"Name": "best@x", "Priority": 1.0, "PriorityFactor": 1.0},
]


def slot(state, activity="Idle", **attributes):
    return {**SLOT, "State": state, "Activity": activity, **attributes}


def bens(state="Claimed", activity="Busy", **attributes):
    return {**slot(state, activity), "RemoteUser": "ben@x", "RemoteOwner": "ben@x", **attributes}


def matches(run, state, folder, rules, slots, jobs, **more):
    """Import a pool, hold a cycle: slot, reason and who was preempted of each match."""
    for name, ads in (("slots", slots), ("jobs", jobs), ("accounting", ACCOUNTS)):
        (folder / f"{name}.json").write_text(json.dumps(ads))
    lines = [f"{name} = {json.dumps(value)}" for name, value in more.items()]
    text = f'[negotiator]\nrules = "{rules}"\npreemption_requirements = "true"\n' + "\n".join(lines) + "\n"
    (folder / "config.toml").write_text(text + '[accounting]\nuid_domain = "x"\n')
    words = [word for name in ("slots", "jobs", "accounting") for word in (f"--{name}", folder / f"{name}.json")]
    assert run("--state", state, "import", *words, "--now", NOW).code == 0
    done = run("--state", state, "--config", folder / "config.toml", "negotiate", "--now", NOW, "--json")
    assert done.code == 0, done.err
    return [
        (match["slot"], match["reason"], match["preempted"] and match["preempted"]["submitter"])
        for match in json.loads(done.out)["matches"]
    ]


FREE = "no-preemption", None
PRIORITY = "priority", "ben@x"
RANK = "rank", "ben@x"

STATES = [
    # What the machine says, what the manual makes of it, and what today's negotiator does.
    ("Owner, and its START is false", slot("Owner", Requirements="/Expr(START)/", START=False), None, None),
    ("Owner, and takes jobs", slot("Owner"), FREE, FREE),
    ("Unclaimed", slot("Unclaimed"), FREE, FREE),
    ("Unclaimed, but its Requirements are undefined", slot("Unclaimed", Requirements="/Expr(Nothing)/"), None, None),
    ("Matched, but not claimed yet", slot("Matched"), FREE, FREE),
    ("Claimed, but running no job", bens(activity="Idle"), None, PRIORITY),
    ("Claimed, and nobody says for whom", slot("Claimed"), None, FREE),
    ("Claimed and running a job", bens(), PRIORITY, PRIORITY),
    ("by a user of better priority", bens(RemoteUser="best@x"), None, ("priority", "best@x")),
    ("by the user who asks", bens(RemoteUser="ann@x"), None, None),
    ("and the machine prefers the new job", bens(Rank=1.0), RANK, RANK),
    ("whoever has it", bens(Rank=1.0, RemoteUser="best@x"), ("rank", "best@x"), ("rank", "best@x")),
    ("and the machine prefers its job", bens(CurrentRank=1.0), None, None),
    ("a suspended one", bens(activity="Suspended"), PRIORITY, PRIORITY),
    ("one that may retire for a while", bens(activity="Retiring", RetirementTimeRemaining=600), None, None),
    ("one that has retired", bens(activity="Retiring", RetirementTimeRemaining=0), PRIORITY, PRIORITY),
    ("Preempting, for nobody yet", bens("Preempting", "Vacating"), PRIORITY, PRIORITY),
    ("for somebody better", bens("Preempting", "Vacating", PreemptingUser="best@x"), None, PRIORITY),
    ("for one that it likes better", bens("Claimed", "Retiring", PreemptingRank=2.0, Rank=1.0), None, None),
    ("for one that it likes less", bens("Claimed", "Retiring", PreemptingRank=2.0, Rank=3.0), RANK, RANK),
    ("Drained", slot("Drained", Draining=True), None, None),
    ("Draining, with its last job", bens(Draining=True), None, None),
    ("Backfill", slot("Backfill", "Busy"), FREE, FREE),
    ("Drained by its machine", slot("Drained"), None, FREE),
    ("Offline, but could be woken", slot("Unclaimed", Offline=True), None, FREE),
    ("Absent", slot("Unclaimed", Absent=True), None, FREE),
]


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
@pytest.mark.parametrize(("ad", "documented", "htcondor"), [row[1:] for row in STATES], ids=[row[0] for row in STATES])
def test_state(ad, documented, htcondor, rules, run, state, tmp_path):
    wanted = documented if rules == "documented" else htcondor
    assert matches(run, state, tmp_path, rules, [ad], [JOB]) == ([] if wanted is None else [("slot1@m", *wanted)])


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
@pytest.mark.parametrize(
    ("ad", "of_running_jobs", "settings"),
    [
        (bens(JobId="2.0"), PRIORITY, {}),
        (bens(activity="Suspended", JobId="2.0"), PRIORITY, {}),
        (bens(activity="Retiring", JobId="2.0", RetirementTimeRemaining=600), None, {}),
        (bens(JobId="2.0", RetirementTimeRemaining=600), PRIORITY, {"negotiator_consider_early_preemption": True}),
        (bens("Preempting", "Vacating", JobId="2.0"), PRIORITY, {}),
        (bens(JobId="2.0", PreemptingRank=2.0, Rank=1.0), None, {}),
        (bens(JobId="2.0", Rank=1.0), RANK, {}),
        (bens(JobId="2.0"), None, {"negotiator_consider_preemption": False}),
    ],
    ids=["busy", "suspended", "retiring", "retiring, early", "preempting", "waited for", "outranked", "not considered"],
)
def test_the_same_holds_for_jobs_of_fairqs_own_queue(ad, of_running_jobs, settings, rules, run, state, tmp_path):
    """A job that is imported with its slot goes on as the machine tells, and a preempted one waits again."""
    running = {**JOB, "ClusterId": 2, "JobStatus": 2, "User": "ben@x", "Owner": "ben"}
    got = matches(run, state, tmp_path, rules, [ad], [JOB, running], **settings)
    assert got == ([] if of_running_jobs is None else [("slot1@m", *of_running_jobs)])
    shown = json.loads(run("--state", state, "queue", "--json").out)
    assert {row["ClusterId"]: row["JobStatus"] for row in shown} == ({1: 1, 2: 2} if not got else {1: 2, 2: 1})
    (told,) = json.loads(run("--state", state, "export", "--slots").out)
    if got:
        assert (told["State"], told["Activity"], told["RemoteUser"]) == ("Claimed", "Busy", "ann@x")
        assert "RetirementTimeRemaining" not in told
    else:
        assert {name: told[name] for name in ad} == ad


@pytest.mark.parametrize(("discount", "used"), [(False, 1), (True, 0)])
def test_a_suspended_job_is_charged_unless_the_pool_discounts_it(discount, used, run, state, tmp_path):
    """The slot's Activity is what counts, of a job in the queue as of a foreign one."""
    slots = [{**bens(activity="Suspended", JobId=f"{n}.0"), "Name": f"slot{n}@m"} for n in (2, 3)]
    running = {**JOB, "ClusterId": 2, "JobStatus": 7, "User": "ben@x", "Owner": "ben"}
    text = f"{discount}".lower()
    config = tmp_path / "c.toml"
    config.write_text(f"[accounting]\nnegotiator_discount_suspended_resources = {text}\n")
    for name, ads in (("slots", slots), ("jobs", [running])):
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    words = ["--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", NOW]
    assert run("--state", state, "import", *words).code == 0
    assert run("--state", state, "--config", config, "negotiate", "--now", NOW + 60).code == 0
    found = json.loads(run("--state", state, "userprio", "--all", "--allusers", "--json").out)
    assert [row["WeightedResourcesUsed"] for row in found if row["Name"] == "ben@x"] == [2 * used]
    assert run("--state", state, "state", "check").code == 0
    finish = run("--state", state, "finish", "2.0", "--now", NOW + 90)
    assert finish.code == 0, finish.err
    found = json.loads(run("--state", state, "userprio", "--all", "--allusers", "--json").out)
    assert [row["WeightedResourcesUsed"] for row in found if row["Name"] == "ben@x"] == [used]


def test_a_job_that_goes_on_is_charged_again(run, state, tmp_path):
    """A machine that is imported anew, its job no longer suspended, costs what it did."""
    config = tmp_path / "c.toml"
    config.write_text("[accounting]\nnegotiator_discount_suspended_resources = true\n")
    (tmp_path / "jobs.json").write_text(json.dumps([{**JOB, "JobStatus": 2, "User": "ben@x", "Owner": "ben"}]))
    used = []
    for step, activity in enumerate(["Busy", "Suspended", "Busy"]):
        (tmp_path / "slots.json").write_text(json.dumps([bens(activity=activity, JobId="1.0")]))
        now = NOW + 60 * step
        words = ["--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", now]
        assert run("--state", state, "import", *words).code == 0
        assert run("--state", state, "--config", config, "negotiate", "--now", now + 1).code == 0
        assert run("--state", state, "state", "check").code == 0
        (row,) = json.loads(run("--state", state, "userprio", "ben@x", "--all", "--json").out)
        used.append(row["WeightedResourcesUsed"])
    assert used == [1, 0, 1]


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
def test_an_offline_machine_is_the_last_resort(rules, run, state, tmp_path):
    """Where it is matched at all, under the rules htcondor, that is only when all that are awake are taken."""
    slots = [{**slot("Unclaimed"), "Name": f"slot1@m{n}", "Machine": f"m{n}", "Offline": n == 1} for n in range(1, 4)]
    jobs = [{**JOB, "ProcId": n} for n in range(3)]
    taken = [slot for slot, *_ in matches(run, state, tmp_path, rules, slots, jobs)]
    assert sorted(taken[:2]) == ["slot1@m2", "slot1@m3"]
    assert taken[2:] == (["slot1@m1"] if rules == "htcondor" else [])


def test_machines_that_are_off_are_wanted_by_jobs_that_would_start_there(run, state, tmp_path):
    """Not by a job that fits nowhere there, nor by one that a limit stops; a drained one is not woken."""
    config = tmp_path / "c.toml"
    config.write_text("[limits]\nLICENSE = 0\n")

    def fairq(*words):
        ended = run("--state", state, "--config", config, *words, "--now", NOW)
        assert ended.code == 0, ended.err
        return ended.out + ended.err

    for name in ("m0", "m1", "m2"):
        fairq("slots", "add", name, "--count", 2, "--cpus", 4, "--attribute", "Offline=true")
    fairq("slots", "add", "on")
    assert json.loads(fairq("slots", "--wanted", "--json")) == []
    fairq("submit", "--request-cpus", 99, "--", "/bin/true")
    fairq("submit", "--request-cpus", 2, "--concurrency-limits", "LICENSE", "--", "/bin/true")
    assert fairq("slots", "--wanted") == "no idle job would start on a machine that is off\n"
    fairq("submit", "--count", 3, "--request-cpus", 2, "--", "/bin/true")
    assert json.loads(fairq("slots", "--wanted", "--json")) == [
        {"slot": f"slot{n}@{machine}", "machine": machine, "jobs": 3} for machine in ("m0", "m1", "m2") for n in (1, 2)
    ]
    assert "It would start on 3 machines that are off." in fairq("why", "3.0")
    assert "off." not in fairq("why", "1.0") + fairq("why", "2.0")
    starts = fairq("queue", "--start")
    assert [line.split()[-1] for line in starts.splitlines() if line.startswith("3.")] == ["3"]
    assert "OFF: on so many machines that are off a job would start now" in " ".join(starts.split())
    told = run("--state", state, "--config", config, "queue", "--start", "--now", NOW, "--json").out
    off = [job.get("MachinesOff") for job in json.loads(told)]
    assert off == [None, None, 3, 3, 3]
    fairq("slots", "drain", "m2")
    assert "It would start on 2 machines that are off." in fairq("why", "3.0")
    assert fairq("slots", "--wanted", "m0", "--af", "slot").split() == ["slot1@m0", "slot2@m0"]
    assert [line.split()[0] for line in fairq("slots", "--available").splitlines()[1:2]] == ["on"]


def test_a_pool_without_usable_slots_is_said_to_be_so(run, state):
    job = ("submit", "--state", state, "--now", NOW, "--", "/bin/true")
    assert run(*job).code == 0
    cycle = ("negotiate", "--state", state, "--now", NOW, "--dry-run")
    assert "the pool has no slots\n" in run(*cycle).out
    assert run("slots", "--state", state, "add", "node", "--count", 2, "--now", NOW).code == 0
    assert run("slots", "--state", state, "drain", "slot1@node", "--now", NOW).code == 0
    assert "draining" not in run(*cycle).out
    assert run("slots", "--state", state, "drain", "slot2@node", "--now", NOW).code == 0
    assert "all slots are draining or offline\n" in run(*cycle).out
