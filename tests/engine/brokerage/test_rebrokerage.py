"""Fast rebrokerage by share, and rebrokerage of users' job sets."""

import pytest
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.cleaner import QUEUES, decided, job, row_of

from fairq.engine.brokerage.timeouts.rebrokerage import fast_rebrokerage, overshoots
from fairq.engine.brokerage.timeouts.table import TimeoutPolicy

SHARE_OF_10 = {"rebroker.FAST_REBRO_THRESHOLD_NQUEUE_MC": 10}


def crowd(*parts, share="MC", **fields):
    """Return so many jobs in each (queue, state), numbered from 1."""
    numbers = iter(range(1, 10_000))
    return [
        job(state, number=next(numbers), queue=queue, share=share, age=0.5, **fields)
        for queue, state, count in parts
        for _ in range(count)
    ]


def sent_back(jobs, config=None, rules=DOCUMENTED):
    policy = TimeoutPolicy.of(SHARE_OF_10 if config is None else config, rules)
    return sorted(fast_rebrokerage(jobs, QUEUES, policy))


def test_the_excess_by_the_mildest_limit_goes_back_oldest_first():
    # 60 wait and 10 run at Q, 40 wait elsewhere: min(60 - 3*10, 60 - 10, 60 - 0.3*100) = 30
    jobs = crowd(("Q", "activated", 60), ("Q", "running", 10), ("IDLE", "activated", 40), ("IDLE", "running", 50))
    assert sent_back(jobs) == list(range(1, 31))
    assert sent_back(jobs, rules=PANDA) == list(range(1, 30))


LIMITS = [
    # waiting and running at Q, waiting elsewhere: how many go back
    (31, 10, 5, 1),  # 31 - 3*10
    (30, 10, 5, 0),
    (11, 0, 0, 1),  # 11 - 10
    (10, 0, 0, 0),
    (30, 0, 70, 0),  # 30 - 0.3*100
    (31, 0, 69, 1),
    (37, 0, 63, 7),
]


@pytest.mark.parametrize(("waiting", "running", "elsewhere", "excess"), LIMITS)
def test_all_three_limits_must_be_passed(waiting, running, elsewhere, excess):
    jobs = crowd(("Q", "activated", waiting), ("Q", "running", running), ("IDLE", "defined", elsewhere),
                 ("IDLE", "running", 100))  # fmt: skip
    assert len(sent_back(jobs)) == excess


def test_a_share_without_a_threshold_is_left_alone():
    jobs = crowd(("Q", "activated", 60))
    assert sent_back(jobs, {}) == []
    assert sent_back(jobs, {"rebroker.FAST_REBRO_THRESHOLD_NQUEUE_MC": 0}) == []
    assert sent_back(jobs, {"rebroker.FAST_REBRO_THRESHOLD_NQUEUE_Express": 10}) == []
    assert sent_back(crowd(("Q", "activated", 60), share="Express")) == []


def test_a_queue_with_slots_is_exempt_and_its_jobs_count_in_the_total_of_the_page():
    jobs = crowd(("SLOTS", "activated", 60), ("Q", "activated", 12))
    assert [overshoot.queue for overshoot in overshoots(jobs, QUEUES, TimeoutPolicy.of(SHARE_OF_10, PANDA))] == ["Q"]
    assert sent_back(jobs, rules=PANDA) == [61]
    assert overshoots(jobs, QUEUES, TimeoutPolicy.of(SHARE_OF_10, DOCUMENTED)) == []
    jobs = crowd(("SLOTS", "activated", 20), ("Q", "activated", 12))
    (overshoot,) = overshoots(jobs, QUEUES, TimeoutPolicy.of(SHARE_OF_10, DOCUMENTED))
    assert (overshoot.queue, overshoot.total, overshoot.excess) == ("Q", 32, 2)


def test_a_fraction_that_is_not_exact_in_binary_makes_no_excess():
    config = {**SHARE_OF_10, "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": 0.29}
    jobs = crowd(("Q", "activated", 29), ("IDLE", "activated", 71))
    assert [overshoot.queue for overshoot in overshoots(jobs, QUEUES, TimeoutPolicy.of(config, DOCUMENTED))] == ["IDLE"]


def test_jobs_for_special_resources_count_nowhere():
    assert sent_back(crowd(("Q", "activated", 60), special=True)) == []


def test_the_four_states_of_waiting_count_and_go_back():
    jobs = crowd(*(("Q", state, 10) for state in ("starting", "activated", "assigned", "defined")))
    assert sent_back(jobs) == list(range(1, 29))  # min(40 - 0, 40 - 10, 40 - 0.3*40) = 28


def test_thresholds_can_be_set():
    config = SHARE_OF_10 | {
        "rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO": 5,
        "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": 0.4,
    }
    jobs = crowd(("Q", "activated", 60), ("Q", "running", 10), ("IDLE", "activated", 60), ("IDLE", "running", 100))
    assert len(sent_back(jobs, config)) == 10


def test_a_paused_queue_keeps_its_jobs_by_the_page():
    jobs = crowd(("PAUSED", "activated", 60))
    assert sent_back(jobs) == []
    assert len(sent_back(jobs, rules=PANDA)) == 41


def test_fast_rebrokerage_is_told_with_what_was_compared():
    timeouts = decided(*crowd(("Q", "activated", 12)), config=SHARE_OF_10)
    assert [(timeout.job.id, timeout.row, timeout.action, timeout.code) for timeout in timeouts] == [
        (number, "fast_rebrokerage", "rebroker", 10) for number in (1, 2)
    ]
    assert timeouts[0].numbers == {"queued": 12, "running": 0, "total": 12, "threshold": 10, "excess": 2}


def users(status, *, number=1, **fields):
    return job(status, number=number, label="user", **{"task": 7, "job_set": 3, **fields})


def test_a_set_goes_back_12_hours_after_it_was_activated():
    assert row_of(users("activated", age=12)) is None
    (timeout,) = decided(users("activated", age=12.1))
    assert (timeout.row, timeout.code, timeout.since, timeout.limit) == ("user_rebrokerage", 51, "activated", 12 * 3600)


@pytest.mark.parametrize("state", ["defined", "assigned"])
def test_a_set_that_was_never_activated_counts_from_its_creation(state):
    assert row_of(users(state, age=12.1), rules=PANDA) == "user_rebrokerage"
    assert row_of(users(state, age=11.9), rules=PANDA) is None


def test_the_whole_set_goes_back():
    timeouts = decided(users("activated", number=1, age=13), users("defined", number=2, age=1, changed=4),
                    users("activated", number=3, age=1, job_set=4))  # fmt: skip
    assert [timeout.job.id for timeout in timeouts] == [1, 2]


def test_a_set_that_moves_is_left_alone():
    running = users("running", number=2, modified=0.1, changed=2.9)
    assert decided(users("activated", age=13), running) == []
    for still in ("failed", "closed", "starting"):
        ended = users(still, number=2, modified=0.1, changed=2.9)
        assert decided(users("activated", age=13), ended)[0].job.id == 1


def test_a_queue_that_is_down_loses_its_sets_after_3_hours_even_if_they_move():
    running = users("running", number=2, queue="OFF", modified=0.1, changed=0.1)
    assert decided(users("activated", queue="OFF", age=2.9), running) == []
    assert [timeout.job.id for timeout in decided(users("activated", queue="OFF", age=3.1), running)] == [1]


def test_a_working_group_can_have_its_own_limit():
    config = {"rebroker.ANALY_TIMEOUT": 6, "rebroker.ANALY_TIMEOUT_AP_Higgs": 24}
    assert row_of(users("activated", age=7), config=config) == "user_rebrokerage"
    assert row_of(users("activated", age=7, working_group="AP_Higgs"), config=config) is None
    assert row_of(users("activated", age=7, working_group="AP_Top"), config=config) == "user_rebrokerage"


def test_a_set_without_a_task_or_at_an_unknown_queue_is_left_alone():
    assert row_of(users("activated", age=13, task=None)) is None
    assert row_of(users("activated", age=13, from_jedi=False)) is None
    assert row_of(users("activated", age=13, queue="nowhere")) is None


def test_a_paused_queue_keeps_its_sets_by_the_page():
    assert row_of(users("activated", queue="PAUSED", age=13)) is None
    assert row_of(users("activated", queue="PAUSED", age=13), rules=PANDA) == "user_rebrokerage"
