"""The engine's policies as the settings make them, changed where a test wants it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fairq.engine.accounting.factors import AccountingPolicy
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.settings import GroupSettings, Settings, load
from fairq.settings.key import DOCUMENTED, HTCONDOR
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.cycle.quota_policy import quota_policy


def _settings(rules: str) -> Settings:
    settings = load(None, None, {"FAIRQ_NEGOTIATOR_RULES": rules})
    settings.groups = {"g": GroupSettings("g")}
    return settings


_RULES = {rules: _settings(rules) for rules in HTCONDOR.choices}
_NEGOTIATION = {rules: negotiation_policy(settings) for rules, settings in _RULES.items()}
_QUOTAS = {rules: quota_policy(settings) for rules, settings in _RULES.items()}
_ACCOUNTING = replace(accounting_policy(_RULES[DOCUMENTED]), group_names=(), group_prio_factors={})


def accounting(**changes: Any) -> AccountingPolicy:
    """The documented rules of accounting, without groups."""
    return replace(_ACCOUNTING, **changes)


def negotiation(rules: str = DOCUMENTED, **changes: Any) -> NegotiationPolicy:
    """The rules of a cycle, without groups and time budgets."""
    return replace(_NEGOTIATION[rules], **{"quotas": None, "budgets": None, **changes})


def quotas(rules: str = DOCUMENTED, **changes: Any) -> QuotaPolicy:
    """The rules of quotas."""
    policy = _QUOTAS[rules]
    assert policy is not None
    return replace(policy, **changes)
