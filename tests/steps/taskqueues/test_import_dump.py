"""An import of task queues stores what their jobs need, and numbers no others."""

import json

import pytest

from fairq.common.records import Actor, JobRange
from fairq.settings import load
from fairq.state import jobs, task_queues
from fairq.state.connection import reading, writing
from fairq.steps.taskqueues import formation
from fairq.steps.taskqueues.formation import form_queues
from fairq.steps.taskqueues.import_dump import import_task_queues
from fairq.steps.taskqueues.policy import share_policy

ACTOR = Actor("ann", "fairq taskqueues import", 1_795_210_080)


@pytest.mark.parametrize("own, is_kept", [(0, True), (2, True), (9, False)])
def test_needs_are_stored_unless_most_jobs_are_others(tmp_path, monkeypatch, own, is_kept):
    """A queue of fairq's own jobs gets its number when a pilot is matched, as before."""
    monkeypatch.setattr(formation, "WORTHWHILE", 1)
    path = tmp_path / "state.db"
    settings = load(None, path, {"XDG_CONFIG_HOME": str(tmp_path)})
    with writing(path) as state:
        ad = jobs.ad_id(state, {"AccountingGroup": "g.ann"})
        jobs.add(state, [JobRange(number, 0, 0, ad, "g.ann@x", "ann", 1, 0, 0) for number in range(1, own + 1)])
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps([{"TQId": number, "Owner": "bob", "OwnerGroup": "g", "CPUTime": 360, "MaxRAM": number, "Jobs": 1}
                    for number in (3, 5, 8)])
    )  # fmt: skip
    import_task_queues(path, settings, str(dump), ACTOR, host="x")
    with reading(path) as state:
        policy = share_policy(settings, state)
        stored = state.connection.execute("SELECT queue FROM job_need ORDER BY queue").fetchall()
        assert stored == ([(3,), (5,), (8,)] if is_kept else [])
        assert [queue.number for queue in task_queues.load_all(state)] == [3, 5, 8]
        assert form_queues(state, policy).queues.ids.tolist() == [3, 5, 8, *([9] if own else [])]
