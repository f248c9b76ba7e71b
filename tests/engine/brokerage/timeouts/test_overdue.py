"""Each row of the timeout table, at its limit, and where the page and the code differ."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.cleaner import decided, job, row_of

from fairq.engine.brokerage.timeouts.job import ACTIVE, IN_DEFINED_TABLE
from fairq.engine.brokerage.timeouts.table import ORDER, TABLE
from fairq.steps.broker.flows import preset

ENDED = frozenset({"finished", "failed", "cancelled", "closed"})
"""States that a job does not leave any more."""

HOUR, DAY = 1.0, 24.0

CLEANER = preset("documented", timeouts_of_state=False, timeouts_of_all=False, extra_timeouts=True)
"""The page's rules with the rows of PanDA's cleaner, as it counts their ages and for whom it applies them."""

AT_LIMIT: dict[str, tuple[dict[str, Any], str, float, str, int | None]] = {
    # sentence: the job, what its age counts from, the limit in hours, the row, PanDA's number
    "a pending job": ({"status": "pending"}, "created", 1, "pending", 4),
    "a waiting job": ({"status": "waiting"}, "created", 1, "waiting", 4),
    "a defined job": ({"status": "defined"}, "modified", 4, "defined", 51),
    "a defined test job": ({"status": "defined", "label": "test"}, "modified", 4, "defined", 51),
    "a defined job without a task": ({"status": "defined", "from_jedi": False}, "created", 4, "defined_alone", 2),
    "a defined build job": (
        {"status": "defined", "label": "panda", "build": True}, "created", 4, "defined_alone", 2),
    "an assigned job": ({"status": "assigned"}, "modified", 12, "assigned", 51),
    "an assigned job that moves": ({"status": "assigned", "modified": 1}, "created", 7 * DAY, "defined_long", 2),
    "an activated job": ({"status": "activated"}, "modified", 48, "activated", 51),
    "an activated job that moves": ({"status": "activated", "modified": 1}, "created", 7 * DAY, "activated_long", 2),
    "a starting job": ({"status": "starting", "modified": 1}, "changed", 48, "starting", 51),
    "an urgent job at an idle queue": (
        {"status": "activated", "queue": "IDLE", "priority": 800}, "modified", 4, "inactive", 51),
    "an urgent starting job at a queue that is off": (
        {"status": "starting", "queue": "OFF", "priority": 800, "modified": 1}, "changed", 4, "inactive_starting", 51),
    "a job sent to a pilot": ({"status": "sent"}, "modified", 0.5, "sent", 102),
    "a running job": ({"status": "running"}, "modified", 2, "heartbeat", 100),
    "a job that stages in": ({"status": "stagein"}, "modified", 2, "heartbeat", 100),
    "a user's running job": ({"status": "running", "label": "user"}, "modified", 2, "heartbeat_user", 100),
    "a transferring job with a sub-status": (
        {"status": "transferring", "sub_status": "os"}, "modified", 2, "heartbeat_transferring", 100),
    "a holding job": ({"status": "holding", "modified": 1}, "ended", 48, "holding", 103),
    "an urgent holding job": ({"status": "holding", "priority": 800}, "modified", 3, "holding_high", 103),
    "a user's holding job": ({"status": "holding", "label": "user", "changed": 9}, "modified", 3, "holding_user", 103),
    "an urgent transfer": ({"status": "transferring", "priority": 800}, "ended", 48, "transferring", None),
    "a transfer": ({"status": "transferring"}, "ended", 6 * DAY, "transferring", None),
    "a user's urgent transfer": (
        {"status": "transferring", "priority": 900, "label": "user"}, "ended", 6 * DAY, "transferring", None),
    "a transfer without an end": ({"status": "transferring"}, "started", 6 * DAY, "transferring", None),
    "a throttled job": ({"status": "throttled"}, "created", 7 * DAY, "throttled", 2),
    "a job that runs and runs": ({"status": "running", "modified": 1}, "created", 21 * DAY, "active_long", 2),
    "a user's job that holds its report": (
        {"status": "holding", "label": "user", "has_report": True, "ended": 1}, "modified", 48, "holding", 103),
    "a test job that is not heard of": (
        {"status": "activated", "label": "test"}, "modified", 7 * DAY, "user_long", 2),
    "an urgent event-service job": (
        {"status": "running", "event_service": 1, "priority": 900, "modified": 1}, "changed", 24, "event_service", 2),
    "an event-service merge": (
        {"status": "starting", "event_service": 2, "modified": 1}, "changed", 24, "event_service", 2),
}  # fmt: skip


@pytest.mark.parametrize("sentence", AT_LIMIT)
def test_a_job_is_left_alone_up_to_the_limit_and_no_longer(sentence):
    fields, since, limit, row, code = AT_LIMIT[sentence]
    assert row_of(job(**{**fields, since: limit}), rules=CLEANER) is None
    (timeout,) = decided(job(**{**fields, since: limit + 0.01}), rules=CLEANER)
    assert (timeout.row, timeout.code, timeout.since) == (row, code, since)
    assert timeout.limit == limit * 3600
    assert timeout.age == pytest.approx((limit + 0.01) * 3600)


def test_every_row_is_tried_here():
    tried = {row for _, _, _, row, _ in AT_LIMIT.values()}
    assert tried == set(TABLE)
    assert set(ORDER) - set(TABLE) == {"fast_rebrokerage", "user_rebrokerage"}


NEVER: dict[str, dict[str, Any]] = {
    "a job whose times are not known": {"status": "running"},
    "a co-jumbo job that waits": {"status": "waiting", "event_service": 5, "created": 2},
    "a user's defined job": {"status": "defined", "label": "user", "age": 5},
    "a job that must stay": {"status": "activated", "relocation_flag": 2, "age": 49},
    "an urgent job where jobs start": {"status": "activated", "priority": 900, "age": 5},
    "an urgent job at a queue of which nothing is known": {
        "status": "activated", "queue": "UNSEEN", "priority": 900, "age": 5},
    "an urgent merge at an idle queue": {
        "status": "activated", "queue": "IDLE", "priority": 900, "age": 5, "processing_type": "pmerge"},
    "a job less urgent at an idle queue": {"status": "activated", "queue": "IDLE", "priority": 799, "age": 5},
    "a user's job that just began to hold": {
        "status": "holding", "label": "user", "modified": 4, "changed": 4, "ended": 1},
    "a transfer that is complete": {"status": "transferring", "output_complete": True, "age": 150},
    "an event-service job less urgent": {
        "status": "running", "event_service": 1, "priority": 899, "modified": 1, "changed": 30},
    "a finished job": {"status": "finished", "age": 1000},
    "a closed job": {"status": "closed", "age": 1000},
}  # fmt: skip


@pytest.mark.parametrize("sentence", NEVER)
def test_nothing_happens_to(sentence):
    assert row_of(job(**NEVER[sentence]), rules=CLEANER) is None


@pytest.mark.parametrize("queue", ["PAUSED", "STAY"])
@pytest.mark.parametrize("state", sorted(IN_DEFINED_TABLE | ACTIVE | ENDED))
def test_the_page_disables_every_rule_at_a_paused_queue_and_with_disable_reassign(state, queue):
    for label in ("managed", "user"):
        timeouts = decided(job(state, queue=queue, label=label, priority=900, age=1000, task=1, job_set=1))
        why = "paused" if queue == "PAUSED" else "disableReassign"
        assert [timeout.exempt for timeout in timeouts] in ([], [why])


def test_a_job_that_is_exempt_is_told_with_what_would_have_been():
    (timeout,) = decided(job("running", queue="PAUSED", age=3))
    assert (timeout.row, timeout.exempt, timeout.limit) == ("heartbeat", "paused", 7200)


EXEMPT_IN_CODE = [
    # what PanDA's code does at a paused queue and with disableReassign
    ("running", {"age": 3}, None, "heartbeat"),
    ("running", {"age": 3, "label": "user"}, "heartbeat_user", "heartbeat_user"),
    ("activated", {"age": 49}, "activated", None),
    ("starting", {"modified": 1, "changed": 49}, "starting", None),
    ("activated", {"age": 5, "priority": 800}, None, None),
    ("defined", {"age": 5}, "defined", "defined"),
    ("holding", {"age": 50}, "holding", "holding"),
]


@pytest.mark.parametrize(("state", "fields", "paused", "disabled"), EXEMPT_IN_CODE)
def test_the_code_spares_a_paused_queue_the_heartbeat_and_disable_reassign_what_waits(state, fields, paused, disabled):
    assert row_of(job(state, queue="PAUSED", **fields), rules=PANDA) == paused
    assert row_of(job(state, queue="STAY", **fields), rules=PANDA) == disabled


def test_holding_of_priority_800_is_urgent_by_the_page_and_not_by_the_code():
    assert row_of(job("holding", priority=800, age=4), rules=DOCUMENTED) == "holding_high"
    assert row_of(job("holding", priority=800, age=4), rules=PANDA) is None
    assert row_of(job("holding", priority=801, age=4), rules=PANDA) == "holding_high"


def test_transferring_jobs_are_watched_by_sub_status_by_the_page_and_by_label_by_the_code():
    watched = job("transferring", sub_status="os_transferring", modified=3)
    users = job("transferring", label="user", modified=3)
    assert [row_of(panda_job, rules=DOCUMENTED) for panda_job in (watched, users)] == ["heartbeat_transferring", None]
    assert [row_of(panda_job, rules=PANDA) for panda_job in (watched, users)] == [None, "heartbeat_transferring"]


def test_a_workflow_has_a_heartbeat_of_its_own():
    config = {"watcher.HEARTBEAT_TIMEOUT_push": 24, "watcher.HEARTBEAT_TIMEOUT_production": 7}
    assert row_of(job("running", queue="PUSH", modified=23.9), config=config) is None
    assert row_of(job("running", queue="PUSH", modified=24.1), config=config) == "heartbeat"
    assert row_of(job("running", queue="Q", modified=6.9), config=config) is None
    assert row_of(job("running", queue="nowhere", modified=7.1), config=config) == "heartbeat"
    assert row_of(job("transferring", queue="PUSH", sub_status="x", modified=24.1), config=config) is not None


def test_a_limit_of_0_is_the_default_save_for_heartbeats():
    config = {"job_timeout.TIMEOUT_defined": 0, "watcher.HEARTBEAT_TIMEOUT_production": 0}
    assert row_of(job("defined", age=3.9), config=config) is None
    assert row_of(job("running", modified=0.1), config=config) == "heartbeat"


def test_a_queue_can_have_its_own_limit_for_transfers():
    assert row_of(job("transferring", queue="SLOW", ended=8.9 * DAY)) is None
    assert row_of(job("transferring", queue="SLOW", ended=9.1 * DAY)) == "transferring"
    assert row_of(job("transferring", queue="SLOW", ended=2.1 * DAY, priority=800)) is None
    assert row_of(job("transferring", queue="SLOW", ended=2.1 * DAY, priority=800), rules=PANDA) == "transferring"


def test_of_two_rows_the_first_decides_and_a_job_is_told_once():
    (timeout,) = decided(job("holding", label="user", priority=900, age=1000, changed=1), rules=CLEANER)
    assert timeout.row == "holding_user"


def test_jobs_come_by_number():
    timeouts = decided(*(job("pending", number=number, age=2) for number in (3, 1, 2)))
    assert [timeout.job.id for timeout in timeouts] == [1, 2, 3]


def test_a_pseudo_queue_stands_for_its_queue():
    (timeout,) = decided(job("running", queue="PAUSED/SCORE", modified=3))
    assert timeout.exempt == "paused"
