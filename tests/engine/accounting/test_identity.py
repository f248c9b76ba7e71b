"""Who a job is charged to, which group that is, and with which factor a newcomer starts."""

import pytest
from tests import policies

from fairq.engine.accounting.factors import resolve_factor
from fairq.engine.accounting.identity import assigned_group, group_and_ancestors, group_meant, submitter_name
from fairq.errors.base import InvalidNameError

GROUPS = ("group_p", "group_p.hep", "Bio")


@pytest.mark.parametrize(
    ("ad", "name"),
    [
        ({"Owner": "ann"}, "ann@pool"),
        ({"User": "ann@far.example"}, "ann@far.example"),
        ({"User": "ann@far.example", "Owner": "ann"}, "ann@far.example"),
        ({"User": "ann@far.example", "AccountingGroup": "group_p.ann"}, "group_p.ann@far.example"),
        ({"User": "ann@far.example", "AccountingGroup": "group_p.ann@own"}, "group_p.ann@own"),
        ({"User": "ann"}, "ann@pool"),
        ({"Owner": "ann", "AccountingGroup": "group_p.hep.ann"}, "group_p.hep.ann@pool"),
        ({"owner": "ann", "accountinggroup": "alias"}, "alias@pool"),
        ({"Owner": "ann", "AccountingGroup": '/Expr(strcat("a", "b"))/'}, "ann@pool"),
        ({"Owner": "ann", "NiceUser": True}, "nice-user.ann@pool"),
        ({"Owner": "ann", "AccountingGroup": "nice-user.ann", "NiceUser": True}, "nice-user.ann@pool"),
        ({"Owner": "Ann"}, "Ann@pool"),
    ],
)
def test_the_accounting_group_names_the_submitter_else_the_owner(ad, name):
    assert submitter_name(ad, "pool") == name


@pytest.mark.parametrize("ad", [{}, {"Owner": "a b"}, {"AccountingGroup": "g.\ta"}, {"Owner": ""}])
def test_a_job_without_a_usable_name_is_refused(ad):
    with pytest.raises(InvalidNameError):
        submitter_name(ad, "pool")


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("Group_P.HEP.bob@d", "group_p.hep"),
        ("group_p.unknown.bob@d", "group_p"),
        ("x.bob@d", "<none>"),
        ("group_p.first.last@d", "group_p"),
        ("bio.ann@d", "Bio"),
        ("ann@d", "<none>"),
        ("group_p@d", "<none>"),
        ("bio@d.x@y.z", "<none>"),
        ("GROUP_P.hep", "group_p.hep"),
        ("defunct", "<none>"),
    ],
)
def test_a_submitter_is_in_the_group_of_its_longest_known_prefix(name, group):
    assert assigned_group(name, GROUPS) == group


def test_a_group_whose_parent_is_unknown_is_not_reached():
    assert assigned_group("a.b.ann@d", ("a.b",)) == "<none>"


def test_use_counts_for_a_group_and_all_above_it():
    assert group_and_ancestors("a.b.c") == ("a.b.c", "a.b", "a")


FAR = policies.accounting(
    accountant_local_domain="here", group_names=("g", "g.sub"), group_prio_factors={"g": 3.0, "g.sub": 0.0}
)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("nice-user.x@far", 1e10),
        ("x@far", 1e7),
        ("g.x@far", 3.0),
        ("G.x@far", 3.0),
        ("g.sub.x@here", 1000.0),
        ("g.sub.x@far", 1e7),
        ("x@here", 1000.0),
        ("nice-user", 1e10),
        ("g", 3.0),
        ("g.sub", 1000.0),
    ],
)
def test_nice_goes_before_the_groups_factor_before_the_remote_one(name, factor):
    assert resolve_factor(name, FAR) == factor


def test_without_a_local_domain_everybody_is_local():
    assert resolve_factor("x@far", policies.accounting()) == 1000.0


def test_a_factor_is_never_below_one():
    assert resolve_factor("x@here", policies.accounting(default_prio_factor=0.1)) == 1.0


def test_ungrouped_submitters_have_the_factor_set_for_none():
    policy = policies.accounting(group_prio_factors={"<none>": 7.0})
    assert resolve_factor("x@here", policy) == 7.0


@pytest.mark.parametrize(
    ("submitter", "group"),
    [
        ("ann@x", ""),
        ("physics.ann@x", "physics"),
        ("physics.hep.ann@x", "physics.hep"),
        ("bob@x", None),
        ("joann@x", None),
    ],
)
def test_the_group_that_a_submitter_means_is_what_stands_before_the_owner(submitter, group):
    assert group_meant(submitter, "ann") == group
