"""Rule points of PanDA's scheme that neither a recorded case nor a sentence of the page tells apart."""

from tests.documents.broker_pool import HOUR, NOW, answer, asked, at, files, pool, setting, user

from fairq.common.records import Actor
from fairq.steps.broker import run as broker_run
from fairq.steps.broker.flows import preset


def seen(state, *names, **points):
    """Return why the queues are no candidates, by the page and with these *points* as PanDA's code has them."""
    return [asked(state).reasons(*names), asked(state, **points).reasons(*names)]


def test_traffic_per_core_is_rounded_down_or_not(state):
    """The task makes 100.875 kB/s per core, and the limit is 100."""
    pool(state, {"A": {"corecount": 8}}, {"coreCount": 8, "diskIO": 807}, metrics=[{"queue": "A", "diskio": 900}],
         config=setting(jobbroker__MAX_DISKIO_DEFAULT=100))  # fmt: skip
    assert seen(state, "A", disk_io_per_core="rounded_down") == [["diskIO"], [""]]


def test_input_on_tape_counts_or_comes_second(state):
    pool(state, {"DISK": {}, "TAPE": {}}, {"ioIntensity": 900}, inputs=[files(20)],
         replicas=[*at(DISK=None, NUC=None), {"dataset": "ds", "rse": "TAPE_T"}],
         storages=[{"rse": name, "site": name, "space_free": 1000} for name in ("DISK", "TAPE", "NUC")]
         + [{"rse": "TAPE_T", "site": "TAPE", "is_tape": True, "type": "DATATAPE"}],
         relations=[{"queue": "NUC_Q", "rse": "NUC"}, {"queue": "DISK", "rse": "DISK"},
                    {"queue": "TAPE", "rse": "TAPE"},
                    {"queue": "TAPE", "rse": "TAPE_T", "default_read": False, "default_write": False}],
         config=setting(jobbroker__NUM_CUTOFF_TO_MOVE_INPUT=3))  # fmt: skip
    assert seen(state, "DISK", "TAPE", tape_second=True) == [["", ""], ["", "io"]]


def test_analysis_is_tried_again_after_20_minutes_or_an_hour(state):
    pool(state, {}, user(coreCount=8))
    for rules, minutes in ((preset("documented"), 20), (preset("documented", retry_by_activity=False), 60)):
        (decided,) = broker_run.run(state, rules, Actor("test", "test", NOW + HOUR), [1]).decided
        assert decided.retry == NOW + HOUR + 60 * minutes


def test_an_analysis_task_may_be_kept_in_its_cloud(state):
    pool(state, {"A": {"cloud": "X"}, "B": {"cloud": "Y"}}, user(cloud="X"))
    assert seen(state, "A", "B", task_cloud=True) == [["", ""], ["", "cloudmismatch"]]


def test_a_local_quota_refuses_or_not(state):
    pool(state, {"A": {}, "B": {}}, user(), users=[{"name": "jane", "endpoints_over": ["B"]}])
    assert seen(state, "A", "B", local_quota=True) == [["", ""], ["", "local_quota"]]


def test_a_task_whose_own_queue_is_refused_waits_or_fails(state):
    explanation = answer(state, {"A": {"corecount": 8}, "B": {}}, user(site="A"))
    assert explanation.status == "failed"
    assert asked(state, lost_site_is_fatal=True).status == "fatal"
