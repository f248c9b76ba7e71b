"""A Slurm site imported: slots, jobs with their claims, groups, factors and priorities."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.steps.pool.slurm_site import ARCHIVE, TIME, unpacked

from fairq.steps.why import answer

Run = Callable[..., Any]


@pytest.fixture
def site(tmp_path):
    return unpacked(tmp_path)


@pytest.fixture
def ask(run, state):
    """Run a command on the pool and return its JSON."""

    def ask(*words):
        ended = run("--state", state, *words, "--json")
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    return ask


def imported(run, state, name):
    ended = run("--state", state, "import", "--slurm", name)
    assert ended.code == 0, ended.err
    return ended


def test_an_archive_and_a_directory_give_the_same_pool(run, tmp_path, site):
    documents = []
    for number, name in enumerate((ARCHIVE, site)):
        state = tmp_path / f"{number}.db"
        assert (
            "imported 25 slots, 101 jobs, 84 clusters, 10 accounting records, 19 claims"
            in imported(run, state, name).out
        )
        documents.append(json.loads(run("--state", state, "export").out))
    for document in documents:
        document.pop("history", None)
    assert documents[0].keys() == documents[1].keys()
    assert documents[0]["slots"] == documents[1]["slots"]
    assert documents[0]["jobs"] == documents[1]["jobs"]


def test_a_node_is_what_is_left_of_it_and_the_parts_of_its_jobs(run, state, ask):
    imported(run, state, ARCHIVE)
    slots = {slot["Name"]: slot for slot in ask("slots")}
    whole = {
        "n1": (8, 16000),
        "n2": (8, 16000),
        "n3": (8, 16000),
        "n4": (8, 16000),
        "n5": (8, 16000),
        "g1": (16, 64000),
    }
    for node, (cpus, memory) in whole.items():
        parts = [slot for name, slot in slots.items() if name.endswith(f"@{node}")]
        assert sum(slot["Cpus"] for slot in parts) == cpus
        assert sum(slot["Memory"] for slot in parts) == memory
    assert slots["slot1@g1"]["GPUs"] == 0
    assert [slots[f"slot1_{number}@g1"]["GPUs"] for number in range(1, 5)] == [1, 1, 1, 1]
    assert slots["slot1@g1"]["SlurmPartitions"] == "gpu"
    assert slots["slot1@g1"]["SlurmFeatures"] == "ib,a100"
    assert slots["slot1@n5"]["Draining"] is True
    assert slots["slot1@n5"]["EngineProblem"].startswith("DRAIN in Slurm: disk errors")


def test_a_partition_with_billing_weights_gives_its_slots_their_weight(run, state, ask):
    """TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=4.0: Slurm bills 4 + 7.8 GB * 0.25 + 1 * 4, and cuts it to 9."""
    imported(run, state, ARCHIVE)
    quotas = {row["group"]: row for row in ask("quotas", "--now", str(TIME))}
    assert quotas["chemistry.chemistry_md"]["in_use"] == pytest.approx(4 * (4 + 8000 / 1024 * 0.25 + 4) + 8)
    assert quotas["physics"]["in_use"] == 10


def test_a_job_has_its_claim_wherever_it_runs(run, state, ask):
    """Job 176 runs on two nodes: two jobs of one slot each, with a note."""
    ended = imported(run, state, ARCHIVE)
    assert "2 jobs of several nodes: each node is a job of its own, and they start apart" in ended.err
    jobs = {(job["ClusterId"], job["ProcId"]): job for job in ask("queue")}
    slots = {slot["JobId"]: slot["Name"] for slot in ask("slots") if "JobId" in slot}
    running = {f"{cluster}.{proc}" for (cluster, proc), job in jobs.items() if job["JobStatus"] == 2}
    assert slots.keys() == running
    assert {slots["176.0"].partition("@")[2], slots["176.1"].partition("@")[2]} == {"n1", "n3"}
    assert [jobs[176, proc]["RequestCpus"] for proc in (0, 1)] == [4, 4]
    assert Counter(job["JobStatus"] for job in jobs.values()) == {1: 79, 2: 19, 5: 3}


def test_the_tasks_of_an_array_are_procs_of_its_cluster(run, state, ask):
    imported(run, state, ARCHIVE)
    jobs = [job for job in ask("queue") if job["ClusterId"] == 139]
    assert [job["ProcId"] for job in jobs] == list(range(1, 17))
    assert [job["JobStatus"] for job in jobs] == [2] + 15 * [1]
    assert jobs[1]["SlurmJobId"] == "139_2"
    assert {job["AllowedExecuteDuration"] for job in jobs} == {4 * 3600}


def test_what_no_free_node_starts_is_held_with_slurms_reason(run, state, ask):
    imported(run, state, ARCHIVE)
    held = {job["ClusterId"]: job["HoldReason"] for job in ask("queue", "--held")}
    assert held == {
        152: "BeginTime in Slurm",
        153: "JobHeldUser in Slurm",
        169: "Dependency in Slurm: afterok:160(unfulfilled)",
    }


def test_shares_become_quotas_and_factors(run, state, ask):
    """50, 30 and 20 shares, and one of root; 3 of 4 in chemistry. A third of the shares gives nine times the factor."""
    imported(run, state, ARCHIVE)
    groups = {row["group"]: row["configured"] for row in ask("quotas") if row["group"] != "<none>"}
    assert groups == {
        "physics": 0.495049,
        "biology": 0.297029,
        "chemistry": 0.198019,
        "chemistry.chemistry_md": 0.75,
    }
    factors = {ad["Name"]: ad["PriorityFactor"] for ad in ask("userprio", "--all", "--allusers")}
    assert factors["physics.alice@lab"] == 1000
    assert factors["physics.bob@lab"] == 9000
    assert factors["chemistry.chemistry_md.erin@lab"] == 1000


def test_raw_usage_becomes_real_priority(run, state, ask):
    """sshare: erin has a raw usage of 46659; the half-life is an hour: 46659 * ln 2 / 3600."""
    imported(run, state, ARCHIVE)
    records = {ad["Name"]: ad for ad in ask("userprio", "--all", "--allusers", "--now", str(TIME))}
    erin = records["chemistry.chemistry_md.erin@lab"]
    assert erin["RealPriority"] == pytest.approx(46659 * 0.693147 / 3600, rel=1e-5)
    assert erin["BeginUsageTime"] > 0
    assert erin["WeightedAccumulatedUsage"] == 4 * erin["AccumulatedUsage"]
    assert run("--state", state, "config", "get", "priority_halflife").out.strip() == "3600.0"


def test_what_if_works_with_slurms_priorities_and_quotas(run, state, ask):
    """Two machines more: the accounts that are below their quotas get them."""
    imported(run, state, ARCHIVE)
    found = ask("negotiate", "--dry-run", "--slots", "+2x8c16g", "--now", str(TIME))
    then = {row["submitter"]: row["matched_then"] for row in found["changes"] if row["matched_then"]}
    assert then == {"physics.alice@lab": 8, "chemistry.dave@lab": 4, "physics.bob@lab": 4}
    assert ask("negotiate", "--dry-run", "--now", str(TIME))["matches"] == []


def test_why_names_the_nodes_in_the_way(run, state, monkeypatch):
    """When the job starts is not asked here: this takes a hundred cycles."""
    monkeypatch.setattr(answer, "_FORECAST", 1)
    imported(run, state, ARCHIVE)
    ended = run("--state", state, "why", "181.0", "--now", TIME)
    assert ended.code == 0
    assert "all 4 matching slots are in use by chemistry.chemistry_md.erin@lab (4)" in " ".join(ended.out.split())


def test_the_records_are_the_past_of_the_pool(run, state, ask):
    """93 jobs completed, 8 were cancelled while they ran; a second import takes none of them again."""
    imported(run, state, ARCHIVE)
    imported(run, state, ARCHIVE)
    history = ask("history", "--now", str(TIME))
    assert Counter(job["JobStatus"] for job in history) == {4: 93, 3: 8}
    assert {job["RemoveReason"] for job in history if job["JobStatus"] == 3} == {"CANCELLED in Slurm"}
    report = ask("report", "--by", "group", "--now", str(TIME))
    assert {row["group"]: row["jobs"] for row in report["rows"]} == {
        "physics": 60,
        "biology": 31,
        "chemistry.chemistry_md": 10,
    }
    assert report["total"]["runs"] == 101 + 19
    assert run("--state", state, "state", "check").code == 0
    ended = run("--state", state, "simulate", "--history", "--every", "60")
    assert ended.out.startswith("101 jobs of 4 users")


def test_simulate_reads_the_records_of_sacct(run, state, ask, site):
    imported(run, state, ARCHIVE)
    found = ask("simulate", str(site / "sacct.txt"), "--slots", "5x8c16g", "--every", "60")
    assert found["jobs"] == 101
    groups = {row["group"]: row for row in found["groups_by_policy"]}
    assert set(groups) == {"physics", "biology", "chemistry_md"}
    assert groups["chemistry_md"]["policies"][0]["delivered"] > 0


def test_scontrol_gives_the_same_jobs_where_squeue_prints_no_json(run, tmp_path, site, state):
    (site / "queue.json").unlink()
    other = tmp_path / "other.db"
    imported(run, state, ARCHIVE)
    assert "needed for jobs" not in imported(run, other, site).err
    queues = [json.loads(run("--state", one, "queue", "--json").out) for one in (state, other)]
    assert queues[0] == queues[1]


def test_newer_forms_of_the_json_give_the_same_jobs(run, tmp_path, site, state):
    """From 23.02 on, numbers are objects, and from 23.11 on, the state is a list."""
    imported(run, state, ARCHIVE)
    document = json.loads((site / "queue.json").read_text())
    for job in document["jobs"]:
        for name in ("cpus", "node_count", "priority", "time_limit", "submit_time", "start_time", "array_job_id"):
            job[name] = {"set": True, "infinite": False, "number": job[name]}
        job["job_state"] = [job["job_state"]]
    (site / "queue.json").write_text(json.dumps(document))
    other = tmp_path / "other.db"
    imported(run, other, site)
    queues = [json.loads(run("--state", one, "queue", "--json").out) for one in (state, other)]
    assert queues[0] == queues[1]


def test_local_times_are_recognised_by_the_time_of_the_script(run, tmp_path, site, state):
    """The script writes UTC; who collects by hand in a zone of two hours gets the same pool."""
    imported(run, state, ARCHIVE)
    (site / "queue.json").unlink()
    for name in ("config.txt", "jobs.txt", "sacct.txt"):
        file = site / name
        file.write_text(file.read_text().replace("T09:", "T11:"))
    other = tmp_path / "other.db"
    imported(run, other, site)
    queues = [json.loads(run("--state", one, "queue", "--json").out) for one in (state, other)]
    assert queues[0] == queues[1]


MISSING = [
    ("nodes.txt", "scontrol -o show node", "slots"),
    ("partitions.txt", "scontrol -o show partition", "the weights of slots, and limits of run times"),
    ("config.txt", "scontrol show config", "the half-life, the name of the cluster and the zone of times"),
    ("accounts.txt", "sacctmgr dump CLUSTER file=accounts.txt", "groups, quotas, factors and ceilings"),
    ("shares.txt", "sshare -a -l -P", "real priorities"),
    ("sacct.txt", "sacct -a -X -P -S TIME -o FIELDS", "jobs that have ended, and usage"),
]


@pytest.mark.parametrize(("name", "command", "purpose"), MISSING)
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_missing_file_is_named_with_what_it_is_for(run, state, site, name, command, purpose, is_empty):
    (site / name).unlink()
    if is_empty:
        (site / name).touch()
    ended = imported(run, state, site)
    has = "has an empty" if is_empty else "has no"
    assert f"not imported: {site} {has} {name} ({command}), needed for {purpose}" in ended.err


def cut(site, name, size=None):
    content = (site / name).read_bytes()
    (site / name).write_bytes(content[: size or len(content) * 2 // 3])


def changed(site, name, old, new):
    text = (site / name).read_text()
    assert old in text
    (site / name).write_text(text.replace(old, new))


WRONG: list[tuple[str, Callable[[Path], None], int, str]] = [
    ("a queue cut off", lambda site: cut(site, "queue.json"), 47, "not whole JSON"),
    ("nodes cut off", lambda site: cut(site, "nodes.txt"), 47, "nodes.txt, line 5: it is cut off"),
    ("accounts cut off", lambda site: cut(site, "accounts.txt", -20), 47, "it is cut off"),
    ("shares cut off", lambda site: cut(site, "shares.txt"), 47, "it is cut off"),
    ("records cut off", lambda site: cut(site, "sacct.txt"), 47, "it is cut off"),
    ("bytes", lambda site: (site / "nodes.txt").write_bytes(b"\x7fELF\0\0\n") and None, 47, "it is not text"),
    ("deep JSON", lambda site: (site / "queue.json").write_text('{"a":' + "[" * 99999) and None, 47, "not whole JSON"),
    ("no jobs in it", lambda site: (site / "queue.json").write_text('{"errors": []}') and None, 47, "no list of jobs"),
    ("another text", lambda site: (site / "accounts.txt").write_text("hello\n") and None, 47, "line 1: not a line of"),
    ("a node twice", lambda site: changed(site, "nodes.txt", "NodeName=n2", "NodeName=n1"), 47, "duplicate node n1"),
    ("an unknown parent", lambda site: changed(site, "accounts.txt", "Parent - 'physics'", "Parent - 'x'"), 47, "'x'"),
    (
        "a node without cores", lambda site: changed(site, "nodes.txt", "CPUTot=", "X="), 47,
        "line 1: no field CPUTot, needed for the cores of the slot",
    ),
    (
        "a job without user", lambda site: changed(site, "queue.json", '"user_name"', '"x"'), 47,
        "job 1: no field user_name, needed for its owner",
    ),
    (
        "shares without usage", lambda site: changed(site, "shares.txt", "RawUsage", "X"), 47,
        "line 1: no field RawUsage, needed for the priority",
    ),
    (
        "records without time", lambda site: changed(site, "sacct.txt", "ElapsedRaw", "X"), 47,
        "line 1: no field ElapsedRaw, needed for the run time",
    ),
    (
        "tasks cut off", lambda site: changed(site, "queue.json", "2-16%4", "2-5,..."), 47,
        "SLURM_BITSTR_LEN=0",
    ),
    ("endless tasks", lambda site: changed(site, "queue.json", "2-16%4", "1-999999999"), 47, "more than 4000001 tasks"),
    ("many tasks", lambda site: changed(site, "queue.json", "2-16%4", "1-3000000"), 47, "more than 1000000 jobs"),
    ("endless hosts", lambda site: changed(site, "queue.json", '"nodes": "n1"', '"nodes": "n[1-999999]"'), 47, "hosts"),
    ("a usage that is none", lambda site: changed(site, "shares.txt", "|46659|", "|nan|"), 47, "RawUsage is 'nan'"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "code", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_wrong_or_cut_off_is_one_line_and_changes_nothing(run, state, site, spoil, code, message):
    imported(run, state, ARCHIVE)
    before = state.read_bytes(), state.with_name(f"{state.name}.toml").read_bytes()
    spoil(site)
    ended = run("--state", state, "import", "--slurm", site)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert (state.read_bytes(), state.with_name(f"{state.name}.toml").read_bytes()) == before


def test_an_archive_that_is_cut_off_or_no_site_changes_nothing(run, state, tmp_path):
    cut_off = tmp_path / "cut.tar.gz"
    cut_off.write_bytes(ARCHIVE.read_bytes()[:-2000])
    other = tmp_path / "other"
    other.mkdir()
    (other / "readme").write_text("hello\n")
    for name, message in ((cut_off, "damaged"), (other, "it contains none of nodes.txt"), (tmp_path / "no", "no such")):
        ended = run("--state", state, "import", "--slurm", name)
        assert (ended.code, ended.out, ended.err.count("\n")) == (46, "", 1)
        assert message in ended.err
        assert not state.exists()


def test_slurm_is_an_import_of_its_own(run, state):
    assert run("--state", state, "import", "--slurm", ARCHIVE, "--live").code == 2
    assert run("--state", state, "import", "--slurm", ARCHIVE, "--jobs", "x").code == 2


def test_a_dry_run_imports_nothing(run, state):
    ended = run("--state", state, "import", "--slurm", ARCHIVE, "--dry-run")
    assert (ended.code, "would import 25 slots" in ended.out) == (0, True)
    assert not state.exists()


def test_the_script_asks_slurm_and_its_archive_is_imported(run, state, tmp_path, site):
    """Programs in the place of Slurm's, which print what Slurm printed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tools = {
        "scontrol": 'case "$*" in *node) f=nodes;; *partition) f=partitions;; *config) f=config;; *) f=jobs;; esac\n'
        f"cat {site}/$f.txt\n",
        "squeue": "echo 'no JSON here' >&2; exit 1\n",
        "sshare": f"cat {site}/shares.txt\n",
        "sacct": f"cat {site}/sacct.txt\n",
        "sacctmgr": f'for one; do case $one in file=*) cp {site}/accounts.txt "${{one#file=}}";; esac; done\n',
    }
    for name, text in tools.items():
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $TZ $*" >>{tmp_path}/called\n{text}')
        (folder / name).chmod(0o755)
    archive = tmp_path / "lab site.tar.gz"
    script = tmp_path / "dump.sh"
    script.write_text(run("import", "--slurm", archive, "--script").out)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    written = subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert written.returncode == 0, written.stderr
    assert "the queue cannot be queried: no JSON here" in written.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert [line.split(" ", 2)[:2] for line in called] == [[line.split()[0], "UTC"] for line in called]
    ended = imported(run, state, archive)
    assert "101 jobs" in ended.out
    assert "the queue cannot be queried: no JSON here" in ended.err


def test_jobs_of_one_user_are_in_the_order_of_slurm_and_those_of_different_users_as_the_page_says(
    run, state, ask, site
):
    imported(run, state, ARCHIVE)
    recorded = [one for one in json.loads((site / "queue.json").read_text())["jobs"] if one["job_state"] == "PENDING"]
    place = {one["job_id"]: (-one["priority"], one["job_id"]) for one in recorded}
    user = {one["job_id"]: (one["account"], one["user_name"]) for one in recorded}
    offered = [int(one["jobs"].split(".")[0]) for one in ask("queue", "--order", "--now", TIME)]
    pairs = [*combinations(dict.fromkeys(offered), 2)]
    alike = [place[a] < place[b] for a, b in pairs if user[a] == user[b]]
    others = [place[a] < place[b] for a, b in pairs if user[a] != user[b] and place[a][0] != place[b][0]]
    assert (sum(alike), len(alike), sum(others), len(others)) == (615, 615, 457, 1401)
