"""Laws of task queues: whatever is queued and whoever asks, a job is in one queue and handed out once."""

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.common.records import Actor, JobRange, JobStatus
from fairq.settings import load
from fairq.state import check, document, jobs
from fairq.state.connection import reading, writing
from fairq.steps.jobs.selection import Selection, Target
from fairq.steps.taskqueues.match import match
from fairq.steps.taskqueues.pilots import Pilot
from fairq.steps.taskqueues.priorities import list_queues, recalculate_shares

NOW = 1_795_210_080
ACTOR = Actor("pilot", "fairq taskqueues match", NOW)

JOB = st.fixed_dictionaries(
    {
        "Owner": st.sampled_from("abc"),
        "AcctGroup": st.sampled_from(["g", "h"]),
        "Sites": st.sampled_from(["", "S", "T", "S, T", "ANY"]),
        "CPUTime": st.sampled_from([1, 360, 361, 10**7]),
        "UserPriority": st.sampled_from([-1, 0, 1, 5, 10, 99]),
        "procs": st.integers(1, 5),
    }
)
PILOT = st.tuples(st.sampled_from(["S", "T"]), st.sampled_from([100, 360, 10**8]), st.integers(1, 6))
RULES = st.sampled_from(
    ['rules = "documented"', 'rules = "dirac"', 'selection = "strict"', "max_jobs_in_task_queue = 2"]
)


def queue_up(state, wanted):
    with writing(state) as opened:
        for cluster, job in enumerate(wanted, 1):
            ad = {name: value for name, value in job.items() if name not in ("procs", "Owner")}
            ad |= {"AcctGroupUser": job["Owner"], "AccountingGroup": f"{job['AcctGroup']}.{job['Owner']}"}
            submitter = f"{ad['AccountingGroup']}@x"
            number = jobs.ad_id(opened, ad)
            jobs.add(opened, [JobRange(cluster, 0, job["procs"] - 1, number, submitter, job["Owner"], 1, NOW, NOW)])


@settings(max_examples=25)
@given(st.lists(JOB, max_size=6), st.lists(PILOT, max_size=5), RULES)
def test_every_job_is_in_one_queue_and_is_handed_out_once(wanted, pilots, rules):
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state.db")
        Path(f"{state}.toml").write_text(f"[shares]\n{rules}\n")
        chosen = load(None, state, {"XDG_CONFIG_HOME": folder})
        queue_up(state, wanted)
        total = sum(job["procs"] for job in wanted)
        # DIRAC refuses a negative UserPriority.
        refused = sum(job["procs"] for job in wanted if job["UserPriority"] < 0 and "dirac" in rules)
        assert sum(queue["jobs"] for queue in list_queues(state, chosen, NOW).queues) == total - refused
        recalculate_shares(state, chosen, NOW)
        handed = []
        for site, cpu_time, count in pilots:
            matched = match(state, chosen, Pilot(site, cpu_time), ACTOR, count=count, seed=1)
            for one in matched.matches:
                job = wanted[one.job.cluster - 1]
                assert job["Sites"] in ("", "ANY") or site in job["Sites"]
                handed.append((one.job.cluster, one.job.first_proc))
        assert len(handed) == len(set(handed))
        with reading(state) as opened:
            running = jobs.select(opened, statuses=[JobStatus.RUNNING])
            assert sum(map(len, running)) == len(handed)
            assert check.findings(opened) == []
            whole = json.loads(json.dumps(document.export(opened)))
        with writing(Path(folder, "other.db")) as opened:
            document.restore(opened, whole)
            assert json.loads(json.dumps(document.export(opened))) == whole
        if handed:
            from fairq.steps.jobs.finish import finish

            finish(state, chosen, Selection([Target("all")]), ACTOR)
        with reading(state) as opened:
            assert sum(map(len, jobs.select(opened))) == total - len(handed)
            assert check.findings(opened) == []
