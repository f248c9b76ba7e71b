"""Which rules of DIRAC's scheme hold: by name, and point by point."""

import pytest

from fairq.engine.shares.rules import Rules
from fairq.settings import load
from fairq.settings.key import DIRAC
from fairq.settings.keys import KEYS
from fairq.settings.rule_points.dirac import CORRECTIONS_STARTED
from fairq.state.connection import writing
from fairq.steps.taskqueues.policy import POINTS, preset, read_groups, share_policy, share_rules

NAMES = [key.name for key in POINTS]
KEYS_OF_POINTS = {key.name: key for key in KEYS if key.section == "shares" and key.point}


def test_every_field_of_the_rules_is_a_rule_point_and_every_rule_point_a_field():
    assert set(Rules.__struct_fields__) == {"name", *NAMES}
    assert set(KEYS_OF_POINTS) == {*NAMES, CORRECTIONS_STARTED}


@pytest.mark.parametrize("key", KEYS_OF_POINTS.values(), ids=lambda key: key.name)
def test_every_rule_point_says_what_text_and_program_do(key):
    assert key.difference is not None and all(key.difference)
    assert key.default != key.real


@pytest.mark.parametrize("chosen", DIRAC.choices)
def test_the_rules_hold_that_are_named_here_or_in_the_settings(chosen, tmp_path):
    file = tmp_path / "fairq.toml"
    file.write_text(f'[shares]\nrules = "{chosen}"\n')
    settings = load(file, None, {})
    assert share_rules(settings) == preset(chosen)
    for other in DIRAC.choices:
        assert share_rules(settings, other) == preset(other)


@pytest.mark.parametrize("point", NAMES)
def test_every_rule_point_can_be_switched_alone(point, tmp_path):
    """Under the one set of rules the value of the other, given by itself, wins; nothing else changes."""
    from fairq.settings.values import to_text

    key = KEYS_OF_POINTS[point]
    for rules, value in (("documented", key.real), ("dirac", key.default)):
        variables = {"FAIRQ_SHARES_RULES": rules, key.variable: to_text(key, value)}
        settings = load(None, tmp_path / "s.db", variables)
        assert share_rules(settings) == preset(rules, **{point: value})
        for other in DIRAC.choices:
            assert share_rules(settings, other) == preset(other, **{point: value})


@pytest.mark.parametrize("spelling", ["JobSharing", "JOB_SHARING"])
def test_what_the_settings_say_of_job_sharing_wins_over_the_import(spelling, tmp_path):
    file = tmp_path / "fairq.toml"
    file.write_text("[shares.groups.a]\njob_sharing = false\n[shares.groups.b]\njob_sharing = true\n")
    imported = {"a": {"Properties": f"X, {spelling}"}, "b": {}}
    for rules in DIRAC.choices:
        groups = read_groups(load(file, None, {}), imported, preset(rules))
        assert (groups["a"].job_sharing, groups["b"].job_sharing) == (False, True)


def test_a_preview_under_other_rules_corrects_only_where_those_do(tmp_path):
    """Under DIRAC's rules nothing is corrected unless EnableSharesCorrection is set."""
    file = tmp_path / "fairq.toml"
    file.write_text("[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n")
    with writing(tmp_path / "s.db") as state:
        for chosen, corrected in (("documented", True), ("dirac", False)):
            assert bool(share_policy(load(file, None, {}), state, chosen).corrections) is corrected
