"""``fairq broker run --dry-run`` with changes to try: what differs from the run without them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.broker_sample import NOW, fill

Run = Callable[..., Any]


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command on the sample pool."""
    fill(run, state, tmp_path)

    def broker(*words):
        return run("--state", state, "broker", *words, "--now", NOW)

    return broker


def tried(broker, *words):
    ended = broker("run", "--all", "--dry-run", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_queue_that_closes_is_lost_and_the_reason_told(broker):
    found = tried(broker, "--queue", "U8.status=offline")
    (task,) = found["tasks"]
    assert (task["task"], task["gained"], task["lost"]) == (1, [], ["U8/SCORE"])
    assert task["queues"][0]["after"]["reason"] == "status"
    assert found["unchanged"] == 1


def test_a_larger_queue_is_gained(broker):
    (task,) = tried(broker, "--queue", "SMALL.maxrss=4000", "--queue", "SMALL.corecount=1")["tasks"]
    assert (task["gained"], task["queues"][0]["before"]["reason"]) == (["SMALL"], "lowmemory")


def test_it_is_what_a_run_decides_once_the_change_is_made(broker, tmp_path):
    promised = tried(broker, "--queue", "U8.status=offline")["tasks"][0]["after"]["queues"]
    queue = tmp_path / "q.json"
    queue.write_text(json.dumps([{"name": "U8", "status": "offline"}]))
    broker("queues", "import", queue)
    found = json.loads(broker("run", "--all", "--json").out)
    assert found["tasks"][0]["queues"] == promised


def test_a_setting_of_panda_is_tried(broker):
    name = "jobbroker.STORAGE_MIN_FREE_SIZE=2000"
    broker("config", "set", *name.split("="))
    decided = json.loads(broker("run", "--all", "--dry-run", "--json").out)["tasks"]
    broker("config", "unset", name.partition("=")[0])
    before = json.loads(broker("run", "--all", "--dry-run", "--json").out)["tasks"]
    changed = {one["task"]: one["after"]["queues"] for one in tried(broker, "--set", name)["tasks"]}
    assert changed
    assert changed == {
        now["task"]: now["queues"] for then, now in zip(before, decided, strict=True) if then["queues"] != now["queues"]
    }


def test_a_setting_of_fairq_and_a_file_are_tried(broker, tmp_path):
    file = tmp_path / "other.toml"
    file.write_text('[broker]\nrules = "panda"\n')
    for words in (("--set", "broker.rules=panda"), ("--with", file)):
        found = tried(broker, *words)
        assert (found["before"]["rules"], found["after"]["rules"]) == ("documented", "panda")


def test_without_a_task_that_is_due_nothing_differs(broker):
    broker("run")
    ended = broker("run", "--dry-run", "--queue", "U8.status=offline")
    assert ended.out == "Dry run, with U8.status=offline: 0 tasks changed, 0 did not\n"


def test_the_text_names_the_changes_and_nothing_is_stored(broker):
    ended = broker("run", "--all", "--dry-run", "--queue", "U8.status=offline")
    assert ended.out.startswith("Dry run, with U8.status=offline: 1 task changed, 1 did not\n")
    assert "-U8/SCORE status" in ended.out
    assert "none; " in broker("status").out
    assert '"offline"' not in broker("queues", "list", "U8", "--json").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--queue", "SMAL.status=offline"], 86, "there is no queue 'SMAL'; did you mean SMALL?"),
        (["--queue", "U8.statu=offline"], 110, "the brokerage reads no field 'statu' of queues; did you mean status?"),
        (["--queue", "U8.maxrss=much"], 110, "maxrss must be"),
        (["--queue", "U8"], 110, "give NAME.FIELD=VALUE"),
        (["--set", "jobbroker.NQUEUED_SAT_CAP"], 110, "give KEY=VALUE"),
        (["--set", "jobbroker.NQUEUED_SAT_CAB=3"], None, "did you mean jobbroker.NQUEUED_SAT_CAP?"),
        (["--set", "jobbroker.NQUEUED_SAT_CAP=many"], None, "many"),
        (["--queue", "U8.status=offline", "--summary"], 2, "without --summary and --out"),
    ],
)
def test_a_change_that_cannot_be_is_one_clear_line(broker, words, code, message):
    ended = broker("run", "--dry-run", *words)
    assert ended.code and (code is None or ended.code == code)
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_change_is_tried_in_a_dry_run_only(broker):
    ended = broker("run", "--queue", "U8.status=offline")
    assert (ended.code, ended.out) == (2, "")
    assert "give them with --dry-run" in ended.err
