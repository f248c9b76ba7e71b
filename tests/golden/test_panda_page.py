"""Where the page's timeouts differ from what PanDA's cleaner was recorded to do: at these jobs, and at no others."""

import pytest
from tests.broker_rules import DOCUMENTED
from tests.golden.cases import cases_in
from tests.golden.panda import DATA
from tests.golden.panda_timeouts import run_timeouts

CASES = {case.name: case.record for case in cases_in(DATA)}

DIFFERENT = {
    "timeouts": {
        # paused queues and disableReassign are exempt from everything
        "defined_4.1h_noreassign", "defined_4.1h_paused", "assigned_12.1h_noreassign", "activated_48.1h_PAUSED",
        "starting_48.1h_PAUSED",
        # transferring jobs are watched that have a jobSubStatus, not those of users
        "transferring_heartbeat_2.1h_substatus", "transferring_heartbeat_2.1h_user",
        # priority 800 has the short limit
        "holding_3.1h_prio800",
        # rules name states and priorities, not labels, merges, flags and states of queues
        "defined_4.1h_user", "activated_48.1h_relocation2", "activated_4.1h_prio800_INACTIVE_pmerge",
        "activated_4.1h_prio800_OFFQ", "activated_4.1h_prio800_TESTQ",
        # ages count from when the job entered its state, and heartbeats are of running and starting jobs
        "holding_2.9h_prio800", "holding_2.9h_prio801", "holding_47.9h_prio500",
        "stagein_heartbeat_2.1h", "stageout_heartbeat_2.1h",
        # rows that the page does not have
        "activated_created_7.1d", "defined_table_7.1d", "es_running_24.1h_prio900", "holding_3.1h_user",
        "user_active_7.1d",
    },
    "timeouts_configured": set(),
    "user_rebrokerage": {"user_activated_12.1h_PAUSED"},
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_page_differs_from_the_code_where_it_says_something_else(name):
    found = run_timeouts(name, CASES[name]["input"], CASES[name]["output"], DOCUMENTED)
    assert {line.partition(":")[0] for line in found} == DIFFERENT[name]
