"""What PanDA's broker and cleaner did, entry by entry, under the rules ``panda``."""

import copy
from dataclasses import replace

import pytest
from tests.golden.cases import PANDA, cases_in
from tests.golden.panda import DATA, FAMILIES, family_of, run_panda
from tests.golden.panda_production import outcome_of, stages_of

CASES = [case for case in cases_in(DATA) if family_of(case.name) in FAMILIES]


@pytest.mark.parametrize("family", sorted({family_of(case.name) for case in CASES}))
def test_fairq_does_what_panda_did(family):
    cases = [case for case in CASES if family_of(case.name) == family]
    assert {case.kind for case in cases} == {PANDA}
    assert {case.name: differences for case in cases if (differences := run_panda(case))} == {}


def test_an_error_of_panda_s_is_no_free_pass():
    """Where PanDA raised an error, the stages before it and fairq's own answer are compared."""
    case = next(case for case in CASES if case.name == "prod/P06_basewalltime_null")
    output = copy.deepcopy(dict(case.record["output"]))
    output["stages"][-1][1] += 1
    assert run_panda(replace(case, record={**case.record, "output": output}))
    output = {**case.record["output"], "exception": "KeyError: 'x'"}
    assert run_panda(replace(case, record={**case.record, "output": output}))


def test_at_a_tie_only_the_tied_queues_may_differ():
    """PanDA takes some of several queues of equal weight at random; all others are compared one by one."""
    case = next(case for case in CASES if case.name == "prod/P17_connectivity_none")
    output = copy.deepcopy(dict(case.record["output"]))
    heaviest = output["candidates"][0]["queue"]
    output["verdicts"][heaviest][-1]["criteria"] = "-cap"
    assert run_panda(replace(case, record={**case.record, "output": output}))


def test_a_unified_queue_that_a_task_is_given_counts_beside_its_pseudo_queues():
    """PanDA's list then has U4 itself and its four pseudo queues, wherever among the queues it stands."""
    case = next(case for case in CASES if case.name == "prod/P12_unified_score_1500")
    given = {**case.record["input"], "task": {**case.record["input"]["task"], "site": "U4"}}
    assert stages_of(outcome_of(given))[:4] == [
        ["link check", 1],
        ["zero share check", 1],
        ["jumbo job check", 5],
        ["jumbo job check", 1],
    ]
    queues = {**given["queues"], "U8": {**given["queues"]["U8"], "cric": {"fairsharepolicy": "type=any:0%"}}}
    both = {**given, "queues": queues, "task": {**given["task"], "site": "U8,U4"}}
    assert stages_of(outcome_of(both))[:3] == [["link check", 2], ["zero share check", 1], ["jumbo job check", 5]]
