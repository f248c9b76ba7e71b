"""``fairq submit`` through the command line."""

import json
import subprocess
import sys

import pytest

T = 1_795_000_000
SLEEP = ("--", "/bin/sh", "-c", "sleep 1")


@pytest.fixture
def sub(tmp_path):
    def sub(*lines):
        path = tmp_path / "job.sub"
        path.write_text("\n".join(["executable = /bin/sh", *lines]) + "\n")
        return path

    return sub


def ads(run, state, *words):
    return json.loads(run("queue", "--state", state, "--json", *words).out)


def test_a_description_becomes_a_cluster(run, state, sub):
    """Submitting says what condor_submit says, and the jobs are in the queue with their whole ads."""
    ended = run("submit", "--state", state, "--now", T, sub("arguments = $(Process)", "queue 3"))

    assert (ended.code, ended.out, ended.err) == (0, "3 job(s) submitted to cluster 1.\n", "")
    jobs = ads(run, state)
    assert [(job["ClusterId"], job["ProcId"], job["Args"]) for job in jobs] == [(1, 0, "0"), (1, 1, "1"), (1, 2, "2")]
    assert {job["QDate"] for job in jobs} == {T}
    assert {job["JobStatus"] for job in jobs} == {1}


def test_clusters_are_numbered_on(run, state, sub):
    run("submit", "--state", state, sub("queue"))
    run("remove", "--state", state, "1")
    assert run("submit", "--state", state, sub("queue")).out == "1 job(s) submitted to cluster 2.\n"


def test_the_description_may_come_from_standard_input(fairq, state, sub):
    ended = fairq("submit", "--state", state, "-", stdin=sub("queue 2").read_text())
    assert ended.out == "2 job(s) submitted to cluster 1.\n"


def test_json_tells_what_was_queued(run, state, sub):
    ended = run("submit", "--state", state, "--json", sub("accounting_group = physics", "queue 2"))
    document = json.loads(ended.out)
    assert {name: document[name] for name in ("cluster_id", "jobs", "last_proc")} == {
        "cluster_id": 1,
        "jobs": 2,
        "last_proc": 1,
    }
    assert document["submitters"][0].startswith("physics.")


def test_the_words_of_a_program_survive_as_they_are(run, state):
    """Blanks, quotes, dollars, empty words and words that look like options go to the job unchanged."""
    words = ["a b", "it's", '"q"', "$(Process)", "$HOME", "", "--json", "-q", "--", "tab\there", "new\nline", "ü"]
    ended = run("submit", "--state", state, "--verbatim", "--", "/bin/echo", *words)
    assert ended.code == 0, ended.err

    from fairq.common.arguments import split_arguments

    (job,) = ads(run, state)
    quoted = '"' + job["Arguments"].replace('"', '""') + '"'
    assert split_arguments(quoted) == (words, True)
    assert job["Cmd"] == "/bin/echo"


def test_the_options_of_a_program_are_submit_commands(run, state):
    run(
        "submit", "--state", state, "--count", 2, "--request-cpus", 2, "--request-memory", "1GB",
        "--request-disk", "1MB", "--request-gpus", 1, "--requirements", "HasThing", "--rank", "Memory",
        "--priority", 7, "--accounting-group", "g", "--accounting-group-user", "u", "--concurrency-limits", "A",
        "--attribute", 'Site="CERN"', "--output", "o.$(Process)", "--environment", "A=1", *SLEEP,
    )  # fmt: skip
    first, second = ads(run, state)
    want = {
        "RequestCpus": 2,
        "RequestMemory": 1024,
        "RequestDisk": 1024,
        "RequestGPUs": 1,
        "Rank": "/Expr(Memory)/",
        "JobPrio": 7,
        "AccountingGroup": "g.u",
        "ConcurrencyLimits": "a",
        "Site": "CERN",
        "Environment": "A=1",
    }
    assert {name: first[name] for name in want} == want
    assert first["Requirements"].startswith("/Expr((HasThing) && ")
    assert [first["Out"], second["Out"]] == ["o.0", "o.1"]


def test_a_program_without_a_slash_is_found_on_path(run, state):
    run("submit", "--state", state, "--", "sh")
    assert ads(run, state)[0]["Cmd"].endswith("/sh")


def test_a_million_jobs_are_one_line_of_the_queue(run, state):
    """A cluster of a million is stored and shown as one range, and its parts can be dealt with."""
    assert run("submit", "--state", state.with_name("one.db"), "--output", "o.$(Process)", *SLEEP).code == 0
    ended = run("submit", "--state", state, "--count", 1_000_000, "--output", "o.$(Process)", *SLEEP)
    assert ended.out == "1000000 job(s) submitted to cluster 1.\n"
    assert state.stat().st_size == state.with_name("one.db").stat().st_size
    assert "1.0-999999" in run("queue", "--state", state).out
    assert ads(run, state, "1.999999")[0]["Out"] == "o.999999"


def test_a_long_list_of_items_is_queued_at_once(run, state, sub, tmp_path):
    (tmp_path / "items").write_text("".join(f"file{i}, {i}\n" for i in range(20_000)))
    ended = run("submit", "--state", state, sub("arguments = $(f) $(n)", f"queue f,n from {tmp_path}/items"))
    assert ended.out == "20000 job(s) submitted to cluster 1.\n"
    assert ads(run, state, "1.12345")[0]["Args"] == "file12345 12345"


def test_a_dry_run_shows_the_ads_and_stores_nothing(run, state, sub):
    path = sub("arguments = $(Cluster).$(Process)", "queue 2")
    shown = json.loads(run("submit", "--state", state, "--dry-run", "--json", path).out)
    assert [ad["Args"] for ad in shown] == ["1.0", "1.1"]
    assert "2 job(s) would be submitted" in run("submit", "--state", state, "--dry-run", path).out
    assert not state.exists()


def test_warnings_go_to_stderr(run, state, sub):
    ended = run("submit", "--state", state, sub("memroy = 5", "queue"))
    assert ended.code == 0
    assert ended.err == "WARNING: the line 'memroy = 5' was unused by fairq. Is it a typo?\n"


def test_the_submitter_has_the_configured_domain(run, state, sub, monkeypatch):
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    run("submit", "--state", state, sub("accounting_group = g", "accounting_group_user = u", "queue"))
    assert "g.u@example.org" in run("queue", "--state", state).out


def test_submitting_is_in_the_history(run, state, sub):
    run("submit", "--state", state, "--now", T, sub("queue 5"))
    ended = run("state", "--state", state, "history", "--json")
    (entry,) = json.loads(ended.out)
    assert "job 1" in ended.out
    assert "submit" in str(entry)


def test_twenty_submitters_at_once_lose_no_job_and_double_none(run, state, tmp_path):
    """All twenty get a cluster of their own, also those whose jobs name the cluster in their arguments."""
    path = tmp_path / "job.sub"
    path.write_text("executable = /bin/sh\narguments = $(Cluster).$(Process)\nqueue 10\n")
    command = [sys.executable, "-m", "fairq", "submit", "--state", str(state), str(path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(20)]
    assert [process.wait(100) for process in started] == [0] * 20
    for process in started:
        process.stdout.close()

    jobs = ads(run, state)
    assert {(job["ClusterId"], job["ProcId"]) for job in jobs} == {(c, p) for c in range(1, 21) for p in range(10)}
    assert len(jobs) == 200
    assert all(job["Args"] == f"{job['ClusterId']}.{job['ProcId']}" for job in jobs)


WRONG = [
    (["/no/such.sub"], 33, "/no/such.sub cannot be read"),
    (["/tmp"], 33, "cannot be read"),
    ([], 2, "name a submit description"),
    (["--"], 2, "no program"),
    (["x.sub", "--", "sh"], 2, "give only one"),
    (["--count", "2", "x.sub"], 2, "--count is only for -- PROGRAM"),
    (["--rank", "Memory", "x.sub"], 2, "--rank is only for -- PROGRAM"),
    (["--count", "0", *SLEEP], 2, "--count"),
    (["--", "no-such-program-anywhere"], 32, "not on PATH"),
    (["--", "./no/such/program"], 32, "there is no file"),
    (["--request-memory", "lots of", *SLEEP], 32, "invalid request_memory: lots of"),
    (["--requirements", "((", *SLEEP], 32, "invalid requirements"),
    (["--accounting-group", "a b", *SLEEP], 32, "invalid accounting_group: a b"),
    (["--accounting-group-user", "a\tb", *SLEEP], 32, "invalid accounting_group_user"),
    (["--priority", "1.5", *SLEEP], 32, "invalid priority: 1.5"),
    (["--attribute", "Site", *SLEEP], 2, "give NAME=EXPR"),
    (["--attribute", "1x=2", *SLEEP], 2, "give NAME=EXPR"),
    (["--attribute", "JobStatus=2", *SLEEP], 32, "fairq sets this attribute itself"),
    (["--attribute", "Site=a b", *SLEEP], 32, "not a ClassAd expression"),
    (["--now", "soon", *SLEEP], 24, "--now"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=[" ".join(words) for words, _, _ in WRONG])
def test_wrong_use_ends_in_one_line_and_an_unchanged_state(run, state, words, code, message):
    ended = run("submit", "--state", state, *words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("fairq: ")
    assert not state.exists()


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"executable = /bin/sh\0\nqueue\n"], ids=["not UTF-8", "zero byte"]
)
def test_a_description_that_is_no_text_is_refused(run, state, tmp_path, content):
    path = tmp_path / "job.sub"
    path.write_bytes(content)
    ended = run("submit", "--state", state, path)
    assert ended.code in (31, 33)
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("attribute", "problem"),
    [
        ("RequestCpus=-1", "not a number from 0"),
        ("RequestMemory=-1", "not a number from 0"),
        ("RequestDisk=-5", "not a number from 0"),
        ("RequestCpus=1e400", "not a finite number"),
        ("AllowedExecuteDuration=1e400", "not a finite number"),
    ],
)
def test_a_number_out_of_its_range_is_refused_at_submit(run, state, attribute, problem):
    ended = run("--state", state, "submit", "--attribute", attribute, "--", "/bin/true")
    assert (ended.code, problem in ended.err, attribute.partition("=")[0] in ended.err) == (38, True, True)
