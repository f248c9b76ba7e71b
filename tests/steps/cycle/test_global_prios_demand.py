"""What groups ask for with USE_GLOBAL_JOB_PRIOS, where each job priority has a submitter ad of its own."""

import json

import pytest
from tests.steps.import_cases import NOW, claimed, dump, job, slot

CONFIG = """GROUP_NAMES = a, b
GROUP_QUOTA_a = 2
GROUP_QUOTA_b = 2
USE_GLOBAL_JOB_PRIOS = True
"""


@pytest.mark.parametrize(("rules", "of_a", "of_b"), [("htcondor", 6.0, 0.0), ("documented", 3.0, 1.0)])
def test_demand_per_job_priority(run, state, tmp_path, rules, of_a, of_b):
    """Three idle jobs of two priorities count twice; a submitter who only runs jobs asks for nothing."""
    (tmp_path / "pool.conf").write_text(CONFIG)
    slots = dump(tmp_path, "slots", slot("slot1@m"), slot("slot2@m"), claimed("slot3@m", "b.bob@example.org", "9.0"))
    ann = {"Owner": "ann", "User": "ann@example.org", "AccountingGroup": "a.ann"}
    bob = {"Owner": "bob", "User": "bob@example.org", "AccountingGroup": "b.bob", "JobStatus": 2}
    idle = [job(number, JobPrio=5 if number == 1 else 0, **ann) for number in (1, 2, 3)]
    jobs = dump(tmp_path, "jobs", *idle, job(9, **bob))
    fairq = ("--state", state)
    assert run(*fairq, "config", "import", tmp_path / "pool.conf").code == 0
    assert run(*fairq, "config", "set", "negotiator.rules", rules).code == 0
    assert run(*fairq, "import", "--slots", slots, "--jobs", jobs, "--now", NOW).code == 0

    cycle = json.loads(run(*fairq, "negotiate", "--dry-run", "--json", "--now", NOW).out)
    requested = {group["group"]: group["requested"] for group in cycle["quotas"]}
    assert (requested["a"], requested["b"]) == (of_a, of_b)
