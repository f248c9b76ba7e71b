"""What the lint does not tell of a policy is as it seems."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker_rules import RULES

from fairq.engine.brokerage.criteria.shares import PolicyRequest, has_zero_share
from fairq.engine.brokerage.lint.policies import policy_findings
from fairq.engine.brokerage.pool.world import Queue

PARTS = st.sampled_from(
    ["type=evgen", "type=simul", "type=any", "type=evgensimul", "group=AP_Higgs", "group=any", "gshare=Express*",
     "gshare=any", "type=evgen:group=AP_*", "priority>400", " type=any", "TYPE=any", "typ=simul", "type=any:gshare=any"]
)  # fmt: skip
VALUES = st.sampled_from(["0%", "0", "100%", "50%", "00%", "0 %", ""])


@settings(max_examples=150)
@given(st.lists(st.tuples(PARTS, VALUES), min_size=1, max_size=4), st.sampled_from(list(RULES.values())))
def test_a_policy_that_says_who_is_welcome_alone_and_is_not_told_refuses_all_others(parts, rules):
    text = ",".join(f"{conditions}:{value}" for conditions, value in parts)
    stranger = PolicyRequest("others", "nobody", "nothing", 0)
    is_welcome_alone = any(value not in ("0", "0%") and "any" not in who for who, value in parts)
    is_welcome_alone &= not any(value not in ("0", "0%") and "any" in who for who, value in parts)
    if is_welcome_alone and not list(policy_findings(Queue("Q", fairsharepolicy=text), rules)):
        assert has_zero_share(text, stranger, rules)
