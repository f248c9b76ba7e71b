"""What DIRAC's own classes and database did, entry by entry, under the rules ``dirac``."""

import copy
from dataclasses import replace

import pytest
from tests.golden.cases import DIRAC, cases_in
from tests.golden.dirac import DATA, RUNNERS, run_dirac

CASES = list(cases_in(DATA))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_fairq_does_what_dirac_did(case):
    assert case.kind == DIRAC
    assert run_dirac(case) == []


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_wrong_expectation_is_told(kind):
    """Of every kind: one number or name that is not what DIRAC gave fails the case, and so does an error."""
    case = next(case for case in CASES if case.record["kind"] == kind and "exception" not in case.record["output"])
    wrong = copy.deepcopy(dict(case.record["output"]))
    assert _spoil(wrong)
    assert run_dirac(replace(case, record={**case.record, "output": wrong}))
    assert run_dirac(replace(case, record={**case.record, "output": {"exception": "SomeError"}}))


def _spoil(value):
    """Change the last number, or else the last word, in nested lists and dictionaries."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    for place in reversed(places):
        inner = value[place]
        if isinstance(inner, dict | list):
            if _spoil(inner):
                return True
        elif isinstance(inner, int | float):
            value[place] = 3 * inner + 1000
            return True
        elif isinstance(inner, str):
            value[place] = inner + "x"
            return True
    return False


@pytest.mark.parametrize("name", ["tq_blank_values", "corr_zero_weights", "match_required_not_offered"])
def test_a_refusal_must_be_the_right_one(name):
    """Where DIRAC ends with an error, fairq must refuse for the same reason; another reason fails the case."""
    case = next(case for case in CASES if case.name == name)
    assert run_dirac(case) == []
    for error in ("ZeroDivisionError", "MySQL Error", "Wrong conditions", "SomeError"):
        if error not in str(case.record["output"]):
            assert run_dirac(replace(case, record={**case.record, "output": {"exception": error}}))
