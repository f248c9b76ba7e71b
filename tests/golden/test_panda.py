"""What PanDA's broker and cleaner did, entry by entry, under the rules ``panda``."""

from __future__ import annotations

import pytest
from tests.golden.cases import PANDA, Case, cases_in
from tests.golden.panda import DATA, FAMILIES, family_of, run_panda

CASES = [case for case in cases_in(DATA) if family_of(case.name) in FAMILIES]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_fairq_does_what_panda_did(case: Case) -> None:
    assert case.kind == PANDA
    assert run_panda(case) == []
