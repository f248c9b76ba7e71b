"""``fairq simulate``: traces in, figures of several policies side by side out."""

import csv
import gzip
import json

import pytest

SWF = """\
; Version: 2.2
; Note: caf\xe9
; UnixStartTime: 1132444805
; MaxProcs: 2
1 0 -1 1000 1 -1 -1 -1 3600 -1 -1 1 4 -1 -1 -1 -1 -1
2 0 -1 1000 1 -1 -1 -1 3600 -1 1 1 4 -1 -1 -1 -1 -1
3 5 -1 1000 1 -1 -1 -1 3600 -1 0 1 4 -1 -1 -1 -1 -1 99
4 10 -1 100 1 -1 -1 1 3600 -1 1 2 5 -1 -1 -1 -1 -1
5 20 -1 100 -1 -1 -1 -1 3600 -1 1 3 5 -1 -1 -1 -1 -1
6 20 -1 -1 1 -1 -1 -1 3600 -1 5 3 5 -1 -1 -1 -1 -1
7 20 -1 50 1 -1 -1 -1 3600 -1 2 3 5 -1 -1 -1 -1 -1
8 30 -1 100 1 -1 -1 -1 3600 -1 1 -1 -1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "log.swf.gz"
    file.write_bytes(gzip.compress(SWF.encode("latin-1")))
    return file


def simulated(run, trace, *words):
    ended = run("simulate", trace, "--every", "60", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_log_is_read_and_what_is_no_job_is_left_out_and_counted(run, trace):
    found = simulated(run, trace)
    assert (found["jobs"], found["users"], found["groups"], found["slots"]) == (5, 3, 2, 2)
    assert found["work"] == 3200
    assert sorted(found["skipped"].values()) == [1, 1, 1]
    ended = run("simulate", trace)
    assert "skipped 1 of the trace: never started" in ended.err
    assert "5 jobs of 3 users" in ended.out or "Figure" in ended.out


def test_policies_stand_side_by_side_and_all_work_is_done_under_each(run, trace, tmp_path):
    groups = tmp_path / "groups.toml"
    groups.write_text("[groups.g5]\nquota = 1\naccept_surplus = true\n[groups.g4]\nquota = 1\naccept_surplus = true\n")
    result = simulated(run, trace, "--policy", "fifo", "--policy", "current", "--policy", f"groups={groups}")
    assert [policy["policy"] for policy in result["policies"]] == ["fifo", "current", "groups"]
    assert [(policy["ended"], policy["work"]) for policy in result["policies"]] == [(5, 3200)] * 3
    waits = {
        user["user"]: {figures["policy"]: figures["mean_wait"] for figures in user["policies"]}
        for user in result["users_by_policy"]
    }
    assert waits["u2"]["groups"] <= waits["u2"]["fifo"]
    assert result["changes"][0]["longer"] + result["changes"][0]["shorter"] + result["changes"][0]["same"] == 5


def test_csv_has_a_column_of_plain_numbers_for_each_policy(run, trace):
    words = ("simulate", trace, "--every", "60", "--policy", "fifo", "--policy", "current")
    rows = list(csv.DictReader(run(*words, "--csv").out.splitlines()))
    waits = {
        figures["policy"]: figures["wait"]["mean"] for figures in json.loads(run(*words, "--json").out)["policies"]
    }
    assert list(rows[0]) == ["metric", "label", "fifo", "current"]
    assert (rows[0]["metric"], {name: float(rows[0][name]) for name in waits}) == ("wait_mean", waits)


def test_a_job_without_a_time_of_submission_is_left_out(run, tmp_path):
    file = tmp_path / "log.swf"
    file.write_text(SWF + "9 -1 -1 100 1 -1 -1 -1 3600 -1 1 1 4 -1 -1 -1 -1 -1\n")
    found = simulated(run, file)
    assert (found["jobs"], found["skipped"]["time of submission unknown"]) == (5, 1)


def test_the_same_command_prints_the_same_and_a_seed_moves_whole_users(run, trace):
    first, second = (run("simulate", trace, "--shake", "600", "--seed", "3", "--json").out for _ in range(2))
    assert first == second
    assert json.loads(first)["jobs"] == 5


def test_a_window_of_submissions(run, trace):
    assert simulated(run, trace, "--from", "10", "--until", "30")["jobs"] == 1


def test_limits_are_not_enforced_and_preceding_jobs_not_awaited_which_is_said(run, tmp_path):
    file = tmp_path / "log.swf"
    last_columns = "60 -1 1 1 1 -1 -1 -1"
    file.write_text(f"1 0 -1 10000000 1 -1 -1 -1 {last_columns} 2 5\n2 0 -1 10 1 -1 -1 -1 {last_columns} 1 5\n")
    ended = run("simulate", file, "--slots", "2", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["policies"][0]["work"] == 10_000_010
    assert "limits are not enforced; 1 of the jobs ran longer than declared" in ended.err
    assert "2 of the jobs name a preceding job; all arrive at their recorded times" in ended.err


PARALLEL = """\
; MaxProcs: {}
1 0 5 100 2 -1 -1 2 -1 -1 1 1 1 -1 -1 -1 -1 -1
2 10 5 100 -1 -1 -1 4 200 -1 1 2 1 -1 -1 -1 -1 -1
3 20 -1 50 16 -1 -1 16 -1 -1 1 3 1 -1 -1 -1 -1 -1
"""


@pytest.mark.parametrize(
    ("processors", "words", "ended", "cure"),
    [
        ("16", [], 3, None),
        ("200000", [], 3, None),
        ("8", [], 2, "1 job asks for more cores or memory than any machine has, and never starts; "
                     "give --slots 1x16c\n"),
        ("8", ["--slots", "1x16c"], 3, None),
        ("8", ["--slots", "100"], 0, "3 jobs ask for more cores or memory than any machine has, and never start; "
                                     "give --slots 1x100c"),
        ("8", ["--slots", "5x8c,9x4c64g"], 2, "never starts; give --slots 5x16c\n"),
    ],
)  # fmt: skip
def test_jobs_of_several_cores_run_on_the_machine_of_the_log_or_a_note_has_the_cure(
    run, tmp_path, processors, words, ended, cure
):
    file = tmp_path / "log.swf"
    file.write_text(PARALLEL.format(processors))
    found = run("simulate", file, *words, "--json")
    policy = json.loads(found.out)["policies"][0]
    assert (policy["ended"], policy["never_started"]) == (ended, 3 - ended)
    assert (cure or "") in found.err
    assert ("never start" in found.err) is (cure is not None)


def test_the_title_says_how_many_cores_the_machines_have(run, tmp_path):
    file = tmp_path / "log.swf"
    file.write_text(PARALLEL.format(16))
    assert "3 jobs of 3 users in 20s on 1 slot with 16 cores, load" in run("simulate", file).out
    assert "on 16 slots, load" in run("simulate", file, "--slots", "16").out


def test_a_job_that_asks_for_more_memory_than_any_machine_has_is_counted_with_the_cure(run, tmp_path):
    file = tmp_path / "jobs.csv"
    file.write_text("submit,run,cpus,memory\n0,600,1,2G\n0,600,1,17G\n")
    ended = run("simulate", file, "--slots", "3x8c16g")
    assert (
        "1 job asks for more cores or memory than any machine has, and never starts; give --slots 3x8c17g" in ended.err
    )


def test_a_job_with_a_gpu_waits_for_one(run, tmp_path):
    file = tmp_path / "jobs.csv"
    file.write_text("submit,run,gpus\n0,600,1\n0,600,1\n0,600,\n")

    policy = json.loads(run("simulate", file, "--slots", "1x8c16g1gpu", "--json").out)["policies"][0]
    assert (policy["ended"], policy["wait"]["max"]) == (3, 600)

    ended = run("simulate", file, "--slots", "1x8c16g")
    assert "2 jobs ask for more cores, memory or GPUs than any machine has" in ended.err
    assert "give --slots 1x8c16g1gpu" in ended.err


def test_a_machine_of_a_log_that_no_pool_has_is_refused(run, tmp_path):
    file = tmp_path / "log.swf"
    file.write_text(PARALLEL.format(99_999_999_999))
    ended = run("simulate", file)
    assert "MaxProcs '99999999999': the size is out of range; give --slots of 1 to 10000000 cores" in ended.err
    assert ended.code == 110


def test_csv_with_names_cores_and_memory(run, tmp_path):
    file = tmp_path / "jobs.csv"
    file.write_text("submit,run,user,cpus,memory\n0,600,ann,4,2G\n0,600,bob,9,1G\n5,60,ann,,\n")
    found = simulated(run, file, "--slots", "1x8c16g")
    assert (found["policies"][0]["ended"], found["policies"][0]["never_started"]) == (2, 1)


@pytest.mark.parametrize(
    ("text", "words", "code", "said"),
    [
        ("submit,run,usr\n0,1,a\n", [], 47, "perhaps user"),
        ("submit,user\n0,a\n", [], 47, "no column run"),
        ("submit,run\nsoon,1\n", [], 47, "ISO 8601"),
        ("1 2 3\n", [], 47, "unknown column"),
        ("; x\n1 2 3\n", [], 47, "18 numbers"),
        ("submit,run,memory\n0,1,much\n", [], 47, "give a size"),
        ("submit,run,priority\n0,1,high\n", [], 47, "priority is 'high'"),
        ("submit,run\n0,1e14\n", [], 47, "between 0 and 1000000000"),
        ("submit,run\n0,-5\n", [], 47, "run is '-5'"),
        ("submit,run\ninf,5\n", [], 47, "ISO 8601"),
        ("", [], 47, "line 1: it is empty"),
        ("submit,run,Run\n0,1,2\n", [], 47, "line 1: the column 'run' occurs twice; remove one"),
        ("submit,run\n0,1\n5,1,ann\n", [], 47, "line 3: 3 values under 2 headings; put values that hold a comma"),
        ('submit,run,user\n0,1,b\n5,1,"ann\n9,1,b\n', [], 47, "line 3: the quoted value does not end on its line"),
        ('submit,run,user\n0,1,"ann', [], 47, "line 2: the quoted value does not end on its line; close the quotes"),
        ('submit,run,user\n0,1,"a"b\n', [], 47, "line 2: not CSV"),
        ("submit,run,user\n0,1,b\n0,1," + "x" * 200_000, [], 47, "line 3: a value has more than 131072 characters"),
        ("submit;run\n0;1\n", [], 47, "line 1: the values are separated by semicolons; separate them by commas"),
        ("submit,run\n0,10\n1700000000,10\n", [], 47, "line 3: submit is '1700000000', a date, but line 2 counts from"),
        ("submit,run\n2026-01-01T00:00,10\n9,10\n", [], 47, "line 3: submit is '9', from the start of the trace, but"),
        ("; x\n1 0 -1 inf 1" + " -1" * 13, [], 47, "'inf' is out of range"),
        ("; x\n1 0 -1 1e10 1" + " -1" * 13, [], 47, "at most 1000000000 s"),
        ("; x\n", [], 108, "no jobs that ran"),
        ("submit,run\n0,1\n", ["--slots", "1", "--window", "0"], 110, "at least 1s"),
        ("submit,run\n0,100000000\n", ["--slots", "1", "--window", "1"], 110, "at least 41s"),
        ("submit,run\n0,1\n", [], 108, "--slots"),
        ("submit,run\n0,1\n", ["--slots", "0"], 110, "is not a size"),
        ("submit,run\n0,1\n", ["--slots", "1", "--from", "9d"], 108, "no jobs"),
        ("submit,run\n0,1\n", ["--slots", "1", "--policy", "new"], 2, "NAME=FILE"),
        ("submit,run\n0,1\n", ["--slots", "1", "--factor", "eve=2"], 110, "no jobs of this user"),
    ],
)
def test_what_cannot_be_simulated_is_refused(run, tmp_path, text, words, code, said):
    file = tmp_path / "trace"
    file.write_text(text)
    ended = run("simulate", file, *words)
    assert said in ended.err
    assert ended.code == code


@pytest.mark.parametrize(
    "text",
    [
        "\n\r\nsubmit,run,user\n0,600,ann\n\n60,60,\n",
        "submit\trun\tuser\n0\t600\tann\n60\t60\tNULL\n",
        "submit,run,user\r\n0,600,ann\r\n60,60\r\n",
        "submit,run,user\r0,600,ann\r60,60\r",
        "submit,run,user\n0,600,ann,\n60,60,,,\n",
        "Submit,\trun, user\n0,600,ann\n60,60,\n",
    ],
    ids=["blank lines", "tabs", "CRLF", "CR", "empty values at the end", "tabs after commas"],
)
def test_csv_of_other_programs_is_read(run, tmp_path, text):
    file = tmp_path / "jobs.csv"
    file.write_text(text, newline="")
    found = simulated(run, file, "--slots", "1")
    assert [(user["user"], user["jobs"]) for user in found["users_by_policy"]] == [("ann", 1), ("unknown", 1)]


def test_a_long_trace_may_count_seconds_beyond_what_was_a_date_in_1973(run, tmp_path):
    file = tmp_path / "jobs.csv"
    file.write_text("submit,run\n0,10\n110000000,10\n")
    found = simulated(run, file, "--slots", "1", "--window", "365d")
    assert found["last_submit_time"] - found["start_time"] == 110_000_000


def test_the_pools_own_past_is_a_trace(run, state):
    now = 1_795_200_000
    assert run("--state", state, "slots", "add", "node", "--count", "2", "--now", now).code == 0
    words = ["--accounting-group", "x", "--accounting-group-user", "ann", "--now", now, "--", "/bin/true"]
    assert run("--state", state, "submit", "--count", 2, *words).code == 0
    assert run("--state", state, "negotiate", "--now", now).code == 0
    assert run("--state", state, "finish", "1", "--now", now + 500).code == 0
    ended = run("--state", state, "simulate", "--history", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["jobs"], found["slots"], found["work"]) == (2, 2, 1000)
    assert [user["user"] for user in found["users_by_policy"]] == ["ann"]
    assert run("simulate").code == 2


def test_jobs_that_preempt_each_other_without_end_are_named_with_the_cure(run, tmp_path):
    (tmp_path / "jobs.csv").write_text("submit,run,user\n0,7200,ann\n0,7200,bob\n10,60,bob\n")
    policy = tmp_path / "policy.toml"
    words = ("simulate", tmp_path / "jobs.csv", "--slots", "1", "--policy", f"hasty={policy}")
    policy.write_text('[negotiator]\npreemption_requirements = "true"\n')
    ended = run(*words)
    assert ended.code == 96
    assert ended.err.count("\n") == 1
    assert "policy 'hasty', jobs preempt each other without end: that of ann submitted at " in ended.err
    assert "require TotalJobRunTime > 7200 in negotiator.preemption_requirements" in ended.err
    policy.write_text('[negotiator]\npreemption_requirements = "TotalJobRunTime > 7200"\n')
    assert run(*words).code == 0


def test_reserved_slots_are_kept_for_those_who_may_use_them(run, tmp_path):
    """Of three slots, two are kept for teach from 1 h to 2 h; jobs without a limit do not start there before."""
    trace = tmp_path / "jobs.csv"
    trace.write_text(
        "submit,run,user,group,limit\n"
        "0,1800,ann,physics,1800\n0,1800,ann,physics,\n0,1800,ann,physics,\n3600,1800,kim,teach,1800\n"
    )
    line = ("simulate", trace, "--slots", 3, "--every", 60, "--json", "--users", 9)
    kept = json.loads(run(*line, "--reserve", "teach=2@1h..2h").out)["policies"][0]
    free = json.loads(run(*line).out)["policies"][0]
    assert (free["wait"]["mean"], kept["wait"]["mean"]) == (0, 450)
    for wrong in ("teach", "teach=9@1h..2h", "teach=1@2h..1h", "=1@1h..2h", "teach=1@x..2h", "teach=0@1h..2h"):
        ended = run(*line, "--reserve", wrong)
        assert ended.code and ended.err.count("\n") == 1 and "--reserve" in ended.err
