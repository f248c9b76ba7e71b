"""What the check of the benchmarks calls worse."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import check

    yield check
    for name in ("check", "pools", "measure"):
        sys.modules.pop(name, None)


def test_a_ratio_fails_from_three_tenths_more_on_and_a_new_one_never(check):
    table = {"import": 10.0, "negotiate": 10.0, "gone": 1.0}
    assert check.worse({"import": 12.9, "negotiate": 13.0, "new": 99.0}, table) == ["negotiate"]


def test_a_failure_counts_only_if_a_second_measurement_confirms_it(check, monkeypatch, capsys):
    table = json.loads(check.TABLE.read_text())
    name = next(iter(table))
    slow = {**table, name: table[name] * 2}
    for second, code in ((table, 0), (slow, 1)):
        measurements = iter([slow, second])
        monkeypatch.setattr(check, "measured", lambda found=measurements: next(found))
        assert check.check() == code
        assert ("WORSE" in capsys.readouterr().out) is bool(code)


def test_the_table_has_every_measure(check):
    negotiated = [f"negotiate {pool} {rules} : unit" for pool in check.POOLS for rules in check.RULES]
    assert {"--help : unit", *negotiated} <= json.loads(check.TABLE.read_text()).keys()
