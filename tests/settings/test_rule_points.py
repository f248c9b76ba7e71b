"""A rule point is declared once, in the table of its scheme; everything else is made from there."""

import ast
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from msgspec import NODEFAULT

import fairq
from fairq.engine.accounting.factors import AccountingPolicy
from fairq.engine.brokerage.pool.rules import Rules as BrokerRules
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.shares import history_corrector
from fairq.engine.shares.groups import DEFAULT_SHARE
from fairq.engine.shares.rules import Rules as ShareRules
from fairq.settings.keys import KEYS
from fairq.settings.rule_points import dirac, htcondor, panda
from fairq.settings.share_keys import CORRECTIONS, SHARE_GROUP_KEYS

SOURCE = Path(fairq.__file__).parent
TABLES = SOURCE / "settings" / "rule_points"
POINTS = {
    key.name: key
    for key in (
        *htcondor.ACCOUNTING_POINTS,
        *htcondor.NEGOTIATOR_POINTS,
        *htcondor.SCHEDD_POINTS,
        *dirac.SHARE_POINTS,
        *panda.POINTS,
    )
}
POLICIES = (AccountingPolicy, NegotiationPolicy, QuotaPolicy, ShareRules, BrokerRules)


def test_all_rule_points_of_the_settings_are_those_of_the_tables():
    points = [key for key in KEYS if key.point]
    assert {key.name for key in points} == set(POINTS)
    assert len(points) == len(POINTS)


def test_a_rule_point_is_made_in_a_table_only():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "rule_point":
                assert path.is_relative_to(TABLES), f"{path}:{node.lineno} declares a rule point"


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.__module__}.{policy.__name__}")
def test_the_engine_has_no_default_of_a_rule_point_and_knows_its_choices(policy):
    hints = get_type_hints(policy, localns={"Expression": object})
    names, defaults = policy.__struct_fields__, policy.__struct_defaults__
    for name, default in zip(names, [NODEFAULT] * (len(names) - len(defaults)) + list(defaults), strict=True):
        key = POINTS.get(name)
        if key is not None:
            assert default is NODEFAULT, name
        if key is not None and key.choices:
            assert set(key.choices) <= set(get_args(hints[name])), name


def test_defaults_of_dirac_s_own_options_are_those_that_the_engine_reads_by():
    """The engine reads them out of dumps as well, where no settings are."""
    defaults = {key.name.rpartition(".")[2]: key.default for key in KEYS if key.section == CORRECTIONS}
    assert defaults["MaxGlobalCorrection"] == history_corrector.DEFAULT_BOUND
    assert defaults["UpdateHistoryPeriod"] == history_corrector.DEFAULT_PERIOD
    assert (defaults["Weight"], defaults["MaxCorrection"]) == (
        history_corrector.DEFAULT_WEIGHT,
        history_corrector.DEFAULT_MAXIMUM,
    )
    assert SHARE_GROUP_KEYS["job_share"].default == DEFAULT_SHARE
