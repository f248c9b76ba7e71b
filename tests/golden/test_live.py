"""A real pool, taken over from its dumps: the next cycle is foretold."""

import json

import pytest
from tests.golden.archive import LIVE_ARCHIVE, names, unpack
from tests.golden.cases import LIVE, Case, cases_in
from tests.golden.live import run_live
from tests.golden.run import run_case


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("live"), LIVE_ARCHIVE)


@pytest.mark.parametrize("name", names(LIVE_ARCHIVE))
def test_the_next_cycle_of_a_real_pool_is_foretold(live, name):
    """Configuration, slots, jobs and condor_userprio -long give the matches and rejections that followed."""
    assert run_case(Case(name, LIVE, live / name)) == []


@pytest.mark.parametrize("name", ["fresh", "s2", "s6"])
def test_accounting_ads_of_the_collector_foretell_the_same(live, name):
    """The Accounting ads serve as well; in the other situations the accountant was edited after they were sent."""
    assert run_live(Case(name, LIVE, live / name), "acct.json") == []


def test_a_wrong_expectation_is_told(live, tmp_path):
    """Submitters of different priority are no tie, whoever gets their slots."""
    for file in (live / "s12").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    expected = json.loads((tmp_path / "expected.json").read_text())
    first = expected["matches"][0]
    assert first["submitter"] != "alice@example.org"
    first["submitter"] = "alice@example.org"
    (tmp_path / "expected.json").write_text(json.dumps(expected))

    (case,) = cases_in(tmp_path)
    assert case.kind == LIVE
    assert any(difference.startswith("matches of ") for difference in run_case(case))
