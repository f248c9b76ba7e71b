"""The settings of groups reach the engine as they are meant."""

import pytest

from fairq.errors.base import SettingValueError
from fairq.settings import load
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.cycle.quota_policy import quota_policy

GROUPS = """
[groups.physics]
quota = 20
[groups."physics.hep"]
quota_dynamic = 0.75
accept_surplus = true
[groups.chemistry]
quota = 10
autoregroup = false
"""


@pytest.fixture
def given(tmp_path):
    return Given(tmp_path / "fairq.toml")


class Given:
    """Writes a settings file and reads it."""

    def __init__(self, path):
        self._path = path

    def __call__(self, negotiator="", groups=GROUPS):
        self._path.write_text(f"[negotiator]\n{negotiator}\n{groups}")
        return load(self._path, None, {})


def policy(settings):
    """The rules of quotas, which must be there."""
    found = quota_policy(settings)
    assert found is not None
    return found


def test_without_groups_there_are_no_quotas(given):
    """The cycle then deals one pie to everybody."""
    assert quota_policy(given(groups="")) is None


def test_groups_say_what_differs_from_all_groups(given):
    """A group's own accept_surplus and autoregroup win over those for all."""
    found = policy(given("group_accept_surplus = false\ngroup_autoregroup = true"))

    assert {g.name: (g.quota, g.quota_dynamic, g.accept_surplus, g.autoregroup) for g in found.groups} == {
        "chemistry": (10, None, False, False),
        "physics": (20, None, False, True),
        "physics.hep": (None, 0.75, True, True),
    }


@pytest.mark.parametrize(("rules", "regroups"), [("documented", False), ("htcondor", True)])
def test_today_the_default_of_autoregroup_counts_even_where_every_group_overrides_it(given, rules, regroups):
    """GROUP_AUTOREGROUP = True gives <none> the whole pool in the real negotiator."""
    found = policy(given(f'rules = "{rules}"\ngroup_autoregroup = true'))

    assert found.autoregroup is regroups


def test_the_rules_decide_the_points(given):
    """What the manuals promise, or what today's negotiator does."""
    documented, htcondor = policy(given()), policy(given('rules = "htcondor"'))

    for found, is_htcondor in ((documented, False), (htcondor, True)):
        assert found.oversubscription is is_htcondor
        assert found.integer_limits is is_htcondor
        assert found.demand.truncated is is_htcondor
        assert found.live_caps is not is_htcondor
        assert found.regroup_keeps_quota is not is_htcondor
        assert found.remainders_as_computed is is_htcondor


def test_every_setting_of_quotas_is_followed(given):
    """Rounds, rate, strictness, demand, model."""
    found = policy(
        given(
            "group_quota_max_allocation_rounds = 7\ngroup_quota_round_robin_rate = 4\n"
            "negotiator_strict_enforce_quota = false\nnegotiator_use_weighted_demand = false\n"
            'quota_model = "flat"\n'
            "negotiator_allow_quota_oversubscription = true\ngroup_accept_surplus = true"
        )
    )

    assert (found.max_rounds, found.round_robin_rate, found.strict, found.model) == (7, 4.0, False, "flat")
    assert (found.demand.weighted, found.oversubscription, found.accept_surplus) == (False, True, True)


def test_in_the_flat_model_the_first_dot_parts_group_and_user(given):
    """No subgroup is charged for what `physics.hep.u` uses, but physics."""
    assert accounting_policy(given()).group_names == ("chemistry", "physics", "physics.hep")
    assert accounting_policy(given('quota_model = "flat"')).group_names == ("chemistry", "physics")


def test_an_order_that_is_no_expression_is_refused(given):
    """The error names the setting."""
    with pytest.raises(SettingValueError, match="group_sort_expr"):
        quota_policy(given('group_sort_expr = "1 +"'))


@pytest.mark.parametrize(
    ("schedd", "cap"),
    [
        ("", None),
        ("schedd_enable_per_user_match_limits = true", 20),
        ("schedd_enable_per_user_match_limits = true\nmax_concurrent_uploads = 50", 10),
        ("schedd_enable_per_user_match_limits = true\nmax_concurrent_uploads_per_user = 3", 3),
        ("schedd_enable_per_user_match_limits = true\nmax_concurrent_uploads_per_user = 0", None),
        ("max_concurrent_uploads_per_user = 3", None),
    ],
)
def test_how_many_jobs_a_schedd_offers_in_a_turn(given, schedd, cap):
    """A fifth of max_concurrent_uploads, or what is set; 0 is no cap; off unless enabled."""
    assert negotiation_policy(given(groups=f"[schedd]\n{schedd}")).jobs_per_turn == cap
