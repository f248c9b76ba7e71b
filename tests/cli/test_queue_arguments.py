"""``fairq queue`` with what condor_q's users type, sorted and cut, and with constraints that name nothing."""

import pytest
from tests.cli.lines import read

from fairq.errors.base import UsageError

NOW = 1_795_000_000


@pytest.fixture
def queue(run, state, monkeypatch):
    """Cluster 1: 1.0 runs, 1.1 and 1.2 are idle, 1.3 is held; cluster 2 of priority 7, submitted later, runs."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    for words in (
        ["slots", "add", "node", "--count", "2"],
        ["submit", "--count", "4", "--accounting-group-user", "anna", "--", "/bin/sleep", "5"],
        ["submit", "--priority", "7", "--accounting-group-user", "bert", "--now", NOW + 10, "--", "/bin/echo"],
        ["hold", "1.3"],
        ["negotiate", "--now", NOW + 20],
    ):
        at = words.index("--") if "--" in words else len(words)
        now = [] if "--now" in words else ["--now", NOW]
        assert run("--state", state, *words[:at], *now, *words[at:]).code == 0
    return lambda *words: run("--state", state, "queue", *words)


def jobs(queue, *words):
    ended = queue(*words)
    assert (ended.code, ended.err) == (0, "")
    return [line.split()[0] for line in ended.out.splitlines()[1:-2]]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["-run"], ["1.0", "2.0"]),
        (["-hold"], ["1.3"]),
        (["-held"], ["1.3"]),
        (["-idle"], ["1.1-2"]),
        (["-global", "-allusers", "-wide"], ["1.0", "1.1-2", "1.3", "2.0"]),
        (["-nobatch", "1"], ["1.0", "1.1", "1.2", "1.3"]),
        (["-cons", "ProcId == 1"], ["1.1"]),
        (["-submitter", "bert@x"], ["2.0"]),
        (["-limit", "2"], ["1.0", "1.1-2"]),
        (["--sort", "-JobPrio", "--limit", "1"], ["2.0"]),
        (["--sort", "jobstatus"], ["1.1-2", "1.0", "2.0", "1.3"]),
        (["--sort", "Submitter", "-run"], ["1.0", "2.0"]),
        (["-sort", "-qdate", "-run"], ["2.0", "1.0"]),
        (["--sort", "JobCurrentStartDate"], ["1.0", "2.0", "1.1-2", "1.3"]),
    ],
)
def test_options_of_condor_q(queue, words, want):
    assert jobs(queue, *words) == want


def test_the_count_is_of_all_jobs_and_may_stand_alone(queue):
    totals = "5 jobs; 0 completed, 0 removed, 2 idle, 0 running, 1 held, 0 suspended, 2 matched\n"
    assert queue("-totals").out == totals
    assert queue("--limit", "1").out.endswith(f"\n\n{totals}")


def test_whole_ads(queue):
    """One attribute a line, by name, and a blank line after each ad; --limit counts ads."""
    text = queue("-long", "1", "--limit", "2").out
    first, second, rest = text.split("\n\n")
    assert rest == ""
    assert [line for line in first.splitlines() if line.startswith(("ClusterId", "Cmd", "ProcId"))] == [
        "ClusterId = 1", 'Cmd = "/bin/sleep"', "ProcId = 0",
    ]  # fmt: skip
    assert "ProcId = 1\n" in second
    assert queue("-json", "--limit", "2").out.count('"ProcId"') == 2


def test_the_shortest_spelling_is_condor_qs():
    assert read("queue", ["-l", "-r", "-g", "-c", "x", "-af:j", "A", "-q", "7.0"]) == [
        "--long", "--running", "--constraint", "x", "--af=j\x1fA", "-q", "7.0",
    ]  # fmt: skip
    assert read("queue", ["--sort", "-QDate", "--", "-run"]) == ["--sort", "-QDate", "--", "-run"]


@pytest.mark.parametrize(
    ("word", "cure"), [("-xml", "use --json"), ("-better", "use fairq why JOB"), ("-pool", "--state FILE")]
)
def test_what_fairq_does_not_have_names_what_to_use(word, cure):
    with pytest.raises(UsageError, match=cure):
        read("queue", [word])


def test_an_attribute_to_sort_by_that_no_job_has(queue):
    ended = queue("--sort", "Prio")
    assert ended.err == "no job has the attribute Prio; the jobs are in the order of the queue\n"
    assert ended.out == queue().out


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["queue", "--constraint", 'Ownr == "anna"'], "no job has the attribute Ownr; did you mean Owner?\n"),
        (["queue", "--constraint", "RemoteHost =?= undefined"], ""),
        (["queue", "--constraint", "JobStatus == 1 || MY.Foo =?= 5"], "no job has the attribute Foo\n"),
        (["slots", "--constraint", "Cpu > 0"], "no record has the attribute Cpu; did you mean Cpus?\n"),
        (["slots", "--constraint", "cpus > 0 && TARGET.x =!= 1"], ""),
        (
            ["userprio", "-allusers", "--constraint", "Factor > 1"],
            "no record has the attribute Factor; did you mean PriorityFactor?\n",
        ),
        (["state", "cycles", "--constraint", "match > 0"], "no record has the attribute match; did you mean matches"),
        (["state", "history", "--constraint", "Subject =!= 1"], ""),
    ],
)
def test_a_constraint_on_an_attribute_that_no_record_has(queue, run, state, words, note):
    ended = run("--state", state, *words)
    assert ended.code == 0
    assert ended.err.startswith(note) if note else ended.err == ""
    assert run("-q", "--state", state, *words).err == ""


def test_a_change_that_such_a_constraint_selects_nothing_for(queue, run, state):
    ended = run("--state", state, "remove", "--constraint", 'Ownr == "anna"')
    assert ended.code == 35
    assert "(no job has the attribute Ownr; did you mean Owner?); nothing was changed" in ended.err


@pytest.mark.parametrize("command", ["queue", "remove"])
def test_each_of_several_constraints_is_an_expression_of_its_own(queue, run, state, command):
    ended = run("--state", state, command, "--constraint", "true) || (false", "--constraint", "ProcId == 0")
    assert ended.code == 21
    assert ended.err.startswith("fairq: 'true) || (false' is not a ClassAd expression")
