"""Every rule point of PanDA's scheme matters: switched alone to what the page says, some recorded case comes out other.

The points that the recorded cases do not reach are those of `SENTENCES`: tests/documents has a sentence for each.
"""

from __future__ import annotations

from types import ModuleType

import pytest
from tests.golden import panda_analysis, panda_estimates, panda_production, panda_software
from tests.golden.panda import run_panda
from tests.golden.test_panda import CASES

from fairq.settings.rule_points.panda import POINTS
from fairq.steps.broker.flows import preset

MODULES: tuple[ModuleType, ...] = (panda_analysis, panda_estimates, panda_production, panda_software)
"""The runners that read the rules when they run."""

SENTENCES = {
    "disk_io_per_core",
    "every_queue",
    "merges_freed_by_skips",
    "site_lists",
    "nucleus_cap_spares_nucleus",
    "inactive_with_starting",
    "unnamed_have_no_share",
    "evgensimul",
    "tests_have_shares",
    "pilots_always",
    "space",
    "space_must_exceed",
    "platform_in_container",
    "move_limits",
    "tape_second",
    "io_check_lapses",
    "retry_by_activity",
    "locks",
    "local_data_only",
    "one_queue_at_nucleus",
    "retry_by_priority",
    "quota_near",
    "task_cloud",
    "local_quota",
    "stated_walltime",
    "used_queues_first",
    "lost_site_is_fatal",
    "fast_rebrokerage_all",
    "fast_rebrokerage_total",
    "network_age",
    "network_tolerance",
    "pauses_stop_timeouts",
    "holding_from_800",
    "transferring_heartbeat_of_all",
    "transfer_days_of_queue",
    "timeouts_of_state",
    "timeouts_of_all",
    "extra_timeouts",
}
"""Points of which no recorded case tells the two values apart."""


def is_told_apart(key, monkeypatch):
    """Say whether any recorded case comes out other with the page's value of the point."""
    rules = preset("panda", **{key.name: key.default})
    for module in MODULES:
        monkeypatch.setattr(module, "PANDA", rules)
    return any(run_panda(case) for case in CASES)


@pytest.mark.parametrize("key", [key for key in POINTS if key.name not in SENTENCES], ids=lambda key: key.name)
def test_a_point_switched_alone_changes_a_recorded_decision(key, monkeypatch):
    assert is_told_apart(key, monkeypatch)
