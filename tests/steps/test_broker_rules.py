"""Which rules of the brokerage hold: by name, and point by point."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest

from fairq.engine.brokerage.rules import RULES, Rules
from fairq.settings import load
from fairq.settings.keys import KEYS
from fairq.steps.broker_rules import POINTS, rules_in_force


def test_every_point_has_a_setting_with_the_defaults_of_the_rules() -> None:
    keys = {key.name: key for key in KEYS if key.section == "broker" and key.point}
    assert set(keys) == set(POINTS) == {field.name for field in fields(Rules)} - {"name"}
    for name, rules in RULES.items():
        assert {point: key.default_under(name) for point, key in keys.items()} == {
            point: asdict(rules)[point] for point in POINTS
        }


@pytest.mark.parametrize("chosen", ["documented", "panda"])
def test_the_rules_hold_that_are_named_here_or_in_the_settings(chosen: str, tmp_path: Path) -> None:
    file = tmp_path / "fairq.toml"
    file.write_text(f'[broker]\nrules = "{chosen}"\n')
    settings = load(file, None, {})
    assert rules_in_force(settings) == RULES[chosen]
    for other in RULES:
        assert rules_in_force(settings, other) == RULES[other]


def test_a_point_that_is_set_wins_over_both(tmp_path: Path) -> None:
    file = tmp_path / "fairq.toml"
    file.write_text('[broker]\nrules = "panda"\nholding_from_800 = true\nthroughput = "freshest"\n')
    settings = load(file, None, {})
    for chosen in (None, "documented", "panda"):
        rules = rules_in_force(settings, chosen)
        assert (rules.holding_from_800, rules.throughput) == (True, "freshest")
        assert rules.name == (chosen or "panda")
