"""What may lie where the state file should be: each case is used, or refused in one line and left alone."""

import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.state.pools import fill

from fairq.common.files import own_state
from fairq.errors.base import (
    FairqError,
    StateDamagedError,
    StateError,
    StateForeignError,
    StateLockedError,
    StateNewerError,
    StateOlderError,
)
from fairq.state import meta, schema
from fairq.state.connection import reading, writing
from fairq.state.cycle_lock import cycle_lock
from fairq.state.schema import BASELINE, newest

NEWEST = newest()


def contents(directory):
    """Every file's bytes and time of change."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir() if path.is_file()}


def refuses(state, error, words):
    """Expect reading and writing both to fail with *error*, naming the file in one line, changing nothing."""
    before = contents(state.parent)
    for way in (reading, writing):
        with pytest.raises(error, match=words) as caught, way(state, wait=0):
            pass
        assert str(state) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert contents(state.parent) == before


class TestNoFileYet:
    def test_it_reads_as_empty_and_is_not_created(self, tmp_path):
        with reading(tmp_path / "no" / "state.db") as opened:
            assert meta.get(opened, "cycle") is None
        assert list(tmp_path.iterdir()) == []

    def test_the_first_write_creates_it(self, tmp_path):
        state = tmp_path / "state with ?#% é.db"
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        with reading(state) as opened:
            assert meta.get(opened, "cycle") == "1"
        assert [path.name for path in state.parent.iterdir()] == [state.name]

    def test_of_the_users_own_state_the_directories_too(self):
        with writing(own_state()) as opened:
            meta.set(opened, "cycle", "1")
        assert own_state().is_file()

    def test_the_directory_of_a_named_state_is_not_invented(self, tmp_path):
        with pytest.raises(StateError, match="its directory does not exist"), writing(tmp_path / "no" / "state.db"):
            pass
        with pytest.raises(StateError, match="its directory does not exist"), cycle_lock(tmp_path / "no" / "state.db"):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_a_first_write_that_fails_leaves_no_file(self, state):
        with pytest.raises(ZeroDivisionError), writing(state) as opened:
            fill(opened)
            _ = 1 / 0
        assert list(state.parent.iterdir()) == []

    def test_a_first_write_of_nothing_leaves_no_file(self, state):
        with writing(state) as opened:
            assert meta.get(opened, "cycle") is None
        assert list(state.parent.iterdir()) == []

    def test_a_first_write_shows_nothing_before_its_end(self, state):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
            with reading(state, wait=0) as reader:
                assert meta.get(reader, "cycle") is None
        with reading(state) as reader:
            assert meta.get(reader, "cycle") == "1"

    def test_who_waits_for_a_first_write_that_fails_makes_the_file_himself(self, state):
        """The file that the other one has locked is gone by then: what is written to it would be lost."""
        waiting = threading.Event()

        def second():
            waiting.set()
            with writing(state) as opened:
                meta.set(opened, "cycle", "2")

        thread = threading.Thread(target=second)
        with pytest.raises(ZeroDivisionError), writing(state) as opened:
            meta.set(opened, "cycle", "1")
            thread.start()
            waiting.wait()
            _ = 1 / 0
        thread.join()
        with reading(state) as opened:
            assert meta.get(opened, "cycle") == "2"
        assert list(state.parent.iterdir()) == [state]

    @pytest.mark.parametrize("umask, mode", [(0o002, 0o664), (0o022, 0o644), (0o077, 0o600)])
    def test_its_mode_is_that_of_the_umask(self, state, umask, mode):
        former = os.umask(umask)
        try:
            with writing(state) as opened:
                fill(opened)
        finally:
            os.umask(former)
        assert stat.S_IMODE(state.stat().st_mode) == mode

    def test_a_file_of_length_zero_is_a_new_state(self, state):
        state.touch()
        with reading(state) as opened:
            assert meta.get(opened, "cycle") is None
        assert state.stat().st_size == 0
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        with reading(state) as opened:
            assert meta.get(opened, "cycle") == "1"


class TestTransactions:
    def test_a_write_that_fails_changes_nothing(self, state):
        with writing(state) as opened:
            fill(opened)
        before = state.read_bytes()
        with pytest.raises(ZeroDivisionError), writing(state) as opened:
            meta.set(opened, "cycle", "9")
            _ = 1 / 0
        assert state.read_bytes() == before

    def test_a_reader_changes_nothing(self, state):
        with writing(state) as opened:
            fill(opened)
        before = contents(state.parent)
        with pytest.raises(FairqError), reading(state) as opened:
            meta.set(opened, "cycle", "9")
        assert contents(state.parent) == before

    def test_a_reader_sees_one_instant(self, state):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        with reading(state) as reader:
            with pytest.raises(StateLockedError), writing(state, wait=0) as writer:
                meta.set(writer, "cycle", "2")
            assert meta.get(reader, "cycle") == "1"

    def test_a_second_writer_waits_then_says_which_file_is_locked(self, state):
        told = f"lock on the state file {state} for over 1 s"
        with writing(state), pytest.raises(StateLockedError, match=told), writing(state, wait=1):
            pass

    def test_a_second_writer_goes_on_when_the_first_one_is_done(self, state):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
            done = threading.Event()

            def second():
                with writing(state) as other:
                    meta.set(other, "schedd_name", f"after cycle {meta.get(other, 'cycle')}")
                done.set()

            waiting = threading.Thread(target=second)
            waiting.start()
            assert not done.wait(0.3)
        waiting.join()
        with reading(state) as opened:
            assert meta.get(opened, "schedd_name") == "after cycle 1"

    def test_an_error_of_the_step_itself_is_left_as_it_is(self, state):
        with pytest.raises(FileNotFoundError), writing(state):
            Path("/nonexistent/submit/file").read_text()

    def test_what_sqlite_refuses_in_the_middle_of_a_step_comes_as_an_error_of_fairq(self, state):
        with pytest.raises(StateError, match="UNIQUE constraint") as caught, writing(state) as opened:
            for _ in range(2):
                opened.connection.execute("INSERT INTO meta VALUES ('a', 'b')")
        assert caught.value.exit_code == 3


class TestForeignFiles:
    def test_another_program_s_database_is_left_alone(self, state):
        with sqlite3.connect(state) as other:
            other.execute("CREATE TABLE theirs (a)")
        other.close()
        refuses(state, StateForeignError, "another program")

    def test_a_database_marked_by_another_program_is_left_alone(self, state):
        other = sqlite3.connect(state)
        other.executescript("PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE a (b)")
        other.close()
        refuses(state, StateForeignError, "another program")

    @pytest.mark.parametrize("content", [b"[negotiator]\nrules = 'htcondor'\n", b"\0" * 5000, b"x"])
    def test_a_file_that_is_no_database_is_left_alone(self, state, content):
        state.write_bytes(content)
        refuses(state, StateForeignError, "not an SQLite file")

    def test_a_directory_is_refused(self, tmp_path):
        refuses(tmp_path, StateForeignError, "directory")

    def test_a_device_is_refused(self):
        for way in (reading, writing):
            with pytest.raises(StateForeignError, match="not a regular file"), way(Path("/dev/null")):
                pass

    def test_a_path_below_a_file_is_refused(self, tmp_path):
        (tmp_path / "file").touch()
        for way in (reading, writing):
            with pytest.raises(StateError, match="Not a directory"), way(tmp_path / "file" / "state.db"):
                pass

    def test_a_name_that_is_too_long_is_refused(self, tmp_path):
        for way in (reading, writing):
            with pytest.raises(StateError, match="too long"), way(tmp_path / ("x" * 300)):
                pass


class TestDamage:
    @pytest.fixture
    def filled(self, state):
        with writing(state) as opened:
            fill(opened)
        return state

    def test_a_truncated_file_is_refused(self, filled):
        os.truncate(filled, 10_000)
        refuses(filled, StateDamagedError, "damaged")

    def test_damage_met_in_the_middle_is_told_in_one_line(self, filled):
        with filled.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (filled.stat().st_size - 4096))
        with pytest.raises(StateDamagedError, match="damaged"), reading(filled) as opened:
            meta.get(opened, "cycle")

    def test_a_file_without_its_tables_is_told_in_one_line(self, state):
        other = sqlite3.connect(state)
        other.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        other.execute(f"PRAGMA user_version = {NEWEST}")
        other.close()
        with pytest.raises(StateError, match="no such table"), reading(state) as opened:
            meta.get(opened, "cycle")


class TestSchemas:
    @pytest.fixture
    def upgrade(self, monkeypatch):
        """Let the next version of fairq have one migration more."""

        def upgrade(*statements):
            monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, statements))

        return upgrade

    def test_a_newer_state_is_refused_and_left_alone(self, state):
        with writing(state) as opened:
            fill(opened)
            opened.connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
        refuses(state, StateNewerError, f"schema {NEWEST + 1}.*up to {NEWEST}")

    def test_a_state_older_than_the_baseline_is_refused_and_left_alone(self, state):
        with writing(state) as opened:
            fill(opened)
            opened.connection.execute(f"PRAGMA user_version = {BASELINE - 1}")
        refuses(state, StateOlderError, f"schema {BASELINE - 1}.*from {BASELINE} on.*fairq export.*fairq import")

    def test_an_older_state_is_upgraded_by_the_first_write_and_a_copy_is_kept(self, state, upgrade):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        upgrade("INSERT INTO meta VALUES ('later', 'yes')")
        with writing(state) as opened:
            assert (meta.get(opened, "cycle"), meta.get(opened, "later")) == ("1", "yes")
        copy = state.with_name(f"state.db.schema{NEWEST}")
        assert {path.name for path in state.parent.iterdir()} == {state.name, copy.name}
        with closing(sqlite3.connect(copy)) as kept, closing(sqlite3.connect(state)) as upgraded:
            assert kept.execute("PRAGMA user_version").fetchone() == (NEWEST,)
            assert kept.execute("SELECT * FROM meta").fetchall() == [("cycle", "1")]
            assert upgraded.execute("PRAGMA user_version").fetchone() == (NEWEST + 1,)

    def test_the_copy_never_takes_the_place_of_an_earlier_one(self, state, upgrade):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        earlier = state.with_name(f"state.db.schema{NEWEST}")
        earlier.write_text("precious")
        upgrade("INSERT INTO meta VALUES ('later', 'yes')")
        with writing(state):
            pass
        assert earlier.read_text() == "precious"
        assert earlier.with_name(earlier.name + "-2").stat().st_size == state.stat().st_size

    def test_an_older_state_can_be_read_without_being_changed(self, state, upgrade):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        before = contents(state.parent)
        upgrade("INSERT INTO meta VALUES ('later', 'yes')")
        with reading(state) as opened:
            assert (meta.get(opened, "cycle"), meta.get(opened, "later")) == ("1", "yes")
        assert contents(state.parent) == before

    def test_a_migration_that_fails_leaves_the_old_state(self, state, upgrade):
        with writing(state) as opened:
            meta.set(opened, "cycle", "1")
        before = state.read_bytes()
        upgrade("INSERT INTO meta VALUES ('later', 'yes')", "INSERT INTO nowhere VALUES (1)")
        with pytest.raises(StateError, match="nowhere"), writing(state):
            pass
        assert state.read_bytes() == before


class TestSymbolicLinks:
    def test_the_file_behind_the_link_is_the_state(self, tmp_path):
        (tmp_path / "real").mkdir()
        link = tmp_path / "link.db"
        link.symlink_to(tmp_path / "real" / "state.db")
        with writing(link) as opened:
            meta.set(opened, "cycle", "1")
        assert link.is_symlink()
        with reading(tmp_path / "real" / "state.db") as opened:
            assert meta.get(opened, "cycle") == "1"

    def test_all_names_of_a_state_share_one_cycle_lock(self, tmp_path):
        real, link = tmp_path / "real.db", tmp_path / "link.db"
        link.symlink_to(real)
        with cycle_lock(link), pytest.raises(FairqError, match=f"another.*{real}") as caught, cycle_lock(real):
            pass
        assert caught.value.exit_code == 75

    def test_a_link_that_leads_to_itself_is_refused(self, tmp_path):
        link = tmp_path / "loop"
        link.symlink_to(link)
        for way in (reading, writing):
            with pytest.raises(StateError, match="symbolic links"), way(link):
                pass


def test_the_cycle_lock_leaves_no_file_behind(state):
    for _ in range(2):
        with cycle_lock(state):
            pass
    assert list(state.parent.iterdir()) == []


def test_a_copied_state_is_a_state(state):
    with writing(state) as opened:
        fill(opened)
    assert [path.name for path in state.parent.iterdir()] == [state.name]
    shutil.copy(state, state.with_name("copy.db"))
    with reading(state.with_name("copy.db")) as opened:
        assert meta.get(opened, "schedd_name") == "here"
