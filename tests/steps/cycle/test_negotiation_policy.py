"""The settings reach the cycle."""

import pytest
from tests.steps.cycle.test_negotiate import settings

from fairq.errors.base import SettingValueError
from fairq.steps.cycle.negotiation_policy import negotiation_policy


def test_time_budgets_have_the_defaults_of_htcondor():
    """20 minutes for a cycle, 2 for a schedd and a spin, 1 for a submitter."""
    budgets = negotiation_policy(settings()).budgets

    assert budgets is not None
    assert (budgets.cycle, budgets.schedd, budgets.spin, budgets.submitter) == (1200, 120, 120, 60)


@pytest.mark.parametrize(
    ("variables", "skip_by"),
    [
        ({}, "cluster"),
        ({"FAIRQ_NEGOTIATOR_RULES": "htcondor"}, "autocluster"),
        ({"FAIRQ_NEGOTIATOR_SKIP_BY": "autocluster"}, "autocluster"),
        ({"FAIRQ_SCHEDD_NEGOTIATE_ALL_JOBS_IN_CLUSTER": "true"}, "nothing"),
        (
            {"FAIRQ_SCHEDD_NEGOTIATE_ALL_JOBS_IN_CLUSTER": "true", "FAIRQ_NEGOTIATOR_SKIP_BY": "cluster"},
            "nothing",
        ),
    ],
)
def test_what_is_passed_over(variables, skip_by):
    """negotiate_all_jobs_in_cluster passes over nothing, whatever skip_by says."""
    assert negotiation_policy(settings(**variables)).skip_by == skip_by


def test_a_schedd_that_negotiates_for_all_jobs_asks_for_each():
    """negotiate_all_jobs_in_cluster: a match names its own job, not the first of those alike."""
    assert negotiation_policy(settings()).request_counts
    assert not negotiation_policy(settings(FAIRQ_SCHEDD_NEGOTIATE_ALL_JOBS_IN_CLUSTER="true")).request_counts


def test_global_job_priorities_are_counted_only_if_they_are_used():
    """max_global_job_prios alone does nothing."""
    assert negotiation_policy(settings(FAIRQ_SCHEDD_MAX_GLOBAL_JOB_PRIOS="7")).global_job_prios is None
    on = settings(FAIRQ_SCHEDD_MAX_GLOBAL_JOB_PRIOS="7", FAIRQ_NEGOTIATOR_USE_GLOBAL_JOB_PRIOS="true")
    assert negotiation_policy(on).global_job_prios == 7


def test_significant_attributes_ignore_case():
    """Names and the pattern are compared without regard to case."""
    significant = negotiation_policy(settings(FAIRQ_SCHEDD_REMOVE_SIGNIFICANT_ATTRIBUTES="DiskUsage")).significant

    assert significant.of(frozenset({"diskusage", "slot12_state", "requestcpus"})) == {"requestcpus"}


def test_a_pattern_that_is_none_is_told():
    """A broken regular expression is refused with its name."""
    with pytest.raises(SettingValueError, match="remove_significant_attributes_regex"):
        negotiation_policy(settings(FAIRQ_SCHEDD_REMOVE_SIGNIFICANT_ATTRIBUTES_REGEX="(["))


@pytest.mark.parametrize("key", ["SLOT", "SUBMITTER", "JOB"])
def test_a_constraint_that_is_no_expression_is_told(key):
    """A broken constraint is refused with its name."""
    with pytest.raises(SettingValueError, match=f"negotiator_{key.lower()}_constraint"):
        negotiation_policy(settings(**{f"FAIRQ_NEGOTIATOR_NEGOTIATOR_{key}_CONSTRAINT": "x =="}))


@pytest.mark.parametrize(
    ("variables", "tie_break"),
    [
        ({}, "slot_name"),
        ({"FAIRQ_NEGOTIATOR_NEGOTIATOR_MATCHLIST_CACHING": "false"}, "slot_name"),
        ({"FAIRQ_NEGOTIATOR_RULES": "htcondor"}, "std_sort"),
        (
            {"FAIRQ_NEGOTIATOR_RULES": "htcondor", "FAIRQ_NEGOTIATOR_NEGOTIATOR_MATCHLIST_CACHING": "false"},
            "listed",
        ),
    ],
)
def test_without_a_list_nothing_is_sorted(variables, tie_break):
    """Without match list caching today's negotiator takes the first of equal slots as listed."""
    assert negotiation_policy(settings(**variables)).tie_break == tie_break
