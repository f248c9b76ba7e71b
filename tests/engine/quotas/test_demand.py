"""A group asks for the weight of what its submitters run and want to run (reference 4.2)."""

import pytest
from tests.engine.negotiation.pools import cycle, jobs, slots
from tests.engine.quotas.groups import rules_of

from fairq.common.records import JobRange
from fairq.engine.classad import parse
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.policy import DemandPolicy


def demand(job, count=1, policy=None, **overlay):
    """The demand of *count* idle jobs alike."""
    idle = JobRange(1, 0, count - 1, 7, "u@d", "u", 1, 0, 0, **overlay)
    return IdleDemand(policy or DemandPolicy(True, parse("Cpus"), truncated=False), {7: job}).of([idle])


def test_a_job_weighs_the_cpus_it_requests():
    """The slot weight is Cpus by default; a job that says nothing asks for one."""
    assert demand({"RequestCpus": 4}, 10) == 40
    assert demand({}, 10) == 10


def test_a_request_may_be_an_expression():
    """It is evaluated in the job."""
    assert demand({"RequestCpus": "/Expr(Half * 2)/", "Half": 3}, 2) == 12
    assert demand({"RequestCpus": "/Expr(NoSuchAttribute)/"}, 2) == 2


def test_another_slot_weight_is_evaluated_in_what_the_job_requests():
    """A weight that counts memory counts the memory requested."""
    policy = DemandPolicy(True, parse("Cpus + Memory / 1024.0"), truncated=False)

    assert demand({"RequestCpus": 1, "RequestMemory": 2048}, 2, policy) == 6


def test_a_weight_of_jobs_is_evaluated_in_the_job():
    """SCHEDD_SLOT_WEIGHT."""
    policy = DemandPolicy(True, parse("Cpus"), truncated=False, job_weight=parse("RequestCpus * Factor"))

    assert demand({"RequestCpus": 2, "Factor": 5}, 3, policy) == 30


@pytest.mark.parametrize("weight", ["undefined", '"heavy"', "-1", "error"])
def test_a_weight_that_is_none_counts_the_cpus(weight):
    """What is no number, or negative, cannot be a demand."""
    assert demand({"RequestCpus": 3}, 2, DemandPolicy(True, parse(weight), truncated=False)) == 6


@pytest.mark.parametrize(("truncated", "expected"), [(False, 15.0), (True, 10.0)])
def test_today_s_schedd_cuts_every_job_to_a_whole_number(truncated, expected):
    """Ten jobs of 1.5 ask for 15; the schedd counts 1 each."""
    assert demand({}, 10, DemandPolicy(True, parse("Cpus * 1.5"), truncated=truncated)) == expected


def test_demand_may_count_jobs():
    """NEGOTIATOR_USE_WEIGHTED_DEMAND = False."""
    assert demand({"RequestCpus": 4}, 10, DemandPolicy(False, parse("Cpus"), truncated=False)) == 10


def test_what_a_range_or_a_proc_says_itself_counts():
    """Requests that differ between the jobs of one cluster are summed job by job."""
    assert demand({"RequestCpus": 1}, 10, own={"RequestCpus": 3}) == 30
    assert demand({"RequestCpus": 1}, 4, template={"RequestCpus": "/Expr($(ProcId) + 1)/"}) == 1 + 2 + 3 + 4
    assert demand({"RequestCpus": 2}, 4, template={"Args": "$(ProcId)"}) == 8


def test_a_group_asks_for_its_own_submitters_only():
    """The demand of a subgroup is not that of its parent."""
    policy = rules_of({"p": 4, "p.hep": 2})
    wants = {"p.hep.u@d": [jobs(3, RequestCpus=1)], "p.u@d": [jobs(1)], "P.HEP.v@d": [jobs(2)], "u@d": [jobs(5)]}
    decision = cycle(slots(8), wants, quotas=policy)

    assert {group.group: group.requested for group in decision.quotas} == {"<none>": 5, "p": 1, "p.hep": 5}
    assert {group.group: group.submitters for group in decision.quotas} == {"<none>": 1, "p": 1, "p.hep": 2}
