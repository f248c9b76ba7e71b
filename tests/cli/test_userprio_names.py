"""Names and several edits of ``fairq userprio``: who is meant, and what is made together."""

import json
from pathlib import Path

import pytest

from fairq.common.quantities import shown_time
from fairq.common.records import AccountingRecord
from fairq.state import submitters
from fairq.state.connection import writing

NOW = 1_795_200_000
HOUR = 3600


@pytest.fixture
def pool(state):
    """Ann and bob are known."""
    with writing(state) as opened:
        submitters.store(
            opened,
            [AccountingRecord("ann@pool", priority_factor=1000.0), AccountingRecord("bob@pool", priority_factor=10.0)],
        )
    return state


@pytest.fixture
def userprio(run, pool):
    """Run userprio on the pool."""

    def userprio(*words):
        return run("--state", pool, "userprio", "--now", NOW + 60, *words)

    return userprio


def stored(path):
    return path.read_bytes()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_of_several_edits_all_are_made_or_none(userprio, pool, dry):
    before = stored(pool)
    ended = userprio("-setfactor", "ann", "5", "-delete", "nobody@pool", *dry)
    assert (ended.code, ended.out) == (56, "")
    assert stored(pool) == before


def test_a_dry_run_of_several_edits_tells_each_in_view_of_the_one_before(userprio, pool):
    before = stored(pool)
    ended = userprio("-setfactor", "new@pool", "5", "-delete", "new@pool", "--dry-run", "--json")
    changes = json.loads(ended.out)["changes"]
    assert [(change["before"] is None, change["after"] is None) for change in changes] == [(True, False), (False, True)]
    assert stored(pool) == before


def test_a_user_is_found_without_domain_and_group(userprio, pool):
    with writing(pool) as opened:
        submitters.store(opened, [AccountingRecord("physics.bob@pool"), AccountingRecord("physics.eve@pool")])
    ended = userprio("-setfactor", "bob", "5")
    assert ended.code == 100
    assert "bob@pool, physics.bob@pool" in ended.err
    assert "physics.eve@pool was set" in userprio("-setfactor", "eve", "5").out
    assert userprio("-getreslist", "bob").code == 100
    assert [line.split()[0] for line in userprio("-priority", "bob").out.splitlines()[4:-2]] == [
        "bob@pool", "physics.bob@pool",
    ]  # fmt: skip


def test_a_record_for_somebody_never_seen_is_told(userprio, pool):
    ended = userprio("-setfactor", "bbo@pool", "5")
    assert ended.code == 0
    assert "new record bbo@pool; did you mean bob@pool?" in ended.err
    assert "new record" not in userprio("-setfactor", "bbo@pool", "6").err


def test_the_same_user_in_another_domain_or_group_is_told(run, state, monkeypatch):
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "pool")
    line = ("submit", "--accounting-group", "physics", "--accounting-group-user", "bob", "--", "/bin/true")
    assert run("--state", state, *line).code == 0
    assert "physics.bob@pool was set" in run("--state", state, "userprio", "-setfactor", "bob", "5").out
    for name in ("bob@pool", "bob@elsewhere", "physics.bob@elsewhere"):
        ended = run("--state", state, "userprio", "-setfactor", name, "5", "--dry-run")
        assert f"new record {name}; did you mean physics.bob@pool?" in ended.err


def test_a_plain_edit_that_ends_a_lease_says_so(userprio, pool):
    userprio("-setceiling", "bob", "5", "-duration", "1h")
    ended = userprio("-setceiling", "bob", "7")
    assert f"this ends the ceiling lease of bob@pool, which ran until {shown_time(NOW + 60 + HOUR)}" in ended.err


def test_a_lease_is_shown_with_its_end(userprio, pool):
    userprio("-setceiling", "bob", "5", "-duration", "1h")
    told = f"bob@pool: ceiling 5 until {shown_time(NOW + 60 + HOUR)}, then -1 again\n"
    assert userprio("-allusers").err == told
    assert userprio("bob").err == told
    assert userprio("ann").err == ""


def test_the_reason_of_an_edit_is_in_the_history(run, userprio, pool):
    userprio("-setfactor", "bob", "5", "--reason", "thesis")
    (entry,) = json.loads(run("--state", pool, "state", "history", "--subject", "bob", "--json").out)
    assert entry["reason"] == "thesis"
    assert userprio("--reason", "thesis").code == 2


class TestJobs:
    """Jobs of a user are found under every group, and of one person only."""

    @pytest.fixture
    def queue(self, run, state):
        def submit(user, *words):
            end = ("--now", NOW, "--", "/bin/true")
            return run("--state", state, "submit", "--accounting-group-user", user, *words, *end)

        submit("bob@here")
        submit("bob@here", "--accounting-group", "physics")
        submit("ann@here")
        return submit

    def test_a_bare_user_has_jobs_in_all_groups(self, run, state, queue):
        shown = run("--state", state, "queue", "bob", "--af", "ClusterId").out
        assert shown.split() == ["1", "2"]
        assert run("--state", state, "why", "bob").code == 0
        assert json.loads(run("--state", state, "hold", "bob", "--json").out)["jobs"] == 2

    def test_the_ended_jobs_of_a_user_are_those_of_all_groups(self, run, state, queue):
        run("--state", state, "remove", "--all")
        for words in (["bob"], ["--user", "bob"]):
            shown = run("--state", state, "history", *words, "--af", "ClusterId").out
            assert sorted(shown.split()) == ["1", "2"]

    def test_a_change_refuses_a_user_of_two_domains(self, run, state, queue):
        queue("bob@there")
        ended = run("--state", state, "remove", "bob")
        assert ended.code == 100
        assert "bob@here, bob@there, physics.bob@here" in ended.err
        assert run("--state", state, "remove", "bob@there").code == 0

    def test_an_unknown_group_is_told_at_submit_and_by_why(self, run, state, queue):
        Path(f"{state}.toml").write_text("[groups.physics]\nquota = 1\n")
        assert "WARNING" not in queue("bob@here", "--accounting-group", "Physics").err
        assert "accounting_group physic is not configured" in queue("bob@here", "--accounting-group", "physic").err
        run("--state", state, "slots", "add", "a")
        assert "did you mean physics?" in run("--state", state, "why", "5.0").out
        assert "WARNING" not in queue("bob@here", "--accounting-group", "nice-user").err
