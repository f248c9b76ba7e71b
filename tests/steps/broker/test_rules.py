"""Which rules of the brokerage hold: by name, and point by point."""

from typing import get_args, get_type_hints

import pytest
from msgspec.structs import asdict

from fairq.engine.brokerage.pool.rules import Rules
from fairq.settings import load
from fairq.settings.keys import KEYS
from fairq.settings.rule_points.panda import POINTS
from fairq.steps.broker.flows import preset, rules_in_force

PRESETS = {name: preset(name) for name in ("documented", "panda")}


def test_the_table_of_points_and_the_fields_of_the_rules_are_the_same():
    names = [key.name for key in POINTS]
    assert len(names) == len(set(names))
    assert set(names) == set(Rules.__struct_fields__) - {"name"}
    assert set(POINTS) == {key for key in KEYS if key.section == "broker" and key.point}


@pytest.mark.parametrize("key", POINTS, ids=lambda key: key.name)
def test_a_point_has_two_values_of_its_field_s_type_and_says_why(key):
    kind = get_type_hints(Rules)[key.name]
    allowed = get_args(kind)
    for value in (key.default, key.real):
        assert value in allowed if allowed else type(value) is kind
    assert key.default != key.real
    assert key.difference is not None
    assert all(key.difference)


@pytest.mark.parametrize("chosen", PRESETS)
def test_the_rules_hold_that_are_named_here_or_in_the_settings(chosen, tmp_path):
    file = tmp_path / "fairq.toml"
    file.write_text(f'[broker]\nrules = "{chosen}"\n')
    settings = load(file, None, {})
    assert rules_in_force(settings) == PRESETS[chosen]
    for other, rules in PRESETS.items():
        assert rules_in_force(settings, other) == rules


@pytest.mark.parametrize("key", POINTS, ids=lambda key: key.name)
def test_every_point_can_be_switched_alone(key, tmp_path):
    """A point that the settings name wins, whichever rules hold; all others stay."""
    for chosen, value in (("documented", key.real), ("panda", key.default)):
        said = str(value).lower() if isinstance(value, bool) else repr(value)
        file = tmp_path / "fairq.toml"
        file.write_text(f'[broker]\nrules = "{chosen}"\n{key.name} = {said}\n')
        settings = load(file, None, {})
        assert asdict(rules_in_force(settings)) == asdict(PRESETS[chosen]) | {key.name: value}
        other = "panda" if chosen == "documented" else "documented"
        assert asdict(rules_in_force(settings, other)) == asdict(PRESETS[other]) | {key.name: value}
