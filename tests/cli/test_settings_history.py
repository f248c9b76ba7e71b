"""Changes of settings in the history: by a command with who and why, by hand without who; and their undo."""

import hashlib
import json
from pathlib import Path

import pytest

from fairq.state import settings_changes
from fairq.state.connection import writing
from fairq.state.settings_changes import Edit, Intent

T = 1_795_000_000


@pytest.fixture
def pool(run, state):
    def fairq(*words):
        return run("--state", state, *words)

    fairq("slots", "add", "node1", "--now", T)
    return fairq


@pytest.fixture
def file(state):
    return Path(f"{state}.toml")


def changes(pool, *words):
    found = json.loads(pool("state", "history", "--json", *words).out)
    return [one for one in found if one["subject"].startswith("setting ")]


def test_a_change_has_who_why_and_both_values(pool):
    pool("config", "set", "groups.physics.quota", 20)
    pool("config", "set", "groups.physics.quota", 30, "--reason", "new machines")
    first, second = changes(pool)
    assert (first["before"], first["after"]) == (None, {"Value": 20.0})
    assert (second["before"], second["after"]) == ({"Value": 20.0}, {"Value": 30.0})
    assert second["subject"] == "setting groups.physics.quota"
    assert second["reason"] == "new machines" and second["user"] and "config set" in second["command"]


def test_undo_takes_it_back(pool, file):
    pool("config", "set", "priority_halflife", "2h")
    before = file.read_text()
    pool("config", "set", "priority_halflife", "3h")
    ended = pool("undo")
    assert ended.code == 0 and "setting accounting.priority_halflife" in ended.out
    assert file.read_text() == before
    assert pool("undo").code == 0
    assert pool("config", "get", "priority_halflife").out == "86400.0\n"


def test_a_group_is_created_changed_and_removed_and_all_of_it_undone(pool, file):
    assert pool("quotas", "set", "physics", "--quota", 20, "--members", "ann,%hep", "--reason", "x").code == 0
    assert pool("quotas", "set", "physics.hep", "--share", "50%", "--accept-surplus").code == 0
    assert pool("config", "get", "groups.physics.hep.quota_dynamic").out == "0.5\n"
    assert pool("quotas", "set", "physics.hep", "--quota", 3).code == 0
    assert pool("config", "get", "groups.physics.hep.quota_dynamic").out == "\n"
    both = file.read_text()
    assert "has the subgroup physics.hep" in pool("quotas", "remove", "physics").err, "its subgroup would stay"
    assert file.read_text() == both
    assert pool("quotas", "remove", "physics", "physics.hep", "--reason", "moved").code == 0
    assert pool("config", "show", "groups", "--json").out == "[]\n"
    assert pool("undo").code == 0
    assert pool("config", "get", "groups.physics.hep.quota").out == "3.0\n"
    assert pool("config", "get", "groups.physics.members").out == "ann, %hep\n"
    for _ in range(3):
        assert pool("undo").code == 0
    assert pool("config", "show", "groups", "--json").out == "[]\n"


def test_an_undo_that_would_break_the_settings_is_refused(pool, file):
    pool("quotas", "set", "physics", "--quota", 20)
    number = changes(pool)[-1]["number"]
    pool("quotas", "set", "physics.hep", "--quota", 3)
    before = file.read_text()
    ended = pool("undo", number)
    assert ended.code == 103 and "invalid" in ended.err
    pool("config", "set", "groups.physics.quota", 25)
    assert "came after it" in pool("undo", number).err
    assert pool("undo").code == 0
    assert file.read_text() == before


def test_a_dry_run_undo_changes_nothing(pool, file):
    pool("config", "set", "priority_halflife", "3h")
    before = file.read_text()
    assert "would be undone" in pool("undo", "--dry-run").out
    assert file.read_text() == before
    assert pool("undo").code == 0


def test_what_is_edited_by_hand_is_noted_at_the_next_cycle_without_who(pool, file):
    pool("config", "set", "groups.physics.quota", 20)
    pool("negotiate", "--now", T)
    assert len(changes(pool)) == 1
    file.write_text(file.read_text().replace("20", "35"))
    pool("negotiate", "--now", T + 60)
    *_, last = changes(pool)
    assert (last["user"], last["time"]) == ("", T + 60)
    assert (last["before"], last["after"]) == ({"Value": 20.0}, {"Value": 35.0})
    pool("negotiate", "--now", T + 120)
    assert len(changes(pool)) == 2


def test_a_file_that_is_seen_for_the_first_time_is_no_change(pool, file):
    file.write_text("[groups.physics]\nquota = 3\n")
    pool("negotiate", "--now", T)
    assert changes(pool) == []
    file.write_text("")
    pool("negotiate", "--now", T + 60)
    assert [change["after"] for change in changes(pool)] == [None]


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("next_command", ["negotiate", "state history", "config set limits.LICENSE 2"])
def test_a_kill_leaves_the_old_or_the_new_and_the_next_command_completes_the_record(
    pool, file, state, is_written, next_command
):
    pool("config", "set", "groups.physics.quota", 20)
    new = file.read_text().replace("20", "30")
    digest = hashlib.sha256(new.encode()).hexdigest()
    edit = Edit("\x1f".join(("groups", "physics", "quota")), 20.0, 30.0)
    with writing(state) as opened:
        intent = Intent(str(file.absolute()), digest, [edit], "ann", "fairq config set groups.physics.quota 30", T, "x")
        settings_changes.store_intent(opened, intent)
    if is_written:
        file.write_text(new)
    assert pool(*next_command.split()).code == 0
    found = [change for change in changes(pool) if change["after"] == {"Value": 30.0}]
    assert [(one["user"], one["reason"]) for one in found] == [("ann", "x")] * is_written
    pool("negotiate")
    assert len([change for change in changes(pool) if change["subject"].endswith("quota")]) == 1 + is_written


def test_others_than_administrators_change_nothing(pool, file, monkeypatch):
    file.write_text('[pool]\nadministrators = ["nobody"]\n')
    before = file.read_text()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert pool("quotas", "set", "physics", "--quota", 3).code == 101
    assert pool("config", "set", "priority_halflife", "3h").code == 101
    assert file.read_text() == before


def test_without_a_state_nothing_is_recorded_and_none_is_made(run, state):
    assert run("--state", state, "config", "set", "priority_halflife", "3h").code == 0
    assert not state.exists()


def test_members_are_added_and_removed(pool):
    def members():
        return json.loads(pool("config", "show", "groups.physics.members", "--json").out)[0]["value"]

    pool("quotas", "set", "physics", "--quota", 2, "--members", "ann,bob")
    assert pool("quotas", "set", "physics", "--members", "+eve,-bob").code == 0
    assert members() == ["ann", "eve"]
    ended = pool("quotas", "set", "physics", "--members", "-ann,-eve")
    assert ended.code == 17 and "would end its list of members" in ended.err
    assert members() == ["ann", "eve"]
    pool("undo")
    assert members() == ["ann", "bob"]
    pool("quotas", "set", "physics", "--members", "")
    assert "would begin its list of members" in pool("quotas", "set", "physics", "--members", "+ann").err
