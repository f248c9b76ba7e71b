"""``fairq queue``, ``remove``, ``hold``, ``release`` and ``prio`` through the command line."""

import json

import pytest

from fairq.common.quantities import shown_time

T = 1_795_000_000


@pytest.fixture
def pool(run, state, made_once, monkeypatch):
    """Ten jobs of alice (cluster 1), three of bob (2); four slots, used by 1.0, 1.1, 2.0 and 2.1 from T+10 on."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")

    def filled(folder):
        made = folder / state.name
        for user, count in (("alice", 10), ("bob", 3)):
            ended = run(
                "submit", "--state", made, "--now", T, "--count", count, "--accounting-group-user", user,
                "--output", "o.$(Process)", "--", "/bin/sh", "-c", "sleep 60",
            )  # fmt: skip
            assert ended.code == 0, ended.err
        run("slots", "--state", made, "add", "node", "--count", 4, "--now", T)
        assert run("negotiate", "--state", made, "--now", T + 10).code == 0

    made_once(filled)

    def fairq(*words):
        return run(words[0], "--state", state, "--now", T + 20, *words[1:])

    return fairq


def statuses(pool, *words):
    ads = json.loads(pool("queue", "--json", *words).out)
    return {f"{ad['ClusterId']}.{ad['ProcId']}": ad["JobStatus"] for ad in ads}


def running(pool):
    return {job for job, status in statuses(pool).items() if status == 2}


def history(run, state):
    return json.loads(run("state", "--state", state, "history", "--json").out)


def test_alike_jobs_share_a_line_and_the_last_line_counts(pool):
    lines = pool("queue").out.splitlines()
    assert lines[0].split() == ["ID", "SUBMITTER", "SUBMITTED", "RUN_TIME", "ST", "PRI", "CPUS", "MEMORY", "CMD"]
    assert lines[-1] == "13 jobs; 0 completed, 0 removed, 9 idle, 0 running, 0 held, 0 suspended, 4 matched"
    assert [line.split()[0] for line in lines[1:-2]] == ["1.0-1", "1.2-9", "2.0-1", "2.2"]
    assert lines[1].split()[4:6] == ["0+00:00:00", "M"]
    assert lines[1].endswith("sh -c 'sleep 60'")


@pytest.mark.parametrize("date", ["error", "{1}", '"then"', "1e30", "-5", "true", "MY.JobCurrentStartDate"])
def test_an_owners_date_of_the_start_is_no_run_time(pool, date):
    assert pool("submit", "--attribute", f"JobCurrentStartDate={date}", "--", "/bin/sleep", "1").code == 0
    lines = pool("queue").out.splitlines()
    assert lines[-3].split()[0] == "3.0"
    assert "0+00:00:00" in lines[-3].split()


def test_procs_lists_every_job(pool):
    assert len(pool("queue", "--procs").out.splitlines()) == 1 + 13 + 2


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["1.3"], {"1.3"}),
        (["1.8-20"], {"1.8", "1.9"}),
        (["1.8-1.9"], {"1.8", "1.9"}),
        (["2"], {"2.0", "2.1", "2.2"}),
        (["bob@example.org"], {"2.0", "2.1", "2.2"}),
        (["2", "2.1", "1.0"], {"1.0", "2.0", "2.1", "2.2"}),
        (["--running"], {"1.0", "1.1", "2.0", "2.1"}),
        (["--running", "2"], {"2.0", "2.1"}),
        (["--idle", "2"], {"2.2"}),
        (["--held"], set()),
        (["9.9"], set()),
        (["nobody"], set()),
        (["--constraint", "ProcId == 1"], {"1.1", "2.1"}),
        (["--constraint", 'Out == "o.2"'], {"1.2", "2.2"}),
        (["--constraint", "JobStartDate > 0 && ProcId > 0"], {"1.1", "2.1"}),
        (["--constraint", "Undefined"], set()),
        (["--constraint", "ClusterId == 2", "--constraint", "ProcId > 0"], {"2.1", "2.2"}),
    ],
)
def test_jobs_are_chosen_by_id_range_cluster_submitter_status_and_constraint(pool, words, want):
    assert set(statuses(pool, *words)) == want


def test_running_jobs_say_where(pool):
    hosts = pool("queue", "--running", "--af", "RemoteHost").out.split()
    assert sorted(hosts) == [f"slot{number}@node" for number in (1, 2, 3, 4)]
    assert len(statuses(pool, "--constraint", 'RemoteHost == "slot2@node"')) == 1


def test_the_owner_is_who_submitted(pool):
    from fairq.cli.invocation import operating_system_user

    assert len(statuses(pool, operating_system_user())) == 13


def test_af_prints_attributes_of_every_job(pool):
    assert pool("queue", "2", "--af", "ClusterId", "ProcId", "Out").out == "2 0 o.0\n2 1 o.1\n2 2 o.2\n"


def test_csv_has_a_row_per_job(pool):
    assert len(pool("queue", "--csv").out.splitlines()) == 14


def test_an_empty_queue_is_no_error(run):
    ended = run("queue")
    assert ended.code == 0
    assert ended.out.strip() == "0 jobs; 0 completed, 0 removed, 0 idle, 0 running, 0 held, 0 suspended"
    assert run("queue", "--json").out == "[]\n"
    assert not json.loads(run("pool", "--json").out)["exists"]


@pytest.mark.parametrize(
    "command",
    ["queue", "why 1", "userprio", "slots", "log 1", "state history", "state cycles", "history", "status", "report"],
)
def test_a_named_state_that_does_not_exist_is_an_error_for_what_reads(run, state, command):
    ended = run("--state", state, *command.split())
    assert (ended.code, ended.out) == (102, "")
    assert f"there is no state file {state}, which --state names" in ended.err
    assert not state.exists()


def test_removing_a_running_job_frees_and_charges_its_slot(pool, run, state):
    """Ten seconds of each slot are charged at the next update."""
    assert pool("remove", "1.0").out == "Job 1.0 removed\n"
    assert "1.0" not in statuses(pool)
    ads = json.loads(run("slots", "--state", state, "list", "--json").out)
    assert [ad["State"] for ad in ads].count("Claimed") == 3

    pool("remove", "1", "2")
    run("negotiate", "--state", state, "--now", T + 100)
    records = json.loads(run("userprio", "--state", state, "--allusers", "--json").out)
    usage = {record["Name"]: record["WeightedAccumulatedUsage"] for record in records if "Name" in record}
    assert usage["alice@example.org"] == 20
    assert usage["bob@example.org"] == 20


@pytest.mark.parametrize(
    ("words", "out", "gone"),
    [
        (["1.3"], "Job 1.3 removed\n", {"1.3"}),
        (["2"], "3 jobs in cluster 2 have been removed\n", {"2.0", "2.1", "2.2"}),
        (["bob@example.org"], "3 jobs of bob@example.org have been removed\n", {"2.0", "2.1", "2.2"}),
        (["2.1-2"], "2 jobs in 2.1-2 have been removed\n", {"2.1", "2.2"}),
        (["--constraint", "ProcId == 2"], "2 jobs matching constraint ProcId == 2 have been removed\n",
         {"1.2", "2.2"}),
        (["2", "--constraint", "ProcId == 2"],
         "1 job in cluster 2 matching constraint ProcId == 2 has been removed\n", {"2.2"}),
    ],
)  # fmt: skip
def test_remove_takes_exactly_what_was_named(pool, words, out, gone):
    before = set(statuses(pool))
    assert pool("remove", *words).out == out
    assert before - set(statuses(pool)) == gone


def test_all_means_all(pool):
    assert pool("remove", "--all").out == "13 jobs have been removed\n"
    assert statuses(pool) == {}


def test_a_held_job_frees_its_slot_keeps_its_reason_and_comes_back(pool, run, state):
    pool("hold", "2", "--reason", "input is wrong")
    assert {statuses(pool)[job] for job in ("2.0", "2.1", "2.2")} == {5}
    assert running(pool) == {"1.0", "1.1"}
    assert set(pool("queue", "2", "--af", "HoldReason").out.splitlines()) == {"input is wrong"}

    assert pool("release", "2.0-1").out == "2 jobs in 2.0-1 have been released\n"
    assert [statuses(pool)[job] for job in ("2.0", "2.1", "2.2")] == [1, 1, 5]


def test_a_cluster_is_held_where_it_can_be(pool):
    pool("hold", "2.1")
    assert pool("hold", "2").out == "2 jobs in cluster 2 have been held\n"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["10", "2"], [10, 10, 10]),
        (["+5", "2.1"], [0, 5, 0]),
        (["-5", "2.1-2"], [0, -5, -5]),
        (["-p", "-3", "2.0"], [-3, 0, 0]),
        (["-p", "+3", "2.0"], [3, 0, 0]),
        (["--by", "2", "2"], [2, 2, 2]),
        (["2.0", "-7"], [-7, 0, 0]),
    ],
)
def test_priorities_are_set_or_changed(pool, words, want):
    ended = pool("prio", *words)
    assert ended.code == 0, ended.err
    assert [int(line) for line in pool("queue", "2", "--af", "JobPrio").out.split()] == want


def test_higher_priority_goes_first(pool, run, state):
    pool("prio", "1", "1.9")
    pool("remove", "1.0")
    run("negotiate", "--state", state, "--now", T + 30)
    assert "1.9" in running(pool)


def test_every_change_is_in_the_history_with_before_and_after(pool, run, state):
    pool("prio", "4", "2")
    pool("hold", "2.1")
    pool("remove", "2.0")
    entries = history(run, state)
    shown = [{name.lower(): value for name, value in entry.items()} for entry in entries[-3:]]
    assert [entry["subject"] for entry in shown] == ["job 2.0-2", "job 2.1", "job 2.0"]
    assert [entry["before"] for entry in shown] == [{"JobPrio": 0}, {"JobStatus": 2}, {"JobStatus": 2}]
    assert [entry["after"]["JobStatus"] for entry in shown[1:]] == [5, 3]


def test_a_dry_run_changes_no_byte(pool, state):
    before = state.read_bytes()
    for words in (["remove", "2"], ["hold", "2"], ["prio", "5", "2"]):
        assert "would be" in pool(*words, "--dry-run").out
    assert state.read_bytes() == before


def test_json_tells_what_was_done(pool):
    assert json.loads(pool("remove", "2", "--json").out) == {
        "action": "removed",
        "jobs": 3,
        "targets": [{"target": "2", "jobs": 3}],
    }


WRONG = [
    (["remove"], 2, "no jobs are selected"),
    (["remove", "--all", "1"], 2, "exclude each other"),
    (["remove", "99"], 30, "no job 99"),
    (["remove", "1.99"], 30, "no job 1.99"),
    (["remove", "1.0", "99.0"], 30, "no job 99.0"),
    (["remove", "1.0", "nobody"], 35, "'nobody'"),
    (["remove", "1.x"], 36, "'1.x' is not a job"),
    (["remove", "1.5-3"], 36, "not a job"),
    (["remove", "1.5-2.6"], 36, "not a job"),
    (["remove", "1.0.0"], 36, "not a job"),
    (["remove", "a b"], 36, "not a job"),
    (["remove", ""], 36, "not a job"),
    (["remove", "--constraint", "Memory >"], 21, "not a ClassAd expression"),
    (["remove", "--constraint", " "], 2, "--constraint is empty"),
    (["remove", "--constraint", "false"], 35, "satisfies false"),
    (["hold", "nobody@example.org"], 35, "nobody@example.org"),
    (["release", "1.3"], 34, "job 1.3 is idle, not held"),
    (["release", "1"], 35, "of 1 is held"),
    (["release", "--all"], 35, "is held"),
    (["prio", "1"], 2, "no jobs are selected"),
    (["prio", "--all"], 2, "no priority, or more than one"),
    (["prio", "high", "1"], 25, "'high'"),
    (["prio", "1.5", "1"], 25, "'1.5'"),
    (["prio", "9999999999", "1"], 25, "give a whole number from -2147483648 to 2147483647"),
    (["prio", "-p", "1", "--by", "2", "1"], 2, "no priority, or more than one"),
    (["prio", "1", "99"], 30, "no job 99"),
    (["finish", "1.5"], 34, "job 1.5 is idle, not running"),
    (["finish", "99.0"], 30, "no job 99.0"),
    (["finish", "1.0", "--exit-code", "x"], 2, "--exit-code"),
    (["finish", "1.0", "--exit-code", "999"], 2, "--exit-code"),
    (["finish", "1.0", "--at", "soon"], 24, "--at"),
    (["finish", "1.0", "--at", str(T)], 37, f"it began at {shown_time(T + 10)}"),
    (["finish", "1.0", "--at", str(T + 21)], 37, f"it is {shown_time(T + 20)} now"),
    (["queue", "1.x"], 36, "not a job"),
    (["queue", "--constraint", "((("], 21, "not a ClassAd expression"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=[" ".join(words) for words, _, _ in WRONG])
def test_wrong_use_ends_in_one_line_and_an_unchanged_state(pool, state, words, code, message):
    """With several names of which one is wrong, nothing is changed either."""
    before = state.read_bytes()
    ended = pool(*words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert state.read_bytes() == before


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_a_job_may_say_that_it_was_submitted_outside_the_calendar(run, fairq, state, tmp_path, zone):
    jobs = tmp_path / "jobs.json"
    common = {"Owner": "alice", "User": "alice@example.org", "JobStatus": 1}
    times = (253_402_300_799, 9_000_000_000_000_000)
    jobs.write_text(json.dumps([common | {"ClusterId": n, "ProcId": 0, "QDate": t} for n, t in enumerate(times, 1)]))
    assert run("import", "--state", state, "--jobs", jobs, "--now", T).code == 0

    ended = fairq("queue", "--state", state, "--now", T, environment={"TZ": zone})

    assert ended.code == 0, ended.err
    assert ended.out.count("9999-12-3") == 2


def test_a_job_that_is_not_there_is_named_with_the_place_where_it_is(pool):
    pool("finish", "1.0")
    assert pool("queue", "77").err == "there is no job 77 in the queue; 'fairq queue' lists the jobs\n"
    assert pool("queue", "1.0", "--json").err == (
        "there is no job 1.0 in the queue; it has ended: 'fairq history 1.0' shows it\n"
    )
    assert pool("queue", "zed").err == "no job in the queue belongs to 'zed'\n"
    assert pool("queue", "bob@elsewhere").err.endswith("; did you mean bob@example.org?\n")
    assert pool("queue", "--user", "bob@elsewhere").err.endswith("; did you mean bob@example.org?\n")
    assert pool("queue", "--user", "bob", "--held").err == ""
    assert pool("history", "1.1").err == "not ended yet: 'fairq queue 1.1' shows what is in the queue\n"
    assert pool("history", "77").err == "no job that has ended matches; 'fairq history' shows all\n"
    assert pool("hold", "1.0").err.endswith("it has ended: 'fairq history 1.0' shows it\n")


def test_the_log_knows_jobs_that_ended_without_a_launcher(pool, run, state):
    def events(job):
        return [line.split()[3:] for line in run("log", "--state", state, job).out.splitlines()[1:]]

    assert pool("finish", "1.0", "--exit-code", "3").code == 0
    pool("remove", "1.5", "--reason", "not needed")
    assert events("1.0") == [
        ["submitted"], ["started", "on", "slot1@node"], ["ended", "exit", "code", "3"]
    ]  # fmt: skip
    assert events("1.5") == [
        ["submitted"], ["removed", "not", "needed"]
    ]  # fmt: skip


@pytest.mark.parametrize("user", ["bob", "bob@example.org", "zed"])
def test_a_user_is_the_same_as_argument_and_as_option(pool, user):
    assert pool("queue", "--user", user, "--json").out == pool("queue", user, "--json").out
    assert pool("history", "--user", user, "--json").out == pool("history", user, "--json").out


def test_batches_are_shown_as_condor_q_shows_them(run, state):
    """A batch is the jobs of an owner with one name, else those of a cluster; what has left the queue is done."""

    def fairq(*words, now=1_795_200_000):
        end = list(words).index("--") if "--" in words else len(words)
        ended = run("--state", state, *words[:end], "--now", now, *words[end:])
        assert ended.code == 0, ended.err
        return ended.out

    fairq("slots", "add", "a")
    fairq("submit", "--name", "sweep", "--", "/bin/true", now=1_795_100_000)
    fairq("negotiate")
    fairq("finish", "1")
    fairq("submit", "--count", "3", "--name", "sweep", "--", "/bin/true")
    fairq("submit", "--name", "sweep", "--after", "2", "--", "/bin/true")
    fairq("submit", "--count", "2", "--", "/bin/true")
    fairq("negotiate")
    fairq("finish", "2.0")
    fairq("hold", "2.1")
    rows = [line.split() for line in fairq("queue", "--batch").splitlines()]
    assert [row[:2] + row[4:] for row in rows[1:2]] == [
        [rows[1][0], "sweep", "1", "0", "1", "1", "1", "4", "2.1", "...", "3.0"]
    ]
    assert rows[2][1:3] + rows[2][5:] == ["ID:", "4", "0", "0", "2", "0", "0", "2", "4.0-1"]
    assert run("--state", state, "queue", "--batch", "--totals").code == 2
