"""What holds for every set of jobs whose timeouts are looked at."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker_rules import RULES

from fairq.engine.brokerage.timeouts.job import ACTIVE, IN_DEFINED_TABLE, JobQueue, PandaJob
from fairq.engine.brokerage.timeouts.overdue import timeouts
from fairq.engine.brokerage.timeouts.table import ORDER, TimeoutPolicy

ENDED = frozenset({"finished", "failed", "cancelled", "closed"})
"""States that a job does not leave any more."""

NOW = 1_800_000_000.0
HOUR = 3600.0
SEEDS = st.integers(0, 2**32)
EXAMPLES = settings(max_examples=40)

every_rules = pytest.mark.parametrize("rules", RULES)


def pool(seed):
    """Return the jobs, queues and settings of the case number *seed*."""
    source = random.Random(seed)
    pick = source.choice
    queues = {
        name: JobQueue(
            name,
            pick(["online", "online", "online", "test", "offline", "paused", "brokeroff"]),
            pick(["pull_ups", "push", ""]),
            disable_reassign=source.random() < 0.1,
            last_start=pick([None, NOW - HOUR, NOW - 9 * HOUR]),
            has_slots=source.random() < 0.1,
        )
        for name in ("A", "B", "C", "D")
    }

    def ago():
        return pick([None, NOW - source.uniform(0, 4) * HOUR, NOW - source.uniform(0, 700) * HOUR, NOW, NOW + HOUR])

    states = sorted(IN_DEFINED_TABLE | ACTIVE | ENDED)
    jobs = [
        PandaJob(
            number,
            pick(states),
            pick([*queues, "A", "A", "nowhere", ""]),
            pick(["MC", "MC", "Express", ""]),
            pick(["managed", "managed", "user", "panda", "test"]),
            pick([0, 500, 799, 800, 801, 900]),
            working_group=pick(["", "", "AP_Top"]),
            task=pick([None, 1, 2]),
            job_set=pick([None, 1, 2]),
            from_jedi=source.random() < 0.8,
            build=source.random() < 0.2,
            relocation_flag=pick([0, 0, 2]),
            event_service=pick([None, None, 1, 2, 5]),
            sub_status=pick([None, None, "x"]),
            special=source.random() < 0.1,
            has_report=source.random() < 0.2,
            output_complete=source.random() < 0.2,
            created=ago(), modified=ago(), changed=ago(), activated=ago(), started=ago(), ended=ago(),
        )
        for number in range(source.randrange(80))
    ]  # fmt: skip
    config = {
        "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_MC": pick([0, 1, 3, 10]),
        "watcher.HEARTBEAT_TIMEOUT_push": pick([None, 1, 24]),
        "job_timeout.TIMEOUT_holding": pick([0, 1, 100]),
        "rebroker.ANALY_TIMEOUT": pick([None, 0, 6]),
        "rebroker.ANALY_TIMEOUT_AP_Top": pick([None, 100]),
    }
    return jobs, queues, config


def decided(jobs, queues, config, rules, now):
    return timeouts(jobs, queues, TimeoutPolicy.of(config, RULES[rules]), now)


@every_rules
@EXAMPLES
@given(seed=SEEDS)
def test_a_job_is_told_at_most_once_and_older_than_the_limit(rules, seed):
    jobs, queues, config = pool(seed)
    found = decided(jobs, queues, config, rules, NOW)
    numbers = [one.job.id for one in found]
    assert numbers == sorted(set(numbers))
    for one in found:
        assert one.job.status not in ENDED
        assert one.row in ORDER
        if one.age is not None:
            assert one.limit is not None
            assert one.age > one.limit


@every_rules
@EXAMPLES
@given(seed=SEEDS)
def test_the_order_of_jobs_and_queues_does_not_matter(rules, seed):
    jobs, queues, config = pool(seed)
    first = decided(jobs, queues, config, rules, NOW)
    again = decided(jobs[::-1], dict(reversed(list(queues.items()))), config, rules, NOW)
    assert again == first


@every_rules
@EXAMPLES
@given(seed=SEEDS, later=st.floats(0, 1000))
def test_a_job_whose_time_is_over_stays_so(rules, seed, later):
    jobs, queues, config = pool(seed)
    before = {one.job.id for one in decided(jobs, queues, config, rules, NOW)}
    assert before <= {one.job.id for one in decided(jobs, queues, config, rules, NOW + later * HOUR)}


@EXAMPLES
@given(seed=SEEDS)
def test_nothing_happens_to_jobs_at_queues_that_the_page_exempts(seed):
    jobs, queues, config = pool(seed)
    for one in decided(jobs, queues, config, "documented", NOW):
        queue = queues.get(one.job.queue)
        is_exempt = queue is not None and (queue.status == "paused" or queue.disable_reassign)
        assert bool(one.exempt) == is_exempt


@every_rules
@EXAMPLES
@given(seed=SEEDS)
def test_a_job_of_another_share_queue_and_set_changes_nothing_for_the_others(rules, seed):
    jobs, queues, config = pool(seed)
    other = PandaJob(1000, "running", "ELSEWHERE", "OTHER", "user", task=9, job_set=9, modified=NOW, changed=NOW)
    more = {**queues, "ELSEWHERE": JobQueue("ELSEWHERE", "online")}
    first = decided(jobs, queues, config, rules, NOW)
    assert decided([*jobs, other], more, config, rules, NOW) == first


@EXAMPLES
@given(seed=SEEDS)
def test_fast_rebrokerage_leaves_every_queue_at_its_mildest_limit(seed):
    """When the excess is gone, one of the three limits holds again; with one job more it would not."""
    jobs, queues, config = pool(seed)
    policy = TimeoutPolicy.of(config, RULES["documented"])
    ratio, fraction = (
        policy.config.amount(f"rebroker.FAST_REBRO_THRESHOLD_{name}") for name in ("NQNR_RATIO", "NQUEUE_FRAC")
    )
    fast = [one for one in timeouts(jobs, queues, policy, NOW) if one.row == "fast_rebrokerage"]
    for one in fast:
        queued, running, total, threshold, excess = one.numbers.values()
        left = queued - excess
        assert left <= max(ratio * running, threshold, fraction * total)
        assert left + 1 > max(ratio * running, threshold, fraction * total)


@given(jobs=st.just([]), rules=st.sampled_from(sorted(RULES)))
def test_no_jobs_no_timeouts(jobs, rules):
    assert decided(jobs, {}, {}, rules, NOW) == []
