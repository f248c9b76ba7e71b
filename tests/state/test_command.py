"""``fairq state``: the command line of the state file."""

import json
import sqlite3

import pytest
from tests.state.pools import fill

from fairq.state.connection import writing


@pytest.fixture
def filled(state):
    with writing(state) as opened:
        fill(opened)
    return state


class TestPath:
    def test_it_is_one_line_for_scripts(self, run, state):
        ended = run("state", "path", "--state", state)
        assert (ended.code, ended.out, ended.err) == (0, f"{state}\n", "")

    def test_links_are_followed(self, run, filled):
        link = filled.with_name("link.db")
        link.symlink_to(filled)
        found = json.loads(run("state", "path", "--state", link, "--json").out)
        assert found == {"path": str(filled), "exists": True, "size": filled.stat().st_size}

    def test_a_damaged_file_is_found_too(self, run, state):
        state.write_text("no database")
        assert run("state", "path", "--state", state).out == f"{state}\n"

    def test_without_a_choice_it_is_the_user_s_own(self, run, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
        assert run("state", "path").out == "/somewhere/fairq/state.db\n"


class TestCheck:
    def test_a_sound_state_passes_in_silence(self, run, filled):
        ended = run("state", "check", "--state", filled)
        assert (ended.code, ended.out, ended.err) == (0, "", f"{filled} has no faults\n")
        assert run("-q", "state", "check", "--state", filled).err == ""

    def test_a_state_that_does_not_exist_is_an_error_and_not_created(self, run, state):
        ended = run("state", "check", "--state", state)
        assert (ended.code, ended.out) == (3, "")
        assert ended.err == (
            f"fairq: the state file {state} cannot be used: it does not exist; name the file with --state\n"
        )
        assert not state.exists()

    def test_every_fault_is_a_line_and_the_exit_code_is_1(self, run, filled):
        with writing(filled) as opened:
            opened.connection.execute("UPDATE submitter SET resources_used = 9")
        ended = run("state", "check", "--state", filled)
        assert (ended.code, len(ended.out.splitlines())) == (1, 3)
        assert ended.out.startswith("accounting: alice@x is recorded as using 9 slots")
        assert ended.err == f"fairq: 3 faults found in {filled}; read the list above, then restore a backup\n"
        findings = json.loads(run("state", "check", "--state", filled, "--json").out)
        assert [record["finding"] for record in findings] == ended.out.splitlines()

    def test_damage_that_bars_the_way_is_told_in_one_line(self, run, filled):
        filled.write_bytes(filled.read_bytes()[:9000])
        ended = run("state", "check", "--state", filled)
        assert ended.code == 7
        assert ended.err.startswith(f"fairq: the state file {filled} is damaged: ")
        assert len(ended.err.splitlines()) == 1


class TestBackup:
    def test_the_copy_is_a_state(self, run, filled, tmp_path):
        ended = run("state", "backup", "--state", filled, tmp_path / "copy.db")
        assert (ended.code, ended.out, ended.err) == (0, "", f"copied to {tmp_path}/copy.db\n")
        histories = [run("state", "history", "--json", "--state", one).out for one in (filled, tmp_path / "copy.db")]
        assert histories[0] == histories[1]

    def test_an_older_copy_is_never_lost(self, run, filled, tmp_path):
        (tmp_path / "copy.db").write_text("precious")
        ended = run("state", "backup", "--state", filled, tmp_path / "copy.db")
        assert (ended.code, ended.out) == (11, "")
        assert "a file of this name exists already" in ended.err
        assert (tmp_path / "copy.db").read_text() == "precious"

    def test_a_directory_needs_a_name_in_it(self, run, filled, tmp_path):
        ended = run("state", "backup", "--state", filled, tmp_path)
        assert (ended.code, "give the name of the file too" in ended.err) == (11, True)

    def test_without_a_state_there_is_nothing_to_copy(self, run, state, tmp_path):
        ended = run("state", "backup", "--state", state, tmp_path / "copy.db")
        assert (ended.code, "does not exist" in ended.err) == (11, True)
        assert list(tmp_path.iterdir()) == []


class TestHistory:
    def test_it_shows_who_changed_what_newest_last(self, run, state):
        for factor in ("5", "7"):
            assert run("--state", state, "userprio", "--setfactor", "bob@x", factor).code == 0
        found = json.loads(run("state", "history", "--state", state, "--json").out)
        assert [entry["number"] for entry in found] == [1, 2]
        assert found[1]["subject"] == "bob@x"
        assert found[1]["before"]["PriorityFactor"] == 5
        assert found[1]["after"]["PriorityFactor"] == 7
        assert "userprio --setfactor bob@x 7" in found[1]["command"]

    def test_the_table_is_complete_in_a_pipe(self, run, filled):
        first, *rest = run("state", "history", "--state", filled).out.splitlines()
        assert first.split() == ["Number", "Time", "User", "Command", "Subject", "Before", "After"]
        assert [" ".join(line.split()[3:]) for line in rest] == [
            "root fairq userprio --setfactor alice@x 10 alice@x Factor 1.0 Factor 10.0",
            "root fairq userprio --setfactor alice@x 10 slots 3",
        ]

    @pytest.mark.parametrize(
        ("options", "subjects"),
        [
            (["--limit", "1"], ["slots"]),
            (["--limit", "0"], ["alice@x", "slots"]),
            (["--limit", "9" * 30], ["alice@x", "slots"]),
            (["--subject", "alice@x"], ["alice@x"]),
            (["--user", "nobody"], []),
            (["--constraint", 'subject == "slots"'], ["slots"]),
        ],
    )
    def test_it_shows_what_is_asked_for(self, run, filled, options, subjects):
        out = run("state", "history", "--state", filled, *options, "--af", "subject").out
        assert out.split() == subjects

    def test_values_are_json_in_csv(self, run, filled):
        out = run("state", "history", "--state", filled, "--csv", "--limit", "2").out
        assert out.splitlines()[0] == "number,time,user,command,reason,subject,before,after"
        assert '"{""Factor"": 1.0}"' in out

    def test_a_state_without_history_says_so_aside(self, run, state):
        ended = run("state", "history")
        assert (ended.code, ended.out, ended.err) == (0, "", "no changes\n")

    @pytest.mark.parametrize("limit", ["-1", "many", "1.5"])
    def test_an_odd_limit_is_wrong_use(self, run, state, limit):
        ended = run("state", "history", "--state", state, "--limit", limit)
        assert (ended.code, "--limit" in ended.err) == (2, True)

    def test_a_name_that_is_no_text_is_named(self, run, filled):
        ended = run("state", "history", "--state", filled, "--subject", "\udcff@x")
        assert (ended.code, len(ended.err.splitlines())) == (26, 1)
        assert "Unicode" in ended.err


def test_every_command_refuses_a_foreign_file_in_the_same_words(run, state):
    other = sqlite3.connect(state)
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    for words in (["check"], ["history"], ["backup", state.with_name("copy")]):
        ended = run("--state", state, "state", *words)
        assert ended.code == 5
        assert ended.err == (
            f"fairq: {state} is not a fairq state file: it is an SQLite file of another program; "
            "name another file with --state or FAIRQ_STATE\n"
        )
