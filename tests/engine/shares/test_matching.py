"""What a pilot says of itself, and which task queues it is offered."""

import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED, registry

from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.match import Matcher
from fairq.engine.shares.pilot import Credentials, apply_credentials, apply_site, match_conditions
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.errors.shares import DiracStopsError, PilotDescriptionError
from fairq.steps.taskqueues.why import terms_words

GROUPS = registry(OwnerGroup("u", vo="vo"), OwnerGroup("p", job_sharing=True, vo="vo"), OwnerGroup("x", vo="other"))


def offered(queue, conditions, rules=DOCUMENTED, negative=None):
    matcher = Matcher({"CPUTime": 1000, **conditions}, GROUPS, rules, negative)
    refusals = [refusal.key for refusal in matcher.refusals(queue)]
    assert matcher.matching(RequirementTable.of([queue])) == ([] if refusals else [0])
    return refusals or "offered"


def test_every_reason_is_named_with_what_is_asked_for_and_what_there_is():
    queue = Requirements("ann", "u", 3600, sites=("A",), tags=("GPU",), min_ram=4000)
    pilot = {"CPUTime": 1000, "Site": "B", "MaxRAM": 2000}
    refusals = Matcher(pilot, GROUPS, DOCUMENTED).refusals(queue)
    assert [(refusal.key, terms_words(refusal.wanted), terms_words(refusal.offered)) for refusal in refusals] == [
        ("CPUTime", "3600", "1000"),
        ("Site", "A", "B"),
        ("Tag", "GPU", "none"),
        ("MaxRAM", "4000", "2000"),
    ]


def test_sites():
    assert offered(Requirements("ann", "u", 360), {"Site": "A"}) == "offered"
    assert offered(Requirements("ann", "u", 360, sites=("A", "B")), {"Site": "A"}) == "offered"
    assert offered(Requirements("ann", "u", 360, sites=("B",)), {"Site": "A"}) == ["Site"]
    assert offered(Requirements("ann", "u", 360, banned_sites=("A",)), {"Site": "A"}) == ["BannedSites"]
    for anywhere in ("any", "'ANY'", ["B", "Any"], "", []):
        assert (
            offered(Requirements("ann", "u", 360, sites=("C",), banned_sites=("A",)), {"Site": anywhere}) == "offered"
        )


def test_tags():
    """A queue's tags must all be offered; who says nothing of tags takes queues without them."""
    plain, gpu = Requirements("ann", "u", 360), Requirements("ann", "u", 360, tags=("GPU",))
    assert offered(gpu, {}) == ["Tag"]
    assert offered(gpu, {"Tag": ["GPU", "X"]}) == "offered"
    assert offered(gpu, {"Tag": "any"}) == "offered"
    assert offered(plain, {"Tag": ["GPU"]}) == "offered"
    assert offered(plain, {"Tag": ["GPU"], "RequiredTag": "GPU"}) == ["RequiredTag"]
    assert offered(gpu, {"Tag": ["GPU"], "RequiredTag": ["GPU"]}) == "offered"
    with pytest.raises(PilotDescriptionError, match="X is required, but not offered"):
        offered(gpu, {"Tag": ["GPU"], "RequiredTag": ["X"]})


def test_what_a_pilot_bans():
    """A queue is left out that lists all of it."""
    queue = Requirements("ann", "u", 360, sites=("A", "B"))
    assert offered(queue, {"BannedSite": "A"}) == ["BannedSite"]
    assert offered(queue, {"BannedSite": ["A", "C"]}) == "offered"
    assert offered(queue, {"BannedSite": "any"}) == "offered"


def test_owners_count_in_groups_without_job_sharing():
    pilot = {"Owner": "bob", "OwnerGroup": ["u", "p"]}
    assert offered(Requirements("bob", "u", 360), pilot) == "offered"
    assert offered(Requirements("ann", "u", 360), pilot) == ["Owner"]
    assert offered(Requirements("ann", "p", 360), pilot) == "offered"
    assert offered(Requirements("ann", "x", 360), pilot) == ["Owner"]


def test_with_several_groups_dirac_forgets_all_else_for_the_first():
    """CPU time included."""
    pilot = {"Owner": "bob", "OwnerGroup": ["u", "p"]}
    long = Requirements("bob", "u", 10**6, sites=("Z",))
    assert offered(long, pilot, DOCUMENTED) == ["CPUTime"]
    assert offered(long, pilot, DIRAC) == "offered"
    assert offered(long._replace(group="p"), pilot, DIRAC) == ["CPUTime"]


def test_no_owner_is_needed_where_every_group_shares_its_jobs():
    queue = Requirements("ann", "p", 360)
    for rules in (DOCUMENTED, DIRAC):
        assert offered(queue, {"Owner": [], "OwnerGroup": ["p"]}, rules) == "offered"
        for groups in (["u"], ["p", "u"], []):
            with pytest.raises(PilotDescriptionError, match="the list is empty"):
                offered(queue, {"Owner": [], "OwnerGroup": groups}, rules)


def test_of_several_cpu_times_the_longest_counts_and_ram_is_one_number():
    queue = Requirements("ann", "u", 360, min_ram=2000)
    for rules in (DOCUMENTED, DIRAC):
        assert offered(queue, {"CPUTime": [1, 360], "MaxRAM": [2000]}, rules) == "offered"
        assert offered(queue, {"CPUTime": True, "MaxRAM": True}, rules) == ["CPUTime", "MaxRAM"]
        for several in ([], [2000, 4000]):
            with pytest.raises(PilotDescriptionError, match="the pilot's MaxRAM cannot be used"):
                offered(queue, {"MaxRAM": several}, rules)


@pytest.mark.parametrize(
    ("conditions", "key"),
    [
        ({}, "CPUTime"),
        ({"CPUTime": "long"}, "CPUTime"),
        ({"CPUTime": 1, "Site": 5}, "Site"),
        ({"CPUTime": 1, "BannedSite": ["A", None]}, "BannedSite"),
        ({"CPUTime": 1, "MaxRAM": "much"}, "MaxRAM"),
    ],
)
def test_what_cannot_be_meant_is_refused(conditions, key):
    """CPU time must be said; names are texts."""
    for rules in (DOCUMENTED, DIRAC):
        with pytest.raises(PilotDescriptionError, match=f"the pilot's {key} cannot be used"):
            Matcher(conditions, GROUPS, rules)


def test_each_limit_keeps_away_what_it_applies_to_and_in_dirac_only_all_together():
    queue = Requirements("ann", "u", 360, job_types=("MC",), sites=("A",))
    assert offered(queue, {}, negative={"JobType": ["MC", "Test"]}) == ["limits"]
    assert offered(queue, {}, negative={"JobType": ["MC"], "Owner": ["bob"]}) == ["limits"]
    assert offered(queue, {}, DIRAC, {"JobType": ["MC"], "Owner": ["bob"]}) == "offered"
    assert offered(queue, {}, DIRAC, {"JobType": ["MC"], "Owner": ["ann"]}) == ["limits"]
    assert offered(queue, {}, negative={"JobType": ["User"], "Owner": ["bob"]}) == "offered"
    assert offered(queue, {}, negative=[{"JobType": ["MC"]}, {"JobType": ["User"]}]) == "offered"
    assert offered(queue, {}, negative=[{"JobType": ["MC"]}, {"Site": "A"}]) == ["limits"]


def test_limits_on_several_owners_do_nothing_in_dirac():
    queue = Requirements("ann", "u", 360)
    assert offered(queue, {}, DOCUMENTED, {"Owner": ["ann", "bob"]}) == ["limits"]
    assert offered(queue, {}, DIRAC, {"Owner": ["ann", "bob"]}) == "offered"
    assert offered(queue, {}, DIRAC, {"Owner": ["ann"]}) == ["limits"]


def test_limits_on_what_queues_do_not_have_never_hit_and_stop_dirac():
    queue = Requirements("ann", "u", 360)
    assert offered(queue, {}, DOCUMENTED, {"JobGroup": ["7"]}) == "offered"
    assert offered(queue, {}, DOCUMENTED, {"JobGroup": ["7"], "Owner": ["ann"]}) == ["limits"]


def test_a_limit_of_the_whole_site_also_keeps_queues_away_that_name_no_site():
    queue = Requirements("ann", "u", 360)
    assert offered(queue, {"Site": "A"}, DOCUMENTED, {"Site": ["A"]}) == ["limits"]
    assert offered(queue, {"Site": "A"}, DIRAC, {"Site": ["A"]}) == "offered"


def test_a_limit_on_a_group_alone_stops_dirac():
    queue = Requirements("ann", "u", 360)
    with pytest.raises(DiracStopsError, match="JobGroup"):
        offered(queue, {}, DIRAC, {"JobGroup": ["7"]})


def test_processors_and_whole_nodes_become_tags():
    conditions = match_conditions({"Site": "A", "NumberOfProcessors": 3, "WholeNode": True, "Tag": "[GPU, 'X']"}, DIRAC)
    assert conditions["Tag"] == ["1Processors", "2Processors", "3Processors", "GPU", "MultiProcessor", "WholeNode", "X"]
    assert match_conditions({"Site": "A", "NumberOfProcessors": 2000}, DIRAC)["Tag"] == ["MultiProcessor"]
    assert match_conditions({"Site": "A", "Tag": []}, DIRAC)["Tag"] == [], "a pilot that says so has no tags"
    with pytest.raises(PilotDescriptionError, match="NumberOfProcessors"):
        match_conditions({"NumberOfProcessors": "many"}, DOCUMENTED)


def test_what_a_pilot_may_take():
    generic = Credentials("u", frozenset({"GenericPilot"}))
    assert apply_credentials({}, generic, GROUPS, DOCUMENTED)["OwnerGroup"] == ["u", "p"]
    assert apply_credentials({"OwnerGroup": "p"}, generic, GROUPS, DOCUMENTED)["OwnerGroup"] == "p"
    private = Credentials("u", frozenset({"NormalUser"}), owner="ann", dn="/CN=ann")
    assert apply_credentials({"OwnerGroup": "p"}, private, GROUPS, DOCUMENTED)["Owner"] == "ann"
    assert "Owner" not in apply_credentials({}, private, GROUPS, DIRAC)


def test_a_generic_pilot_without_any_group_is_refused():
    generic = Credentials("hosts", frozenset({"GenericPilot"}))
    with pytest.raises(PilotDescriptionError, match="no group belongs to the VO 'nobody'"):
        apply_credentials({"VirtualOrganization": "nobody"}, generic, GROUPS, DOCUMENTED)
    with pytest.raises(PilotDescriptionError, match="no group belongs to the VO"):
        apply_credentials({}, generic, GROUPS, DIRAC)


@pytest.mark.parametrize("said", [{"OwnerGroup": []}, {"Owner": []}, {"CPUTime": []}])
def test_an_empty_list_is_no_condition_that_can_be_meant(said):
    with pytest.raises(PilotDescriptionError, match="the list is empty"):
        Matcher({"CPUTime": 1000, **said}, {}, DOCUMENTED)


def test_what_dirac_cannot_ask_its_database():
    with pytest.raises(PilotDescriptionError, match="several owners"):
        Matcher({"CPUTime": 1000, "Owner": ["ann", "bob"], "OwnerGroup": "u"}, GROUPS, DIRAC)
    with pytest.raises(PilotDescriptionError, match="MaxRAM"):
        Matcher({"CPUTime": 1000, "MaxRAM": 2000.5}, GROUPS, DIRAC)


def test_a_site_out_of_use_gets_test_jobs_and_one_without_name_nothing():
    assert apply_site({"Site": "A"}, ["B"])["JobType"] == "Test"
    assert "JobType" not in apply_site({"Site": "A"}, None)
    with pytest.raises(PilotDescriptionError, match="Site"):
        apply_site({}, None)


def test_a_queue_that_asks_for_no_ram_goes_anywhere():
    """Also to a pilot whose MaxRAM is below 0; one with a MaxRAM of its own asks for 0 MB at least."""
    nothing, most = Requirements("ann", "u", 360), Requirements("ann", "u", 360, max_ram=4000)
    for rules in (DIRAC, DOCUMENTED):
        assert offered(nothing, {"MaxRAM": -1}, rules) == "offered"
        assert offered(most, {"MaxRAM": -1}, rules) == ["MaxRAM"]
        assert offered(most, {"MaxRAM": 0}, rules) == "offered"


def test_a_blank_required_tag_is_a_tag_for_dirac():
    """It must be offered as well, and then no queue has it; otherwise it requires nothing."""
    queue = Requirements("ann", "u", 360)
    assert offered(queue, {"Tag": ["GPU"], "RequiredTag": ""}) == "offered"
    for required in ("", [""]):
        with pytest.raises(PilotDescriptionError, match="required, but not offered"):
            offered(queue, {"Tag": ["GPU"], "RequiredTag": required}, DIRAC)
        assert offered(queue, {"Tag": [""], "RequiredTag": required}, DIRAC) == ["RequiredTag"]
    assert offered(queue, {"Tag": ["GPU"], "RequiredTag": []}, DIRAC) == "offered"
