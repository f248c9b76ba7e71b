"""``fairq edit``: other attributes for jobs in the queue."""

import json

import htcondor2
import pytest

from fairq.errors.pool import ProtectedAttributeError
from fairq.steps.jobs.attributes import check_names


@pytest.fixture
def fairq(run, state):
    def fairq(*words):
        return run("--state", state, *words)

    fairq("submit", "--count", 4, "--requirements", 'TARGET.Site == "A"', "--", "/bin/true")
    fairq("submit", "--count", 2, "--request-memory", "$(Process)+100", "--", "/bin/echo", "$(Process)")
    return fairq


def ads(fairq):
    return {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in json.loads(fairq("queue", "--json").out)}


def test_options_are_those_of_a_submit(fairq):
    assert fairq("edit", "1.1-2", "--mem", "8GB", "--time", "2h", "--batch-name", "long").out == (
        "2 jobs in 1.1-2 have been edited\n"
    )
    found = ads(fairq)
    assert [found[f"1.{proc}"]["RequestMemory"] for proc in range(4)] == [128, 8192, 8192, 128]
    assert found["1.1"]["AllowedExecuteDuration"] == 7200 and found["1.1"]["JobBatchName"] == "long"
    assert fairq("edit", "1", "--mem", "5xyz").code == 32


def test_a_new_request_gets_its_clause_and_the_own_requirements_stay(fairq):
    fairq("edit", "1", "--gpus", "2", "--cpus", "8")
    text = ads(fairq)["1.0"]["Requirements"]
    assert "TARGET.GPUs >= RequestGPUs" in text and "TARGET.Cpus >= RequestCpus" in text
    assert 'TARGET.Site == "A"' in text
    fairq("edit", "1", "--gpus", "3")
    assert ads(fairq)["1.0"]["Requirements"] == text


def test_an_attribute_as_condor_qedit_sets_it(fairq):
    fairq("edit", "1.0", "site", '"CERN"')
    fairq("edit", "--constraint", "ProcId == 1", "Site", "1 + 2")
    found = ads(fairq)
    assert found["1.0"]["site"] == "CERN" and found["1.1"]["Site"] == "/Expr(1 + 2)/"
    assert found["2.1"]["Site"] == "/Expr(1 + 2)/" and "Site" not in found["2.0"]
    assert fairq("edit", "1.2", 'Site="X"', "Rank=Memory == 5", "1.3").code == 0
    fairq("edit", "1.0", "Fits", "Memory == 5")
    found = ads(fairq)
    assert (found["1.3"]["Site"], found["1.3"]["Rank"]) == ("X", "/Expr(Memory == 5)/")
    assert found["1.0"]["Fits"] == "/Expr(Memory == 5)/" and "Fits" not in found["1.1"]
    assert "Owner cannot be edited" in fairq("edit", "1", "Owner=5").err


def test_a_value_that_depends_on_the_number_of_the_job_is_replaced(fairq):
    fairq("edit", "2.1", "RequestMemory", "300")
    found = ads(fairq)
    assert found["2.1"]["RequestMemory"] == 300 and found["2.0"]["RequestMemory"] != 300
    assert found["2.1"]["Arguments"] == "1"
    fairq("undo")
    assert ads(fairq)["2.1"]["RequestMemory"] not in (300, 100)


def test_a_priority_that_one_job_is_given_counts_in_the_next_cycle(fairq):
    """Of four alike, the third has a PreJobPrio1: it goes first."""
    fairq("slots", "add", "node")
    fairq("edit", "1.0-3", "Requirements", "true")
    fairq("edit", "1.2", "PreJobPrio1", "10")
    cycle = json.loads(fairq("negotiate", "--dry-run", "--json").out)
    assert [match["job"] for match in cycle["matches"]] == ["1.2"]


def test_a_priority_by_the_number_of_the_job_counts(fairq):
    """PreJobPrio1 is 20, 21 and 22: the last one goes first, and is told to be ahead of the others."""
    fairq("remove", "1", "2")
    fairq("slots", "add", "node")
    fairq("submit", "--count", 3, "--attribute", "PreJobPrio1=2$(Process)", "--", "/bin/true")
    cycle = json.loads(fairq("negotiate", "--dry-run", "--json").out)
    assert [match["job"] for match in cycle["matches"]] == ["3.2"]
    assert "2 other jobs of its submitter are ahead of it" in fairq("why", "3.0").out


@pytest.mark.parametrize(
    "name",
    ["Owner", "ClusterId", "ProcId", "MyType", "TargetType", "qdate", "JobStatus", "JobPrio", "NumJobStarts",
     "RemoteWallClockTime", "AccountingGroup", "AfterOk", "GlobalJobId"],
)  # fmt: skip
def test_what_fairq_sets_is_refused_by_name(fairq, name):
    before = ads(fairq)
    for words in ((name, "5"), ("--attribute", f"{name}=5")):
        ended = fairq("edit", "1", *words)
        assert ended.code == 59 and f"{name} cannot be edited" in ended.err
    assert {job: {**ad, "ServerTime": 0} for job, ad in ads(fairq).items()} == {
        job: {**ad, "ServerTime": 0} for job, ad in before.items()
    }


def test_what_a_schedd_of_htcondor_refuses_is_refused():
    names = f"{htcondor2.param['SYSTEM_IMMUTABLE_JOB_ATTRS']} {htcondor2.param['SYSTEM_SECURE_JOB_ATTRS']}".split()
    assert "JobUniverse" in names and "AuthTokenSubject" in names
    for name in names:
        with pytest.raises(ProtectedAttributeError):
            check_names([name])


def test_the_history_has_both_values_and_the_reason(fairq):
    fairq("edit", "1", "--mem", "1GB", "--reason", "it needs more")
    (entry,) = json.loads(fairq("state", "history", "--limit", 1, "--json").out)
    assert (entry["subject"], entry["before"], entry["after"]) == (
        "job 1.0-3", {"RequestMemory": 128}, {"RequestMemory": 1024},
    )  # fmt: skip
    assert entry["reason"] == "it needs more"


def test_a_running_job_is_told_apart(fairq):
    fairq("slots", "add", "node")
    fairq("edit", "1.0", "Requirements", "true")
    fairq("negotiate")
    assert "1 job runs: the current run keeps what it was started with" in fairq("edit", "1", "--mem", "64").err


def test_nothing_to_change_is_wrong_use(fairq):
    assert fairq("edit", "1").code == fairq("edit").code == fairq("edit", "--mem", "1").code == 2


def test_the_environment_and_the_retries(fairq):
    assert fairq("edit", "1.0", "--environment", "A=1;B=two", "--retries", "3").code == 0
    assert [ads(fairq)["1.0"][name] for name in ("Environment", "JobMaxRetries")] == ["A=1 B=two", 3]
    assert fairq("edit", "1.0", "--environment", "A").code == 32


def test_another_accounting_group_charges_another_submitter_until_undo(fairq, state):
    state.with_name(f"{state.name}.toml").write_text("[groups.physics]\nquota = 2\n")
    before = ads(fairq)["1.0"]
    assert fairq("edit", "1.0", "2", "--accounting-group", "physics", "--mem", "300").code == 0
    found = ads(fairq)
    assert found["1.0"]["AccountingGroup"] == f"physics.{before['Owner']}" == found["2.1"]["AccountingGroup"]
    listed = fairq("queue", "--procs").out.split()
    assert sum(word.startswith("physics.") for word in listed) == 3
    assert "AccountingGroup" not in found["1.1"]
    fairq("undo")
    assert ads(fairq)["1.0"] == before
    assert "physics" not in fairq("queue", "--procs").out
    assert "is not configured" in fairq("edit", "2", "--accounting-group", "nosuch", "--dry-run").err
    fairq("slots", "add", "a")
    fairq("edit", "1", "Requirements", "true")
    fairq("negotiate")
    assert fairq("edit", "1.0", "--accounting-group", "physics").code == 34
    said = fairq("edit", "1.0", "--retries", "2", "--mem", "90").err
    assert "JobMaxRetries counts at once; the current run keeps what it was started with" in said
    assert fairq("edit", "1.0", "AcctGroup", '"physics"').code == 59
