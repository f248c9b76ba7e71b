"""The views of groups after a cycle are those that condor_userprio printed of the real negotiator's pools."""

from __future__ import annotations

import json
import time
from fnmatch import fnmatch
from typing import Any, NamedTuple

import pytest
from tests.golden.archive import names, unpack
from tests.golden.command_line import scratch

GROUPED = (
    "group_*", "nested_*", "manual_nested_dynamic", "starvation_*", "nice_user*", "slot_weight_group", "rnd_group_*0",
    "rnd_group_1_021",
)  # fmt: skip

VIEWS = {
    "allusers": ["userprio", "-allusers"],
    "all": ["userprio", "-all", "-allusers"],
    "hier": ["userprio", "-hierarchical", "-allusers"],
    "quotas_allusers": ["userprio", "-quotas", "-allusers"],
}

LEAKED = "nested_leaf_surplus"
"""The real tool counts for lea, whose ad says nothing of it, the use of the user before her (reference 2.7, 8)."""

NOBODY_IN_A_GROUP = "rnd_group_1_021"
"""One flat table of groups equal in priority, so in the order of a hash table there; ``<none>`` shows if it is
not the first of them."""


class Shown(NamedTuple):
    """What a case's pool shows after its cycle, by view, and as ads; and what was recorded."""

    texts: dict[str, str]
    quotas: str
    ads: dict[str, dict[str, Any]]
    records: dict[str, dict[str, Any]]
    expected: dict[str, Any]


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    """Every case of groups: imported, one cycle held, and looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")  # tables show local time
        time.tzset()
        golden = unpack(tmp_path_factory.mktemp("golden"))
        yield {name: shown(golden / name) for name in names() if any(fnmatch(name, known) for known in GROUPED)}
    time.tzset()


def shown(case):
    expected = json.loads((case / "expected.json").read_text())
    now = expected["now"]
    with scratch() as fairq:
        fairq.run("config", "import", case / "pool.conf")
        inputs = [word for name in ("slots", "jobs", "accounting") for word in (f"--{name}", case / f"{name}.json")]
        fairq.run("import", *inputs, "--now", now)
        fairq.run("negotiate", "--now", now)
        texts = {view: fairq.run(*words, "--now", now) for view, words in VIEWS.items()}
        ads = {ad["Name"]: ad for ad in fairq.json("userprio", "-all", "-allusers") if ad["IsAccountingGroup"]}
        records = {record["group"]: record for record in fairq.json("quotas")}
        return Shown(texts, fairq.run("quotas"), ads, records, expected)


def policies(pool):
    return {ad["SurplusPolicy"] for name, ad in pool.expected["groups_after"].items() if name != "<none>"} - {"no"}


@pytest.mark.parametrize("view", VIEWS)
def test_userprio_prints_the_text_of_condor_userprio(pools, view):
    """Quotas, policies, order and use of the groups, from the cycle to the last blank of the table."""
    compared = 0
    for name, pool in pools.items():
        wanted = pool.expected["userprio_text"][view]
        got = pool.texts[view]
        if len(policies(pool)) > 1:
            # The tool takes the policy of whichever ad comes last for that of the pool, and by it puts <none>
            # first or last; the ads come in the order of a hash table.
            assert by_lines(got) == by_lines(wanted), name
        elif name == NOBODY_IN_A_GROUP and view != "quotas_allusers":
            others = [line for line in wanted.splitlines() if not line.startswith("<none>")]
            assert sorted(got.splitlines()) == sorted(others)
        elif name == LEAKED and view != "quotas_allusers":
            lea = next(line for line in got.splitlines() if line.startswith("  lea@test"))
            assert got.replace(lea, lea.replace("-0.00", "     ")) == wanted.replace(" 43 ", " 23 ")
        else:
            assert got == wanted, name
            compared += 1
    assert compared > 15


def by_lines(text):
    return sorted(line.replace("ByQuota", "").replace("Regroup", "").rstrip() for line in text.splitlines())


def test_quotas_prints_the_table_of_all_groups(pools):
    """In a pipe it is condor_userprio -quotas -allusers."""
    for name, pool in pools.items():
        assert pool.quotas == pool.texts["quotas_allusers"], name


@pytest.mark.parametrize(
    "attribute",
    [
        "AccountingGroup", "ConfigQuota", "EffectiveQuota", "SubtreeQuota", "GroupSortKey", "SurplusPolicy",
        "Requested", "ResourcesUsed", "WeightedResourcesUsed", "HierWeightedResourcesUsed", "Priority",
        "PriorityFactor", "IsAccountingGroup",
    ],
)  # fmt: skip
def test_every_groups_ad_has_the_recorded_figures(pools, attribute):
    for name, pool in pools.items():
        groups = pool.expected["groups_after"]
        assert pool.ads.keys() == groups.keys(), name
        for group, ad in groups.items():
            if attribute in ad:
                assert pool.ads[group][attribute] == pytest.approx(ad[attribute]), (name, group)


@pytest.mark.parametrize(
    ("attribute", "member"),
    [
        ("ConfigQuota", "configured"), ("SubtreeQuota", "quota"), ("EffectiveQuota", "own"),
        ("GroupSortKey", "sort_key"), ("SurplusPolicy", "surplus_policy"), ("Requested", "requested"),
        ("HierWeightedResourcesUsed", "in_use"), ("WeightedResourcesUsed", "own_in_use"),
        ("Priority", "effective_priority"),
    ],
)  # fmt: skip
def test_quotas_has_the_recorded_figures_of_every_group(pools, attribute, member):
    """The quota of ``<none>`` is that of its own users; the ad has the whole pool there."""
    for name, pool in pools.items():
        groups = pool.expected["groups_after"]
        assert pool.records.keys() == groups.keys(), name
        for group, ad in groups.items():
            if attribute in ad and not (group == "<none>" and member == "quota"):
                assert pool.records[group][member] == pytest.approx(ad[attribute]), (name, group)
