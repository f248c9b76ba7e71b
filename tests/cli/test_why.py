"""``fairq why`` as a user sees it."""

import json

import pytest
from tests.engine.negotiation.pools import JOB, NOW, SLOT, claimed

from fairq.common.quantities import shown_time

FITS = '/Expr((TARGET.Arch == "X86_64") && (TARGET.Memory >= RequestMemory))/'
ALICE_ONLY = "/Expr(START && TARGET.RequestMemory <= MY.Memory)/"


def job(cluster, owner, count=1, **attributes):
    own = {"ClusterId": cluster, "Owner": owner, "User": f"{owner}@x", "JobStatus": 1, "JobPrio": 0, "QDate": NOW}
    return [{**JOB, **own, "ProcId": proc, **attributes} for proc in range(count)]


@pytest.fixture
def why(state, tmp_path, run):
    """``fairq why`` on a pool of ten small slots, six of them in use by carol, and two big ones for alice."""
    small = [{**SLOT, "Name": f"slot1@m{number}"} for number in range(10)]
    big = {**SLOT, "Memory": 4096, "Start": '/Expr(TARGET.Owner == "alice")/', "Requirements": ALICE_ONLY}
    slots = [
        *(claimed(slot, "carol@x") for slot in small[:6]),
        *small[6:],
        *({**big, "Name": f"big{number}@m"} for number in range(2)),
    ]
    jobs = [
        *job(1, "bob", 3),
        *job(2, "bob", RequestMemory=8192, Requirements=FITS),
        *job(3, "bob", RequestMemory=2048),
        *job(4, "dave", 5),
        *job(5, "bob", Requirements='/Expr(TARGET.Arch == "ARM64" && TARGET.HasDocker)/'),
        *job(6, "bob", JobStatus=5, HoldReason="too big"),
    ]
    (tmp_path / "slots.json").write_text(json.dumps(slots))
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    assert run("--state", state, "import", *dumps, "--now", NOW).code == 0
    return lambda *words: run("--state", state, "why", *words, "--now", NOW)


def first_line(ended):
    assert ended.code == 0, ended.err
    return ended.out.splitlines()[0]


def test_a_job_that_would_be_matched_waits_for_the_next_cycle(why):
    assert first_line(why("1.2")) == "Job 1.2 waits only for the next cycle, which would give it slot1@m8."


def test_a_clause_that_no_slot_meets_is_named_with_the_nearest_value(why):
    ended = why("2.0")
    assert first_line(ended).startswith("Job 2.0 cannot run. No machine has more than 4 GB of memory; you ask for 8.")
    assert ended.out.splitlines()[1] == (
        "Job 2.0 waits because none of the 12 slots meets its requirement TARGET.Memory >= RequestMemory; the "
        "largest Memory is 4096."
    )
    assert "TARGET.Memory >= RequestMemory      0     0  4096" in ended.out


def test_slots_that_refuse_the_job_are_told_by_clause(why):
    ended = why("3")
    assert first_line(ended) == (
        "Job 3.0 waits because the 12 slots that it accepts reject it, 10 of them by TARGET.RequestMemory <= "
        "MY.Memory; the nearest is 1024. It would run with all of: "
        "request_memory = 1024, a job priority of 1 (you can set this)."
    )
    assert 'TARGET.Owner == "alice"            start             2' in ended.out


def test_a_job_that_finds_its_slots_taken_is_told_by_whom(why):
    """Of a cluster the first job is explained that stays idle."""
    ended = why("4")
    assert first_line(ended) == (
        "Job 4.1 waits because the 4 free slots that matched went to bob@x (3), dave@x (1) in this cycle. "
        "It would run with a job priority of 1."
    )
    assert "The cluster has 5 idle, 1 would match in the next cycle." in ended.out
    assert "carol@x      6" in ended.out


def test_the_document_has_reason_and_changes_as_data(why):
    document = json.loads(why("5.0", "--json").out)
    assert document["reason"] == "the job's Requirements"
    assert document["verified"]
    assert document["changes"] == [
        {
            "change": "requirements clause",
            "of": "5.0",
            "to": 'TARGET.Arch == "X86_64"',
            "attribute": "requirements",
            "clause": 'TARGET.Arch == "ARM64"',
        },
        {
            "change": "requirements clause",
            "of": "5.0",
            "to": None,
            "attribute": "requirements",
            "clause": "TARGET.HasDocker",
        },
        {"change": "job priority", "of": "5.0", "to": 1, "now": 0},
    ]
    assert [(row["clause"], row["slots"]) for row in document["requirements"]] == [
        ('TARGET.Arch == "ARM64"', 0),
        ("TARGET.HasDocker", 0),
    ]
    assert document["slots"] == [{"test": "job_requirements", "slots": 12}]


def test_a_later_job_is_told_for_which_one_it_is_skipped(why):
    assert json.loads(why("4.3", "--json").out)["skipped_for"] == "4.1"


def test_held_jobs_have_their_own_answer(why):
    assert first_line(why("6")) == "Job 6.0 is held (too big): release it with 'fairq release 6.0'."


def test_running_and_ended_jobs_have_their_own_answer(state, why, run):
    run("--state", state, "negotiate", "--now", NOW)
    assert first_line(why("1.0")) == "Job 1.0 does not wait: it runs on slot1@m6."

    run("--state", state, "finish", "1.0", "--exit-code", 3, "--now", NOW)
    assert first_line(why("1.0")) == (
        "Job 1.0 is not in the queue any more: its last run, on slot1@m6, ended (finished) with exit code 3."
    )


def test_a_job_and_a_slot_are_compared_clause_by_clause(why):
    ended = why("3.0", "--slot", "big0@m")
    assert first_line(ended) == ('Job 3.0 cannot run on big0@m: the slot\'s clause TARGET.Owner == "alice" is false.')
    assert 'slot  TARGET.Owner == "alice"            False  no' in ended.out
    assert "slot  TARGET.RequestMemory <= MY.Memory  True   yes" in ended.out


def test_a_submitter_is_told_what_it_is_entitled_to(why):
    assert first_line(why("dave")) == (
        "dave@x is entitled to 3.00 (50.0% of the pie), has 0 in use; the next cycle starts 1 (weight 1) of its 5 idle "
        "jobs: suitable slots are in use."
    )


def test_a_group_is_told_its_quota_use_and_surplus(state, why, run):
    run("--state", state, "--config", state.with_suffix(".toml"), "config", "set", "groups.physics.quota", 1)
    run("--state", state, "submit", "--now", NOW, "--", "/bin/true")
    ended = run("--state", state, "--config", state.with_suffix(".toml"), "why", "physics", "--now", NOW)
    assert first_line(ended).startswith("Group physics has a quota of 1, requests 0, has 0 in use")


def test_a_removed_job_is_told_by_whom(state, why, run):
    """Of a job that never ran the history tells."""
    run("--state", state, "remove", "4.2", "--now", NOW)
    ended = first_line(why("4.2"))
    assert ended.startswith("Job 4.2 is not in the queue any more: ")
    assert f" removed it at {shown_time(NOW)} (fairq remove 4.2" in ended


@pytest.mark.parametrize(
    ("requirements", "cause", "change"),
    [
        ({"Requirements": "/Expr(NoSuch > 3)/"}, "requirement NoSuch > 3; no slot has NoSuch", "without NoSuch > 3"),
        ({"Requirements": "/Expr(undefined)/"}, "undefined; it is undefined for all of them", "without undefined"),
        ({"Requirements": '/Expr(1 + "x")/'}, '1 + "x"; it is an error for all of them', 'without 1 + "x"'),
        ({}, "it has no Requirements, and a job without them gets no slot", "with Requirements = true"),
    ],
)
def test_requirements_without_a_value_are_told_as_such(state, run, tmp_path, requirements, cause, change):
    (ad,) = job(1, "bob")
    del ad["Requirements"]
    why = imported(state, run, tmp_path, [{**SLOT, "Name": "slot1@n"}], [{**ad, **requirements}])
    sentence = first_line(why("1.0"))
    assert cause in sentence
    assert sentence.endswith(f"It would run {change}.")


def test_a_time_budget_that_ran_out_is_the_reason(state, run, tmp_path):
    imported(state, run, tmp_path, [{**SLOT, "Name": "slot1@n"}], job(1, "bob"))
    config = tmp_path / "fairq.toml"
    config.write_text("[negotiator]\nnegotiator_max_time_per_submitter = 0\n")
    ended = run("--state", state, "--config", config, "why", "1.0", "--now", NOW)
    assert first_line(ended) == (
        "Job 1.0 waits because negotiator_max_time_per_submitter (0 s) was used up before it was offered. "
        "It would run with negotiator_max_time_per_submitter = 60."
    )


def test_a_job_that_no_cycle_offers_is_told_so(state, run, tmp_path):
    imported(state, run, tmp_path, [{**SLOT, "Name": "slot1@n"}], job(1, "bob"))
    config = tmp_path / "fairq.toml"
    config.write_text("""[negotiator]\nnegotiator_submitter_constraint = 'Name != "bob@x"'\n""")
    ended = run("--state", state, "--config", config, "why", "1.0", "--now", NOW)
    assert first_line(ended) == (
        "Job 1.0 waits because bob@x is excluded by negotiator_submitter_constraint. "
        "It would run without negotiator_submitter_constraint."
    )
    assert "No cycle considers it in the current state" in ended.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("99",), 30, "there is no job 99 in the queue"),
        (("nobody",), 61, "'nobody' is neither a group nor a submitter or batch with queued jobs"),
        (("1.0", "--slot", "nowhere"), 40, "there is no slot 'nowhere'"),
        (("bob", "--slot", "big0@m"), 2, "--slot needs a job"),
        (("7..",), 36, "'7..' is not a job"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(why, words, code, message):
    ended = why(*words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_quota_and_ceiling_are_named_with_what_would_do(state, run, tmp_path):
    """A group at its quota, and a submitter at its ceiling, each with the least that would let one job more run."""
    config = tmp_path / "groups.toml"
    config.write_text("[groups.physics]\nquota = 2\n[groups.chem]\nquota = 2\naccept_surplus = true\n")
    shared = ("--state", state, "--config", config)
    run(*shared, "slots", "add", "node1", "--count", 8, "--memory", "2GB")
    for group, person in (("physics", "cy"), ("chem", "di")):
        words = ("--accounting-group", group, "--accounting-group-user", person)
        run(*shared, "submit", "--count", 9, *words, "--now", NOW, "--", "/bin/true")
    name = f"chem.di@{json.loads(run(*shared, 'queue', '2', '--json').out)[0]['User'].partition('@')[2]}"
    run(*shared, "userprio", "-setceil", name, 3, "--now", NOW)
    run(*shared, "negotiate", "--now", NOW)

    assert first_line(run(*shared, "why", "1", "--now", NOW)) == (
        "Job 1.2 waits because group physics is allocated 2 (quota 2) and has 2 in use, and it accepts no surplus. "
        "It would run with a quota of 3 for physics."
    )
    assert first_line(run(*shared, "why", "2", "--now", NOW)) == (
        f"Job 2.3 waits because {name} has reached its ceiling of 3: 3 in use. "
        f"It would run with a ceiling of 4 for {name}."
    )
    assert first_line(run(*shared, "why", "chem", "--now", NOW)) == (
        "Group chem has a quota of 2, requests 9 and gets 1 of surplus, has 3 in use, and the next cycle starts "
        "0 of its 6 idle jobs: ceiling reached."
    )


def test_pieces_of_a_partitionable_slot_come_back(state, run, tmp_path):
    """A job that would fit a partitionable slot waits for pieces of it, not for other Requirements."""
    for cluster, cpus in enumerate((3, 3, 6), 1):
        description = tmp_path / f"{cluster}.sub"
        description.write_text(f"executable = /bin/sleep\nrequest_cpus = {cpus}\nrequest_memory = 100\nqueue\n")
        run("--state", state, "submit", description, "--now", NOW)
    run("--state", state, "slots", "add", "node1", "--partitionable", "--cpus", 8, "--memory", "8G")
    run("--state", state, "negotiate", "--now", NOW)

    ended = run("--state", state, "why", "3.0", "--now", NOW)
    assert first_line(ended) == (
        "Job 3.0 waits because the partitionable slots have too few free resources: other jobs use the rest. "
        "It would run once slot1_1@node1 and slot1_2@node1 are free."
    )
    run("--state", state, "finish", "1.0", "2.0", "--now", NOW)
    assert first_line(run("--state", state, "why", "3.0", "--now", NOW)).endswith("which would give it slot1@node1.")


def test_a_request_that_no_slot_can_meet_is_told_what_would_fit(state, run, tmp_path):
    (tmp_path / "job.sub").write_text("executable = /bin/sleep\nrequest_cpus = 12\nrequest_memory = 100\nqueue\n")
    run("--state", state, "submit", tmp_path / "job.sub", "--now", NOW)
    run("--state", state, "slots", "add", "node1", "--cpus", 8, "--memory", "8G")

    lines = run("--state", state, "why", "1", "--now", NOW).out.splitlines()
    assert "No machine has more than 8 cores; you ask for 12." in lines[0]
    assert "at most request_cpus = 8" in lines[0]
    assert lines[1].endswith("the largest Cpus is 8.")  # what is left of a machine is not advised


def test_a_concurrency_limit_is_named_with_its_use(state, run, tmp_path):
    (tmp_path / "job.sub").write_text("executable = /bin/sleep\nconcurrency_limits = db\nqueue 2\n")
    run("--state", state, "submit", tmp_path / "job.sub", "--now", NOW)
    for node in ("node1", "node2"):
        run("--state", state, "slots", "add", node, "--cpus", 1, "--memory", "8G")
    config = tmp_path / "limits.toml"
    config.write_text("[limits]\ndb = 1\n")
    run("--state", state, "--config", config, "negotiate", "--now", NOW)

    ended = run("--state", state, "--config", config, "why", "1.1", "--now", NOW)
    assert first_line(ended) == (
        "Job 1.1 waits because the concurrency limit db is reached: 1 of 1 in use. It would run with a concurrency "
        "limit of 2 for db."
    )


def test_an_empty_pool_is_told(state, run):
    run("--state", state, "submit", "--now", NOW, "--", "/bin/true")
    ended = run("--state", state, "why", "1", "--now", NOW)
    assert first_line(ended).startswith("Job 1.0 waits because the pool has no slots.")


def test_asking_changes_nothing(state, why):
    before = state.read_bytes()
    for subject in ("2.0", "4", "bob"):
        why(subject)
    assert state.read_bytes() == before


def imported(state, run, tmp_path, slots, jobs):
    (tmp_path / "slots.json").write_text(json.dumps(slots))
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    assert run("--state", state, "import", *dumps, "--now", NOW).code == 0
    return lambda *words: run("--state", state, "why", *words, "--now", NOW)


def test_slots_of_one_name_are_told_apart_by_their_address(state, run, tmp_path):
    """Of two slots of a name each is explained by itself, and a change names the one that it means."""
    slots = [
        {**SLOT, "Name": "slot1@n", "MyAddress": "<10.0.0.1:9618>", "Memory": 512},
        {**claimed(SLOT, "carol@x"), "Name": "slot1@n", "MyAddress": "<10.0.0.2:9618>"},
    ]
    why = imported(state, run, tmp_path, slots, job(1, "bob", Requirements="/Expr(TARGET.Memory >= 1024)/"))

    ended = why("1.0", "--slot", "slot1@n")
    assert (ended.code, ended.out) == (44, "")
    assert "slot1@n<10.0.0.1:9618> or slot1@n<10.0.0.2:9618>" in ended.err
    assert first_line(why("1.0", "--slot", "slot1@n<10.0.0.1:9618>")) == (
        "Job 1.0 cannot run on slot1@n<10.0.0.1:9618>: its clause TARGET.Memory >= 1024 is false."
    )
    assert first_line(why("1.0", "--slot", "slot1@n<10.0.0.2:9618>")).endswith(
        "carol@x uses it, and PREEMPTION_REQUIREMENTS forbids preempting that job."
    )
    assert first_line(why("1.0")).endswith("It would run once slot1@n<10.0.0.2:9618> is free.")


@pytest.mark.parametrize("name", ["slot1_1@n", "other@n"])
def test_an_imported_dynamic_slot_gives_back_to_the_parent_on_its_machine(state, run, tmp_path, name):
    """Another machine's partitionable slot of the same name gets nothing; a number tells the parent, too."""
    whole = {**SLOT, "Name": "slot1@n", "PartitionableSlot": True, "SlotID": 1, "Cpus": 2, "Memory": 2048}
    slots = [
        {**whole, "MyAddress": "<10.0.0.1:9618>", "Cpus": 1, "Memory": 512},
        {**whole, "MyAddress": "<10.0.0.2:9618>"},
        {
            **claimed(SLOT, "carol@x"),
            "Name": name,
            "DynamicSlot": True,
            "SlotID": 1,
            "DSlotId": 1,
            "MyAddress": "<10.0.0.2:9618>",
            "Cpus": 2,
            "Memory": 2048,
        },
    ]
    needs = {"RequestCpus": 4, "RequestMemory": 4096}
    fits = "/Expr(TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory)/"
    why = imported(state, run, tmp_path, slots, job(1, "bob", Requirements=fits, **needs))

    document = json.loads(why("1.0", "--json").out)
    assert document["reason"] == "partitionable slots are carved up"
    assert document["verified"]
    assert document["changes"] == [{"change": "free slot", "of": name, "to": None}]


def test_long_tables_are_cut_and_say_so(state, tmp_path, run):
    """Two hundred submitters do not push the answer off the screen; the JSON has all of them."""
    jobs = [each for number in range(25) for each in job(number + 1, f"u{number:02}")]
    slots = [claimed({**SLOT, "Name": f"slot1@m{number}"}, f"u{number:02}@x") for number in range(23)]
    (tmp_path / "slots.json").write_text(json.dumps(slots))
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    assert run("--state", state, "import", *dumps, "--now", NOW).code == 0
    ended = run("--state", state, "why", "25.0", "--now", NOW)
    assert "Users of the matching slots: the first 20 of 23" in ended.out
    lines = ended.out.split("Users of the matching slots")[1].splitlines()
    assert len(lines[2 : lines.index("")]) == 20
    assert len(json.loads(run("--state", state, "why", "25.0", "--now", NOW, "--json").out)["users"]) == 23
    assert "Other submitters: the first 20 of 24" in run("--state", state, "why", "u01@x", "--now", NOW).out
