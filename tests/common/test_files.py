"""Files appear whole or not at all, keep their mode, follow no planted link, and leave no drafts behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.state.pools import fill

from fairq.common import files
from fairq.state import connection, meta, schema
from fairq.state.connection import writing
from fairq.state.cycle_lock import cycle_lock
from fairq.state.schema import newest

NEWEST = newest()
NOBODY = 65534

DRAFTER = """
import sys, time
from pathlib import Path
from fairq.common import files
with files.draft(Path(sys.argv[1])) as place:
    (place / "file").write_text("half")
    print(place.name, flush=True)
    time.sleep(60)
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o002, 0o022, 0o077], ids=oct)
def umask(request):
    former = os.umask(request.param)
    yield request.param
    os.umask(former)


@pytest.fixture
def private(state):
    """A state that nobody but its owner may read."""
    with writing(state) as opened:
        fill(opened)
    state.chmod(0o600)
    return state


@pytest.fixture
def older(state, monkeypatch):
    """A state that the next write upgrades."""
    with writing(state) as opened:
        fill(opened)
    later = ("INSERT INTO meta VALUES ('later', 'yes')",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, later))
    return state


@pytest.fixture
def victim(tmp_path_factory):
    """A file that a planted link leads to; it is never changed."""
    file = tmp_path_factory.mktemp("home") / "victim"
    file.write_text("precious")
    return file


class TestModes:
    def test_copies_of_a_private_state_are_private(self, run, private, umask):
        copy, document, slots = (private.with_name(name) for name in ("copy.db", "whole.json", "slots.ads"))
        assert run("--state", private, "state", "backup", copy).code == 0
        assert run("--state", private, "export", "-o", document).code == 0
        assert run("--state", private, "export", "--slots", "--long", "-o", slots).code == 0
        assert [mode(path) for path in (copy, document, slots)] == [0o600] * 3

    def test_the_copy_before_an_upgrade_is_like_the_state(self, older, umask):
        older.chmod(0o640)
        with writing(older) as opened:
            meta.set(opened, "cycle", "7")
        assert mode(older.with_name(f"state.db.schema{NEWEST}")) == 0o640
        assert mode(older) == 0o640

    def test_a_new_settings_file_follows_the_umask(self, run, state, umask):
        assert run("--state", state, "config", "set", "priority_halflife", "60").code == 0
        assert mode(Path(f"{state}.toml")) == 0o666 & ~umask

    def test_settings_and_their_former_self_keep_their_mode(self, run, state, umask):
        settings, backup = Path(f"{state}.toml"), Path(f"{state}.toml.bak")
        settings.touch()
        backup.touch()
        settings.chmod(0o640)
        backup.chmod(0o666)
        condor = state.with_name("pool.conf")
        condor.write_text("PRIORITY_HALFLIFE = 4000\n")
        assert run("--state", state, "config", "set", "priority_halflife", "60").code == 0
        assert run("--state", state, "config", "import", condor).code == 0
        assert (mode(settings), mode(backup)) == (0o640, 0o640)

    def test_an_exported_file_that_is_replaced_keeps_its_mode(self, run, private):
        target = private.with_name("pool.json")
        target.touch()
        target.chmod(0o664)
        assert run("--state", private, "export", "-o", target).code == 0
        assert mode(target) == 0o664

    @pytest.mark.parametrize("bits", [0o600, 0o660, 0o666], ids=oct)
    def test_who_may_write_the_state_may_take_its_lock(self, private, bits):
        private.chmod(bits)
        with cycle_lock(private):
            assert mode(private.with_name("state.db.cycle")) == bits

    @pytest.mark.parametrize("bits", [0o600, 0o660], ids=oct)
    def test_the_journal_is_no_more_open_than_the_state(self, private, bits):
        private.chmod(bits)
        with writing(private) as opened:
            meta.set(opened, "cycle", "8")
            assert mode(private.with_name("state.db-journal")) == bits

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
    def test_root_leaves_files_to_their_owner(self, run, private):
        settings = Path(f"{private}.toml")
        settings.touch()
        for path in (private, settings):
            os.chown(path, NOBODY, NOBODY)
        copy = private.with_name("copy.db")
        assert run("--state", private, "state", "backup", copy).code == 0
        assert run("--state", private, "config", "set", "priority_halflife", "60").code == 0
        assert [(path.stat().st_uid, path.stat().st_gid) for path in (copy, settings)] == [(NOBODY, NOBODY)] * 2


class TestPlantedLinks:
    def test_the_name_that_a_draft_once_had_leads_nowhere(self, run, private, victim):
        for name in ("copy.db", "pool.json", "state.db.toml"):
            private.with_name(f".{name}.{os.getpid()}").symlink_to(victim)
        assert run("--state", private, "state", "backup", private.with_name("copy.db")).code == 0
        assert run("--state", private, "export", "-o", private.with_name("pool.json")).code == 0
        assert run("--state", private, "config", "set", "priority_halflife", "60").code == 0
        assert victim.read_text() == "precious"

    @pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
    @pytest.mark.parametrize("suffix, words", [(".cycle", ["negotiate"]), (".broker", ["broker", "run"])])
    def test_a_lock_file_is_never_a_link(self, run, private, victim, suffix, words, there):
        goal = victim if there else victim.with_name("nothing")
        Path(f"{private}{suffix}").symlink_to(goal)
        ended = run("--state", private, *words)
        assert (ended.code, ended.err.count("\n")) == (3, 1)
        assert f"{private}{suffix} is a symbolic link; remove it" in ended.err
        assert (victim.read_text(), goal.exists()) == ("precious", there)

    def test_the_former_settings_are_not_written_through_a_link(self, run, state, victim):
        settings, backup = Path(f"{state}.toml"), Path(f"{state}.toml.bak")
        settings.write_text("# former\n")
        backup.symlink_to(victim)
        condor = state.with_name("pool.conf")
        condor.write_text("PRIORITY_HALFLIFE = 4000\n")
        assert run("--state", state, "config", "import", condor).code == 0
        assert (backup.is_symlink(), backup.read_text(), victim.read_text()) == (False, "# former\n", "precious")

    def test_the_copy_before_an_upgrade_takes_another_name(self, older, victim):
        for number, goal in enumerate((victim, victim.with_name("nothing"))):
            suffix = "" if not number else f"-{number + 1}"
            older.with_name(f"state.db.schema{NEWEST}{suffix}").symlink_to(goal)
        with writing(older) as opened:
            meta.set(opened, "cycle", "7")
        assert older.with_name(f"state.db.schema{NEWEST}-3").is_file()
        assert (victim.read_text(), victim.with_name("nothing").exists()) == ("precious", False)

    @pytest.mark.parametrize("name", ["state.db-journal", "state.db-wal"])
    def test_a_journal_is_never_a_link(self, run, private, victim, name):
        private.with_name(name).symlink_to(victim)
        for words in (["queue"], ["negotiate"], ["state", "check"]):
            ended = run("--state", private, *words)
            assert (ended.code, f"{name} is not a regular file; remove it" in ended.err) == (3, True)
        assert victim.read_text() == "precious"

    def test_an_own_link_is_followed(self, run, private, tmp_path):
        link, goal = tmp_path / "link.json", tmp_path / "goal.json"
        link.symlink_to(goal.name)
        assert run("--state", private, "export", "-o", link).code == 0
        assert link.is_symlink()
        assert goal.stat().st_size > 100


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can plant a file of another user")
class TestOtherUsers:
    def plant(self, link, goal):
        link.symlink_to(goal)
        os.lchown(link, NOBODY, NOBODY)

    @pytest.mark.parametrize(
        "name, words, code",
        [
            ("pool.json", ["export", "-o", "pool.json"], 50),
            ("pool.json", ["export", "--slots", "-o", "pool.json"], 50),
            ("state.db.toml", ["config", "set", "priority_halflife", "60"], 13),
        ],
    )
    def test_their_link_is_refused(self, run, private, victim, monkeypatch, name, words, code):
        monkeypatch.chdir(private.parent)
        victim.write_text("")
        self.plant(private.with_name(name), victim)
        ended = run("--state", private, *words)
        assert (ended.code, victim.read_text()) == (code, "")
        assert f"{name} is a symbolic link of another user (nobody)" in ended.err

    def test_their_link_does_not_say_where_a_state_is_made(self, run, tmp_path, victim):
        self.plant(tmp_path / "state.db", victim.with_name("nothing"))
        for words in (["slots", "add", "node"], ["negotiate"], ["broker", "run"]):
            ended = run("--state", tmp_path / "state.db", *words)
            assert (ended.code, "is a symbolic link of another user (nobody)" in ended.err) == (8, True)
        assert list(victim.parent.iterdir()) == [victim]

    def test_their_journal_does_not_change_the_state(self, run, private):
        before = private.read_bytes()
        journal = private.with_name("state.db-journal")
        journal.write_bytes(os.urandom(4096))
        os.chown(journal, NOBODY, NOBODY)
        ended = run("--state", private, "userprio")
        assert (ended.code, "belongs to nobody, who may not write the state; remove it" in ended.err) == (3, True)
        assert private.read_bytes() == before

    def test_their_drafts_are_left_alone(self, tmp_path):
        theirs = tmp_path / f".fairq-{'0' * 16}.draft"
        theirs.mkdir(0o700)
        os.chown(theirs, NOBODY, NOBODY)
        files.write(tmp_path / "file", b"")
        assert theirs.exists()


class TestDrafts:
    def test_the_next_writer_clears_what_a_killed_one_left(self, tmp_path):
        with subprocess.Popen([sys.executable, "-c", DRAFTER, tmp_path], stdout=subprocess.PIPE, text=True) as drafter:
            assert drafter.stdout is not None
            leftover = tmp_path / drafter.stdout.readline().strip()
            files.write(tmp_path / "file", b"whole")
            assert (leftover / "file").read_text() == "half", "a live process goes on with it"
            drafter.send_signal(signal.SIGKILL)
        assert leftover.exists()
        files.write(tmp_path / "file", b"whole")
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_nothing_but_drafts_is_cleared(self, tmp_path, victim):
        """Neither a user's file of a similar name, nor what a link of such a name leads to."""
        (tmp_path / f".fairq-{'1' * 16}.draft").symlink_to(victim.parent)
        (tmp_path / f".fairq-{'2' * 16}.draft").write_text("a file")
        (tmp_path / f".fairq-{'3' * 16}.draft").mkdir(0o755)
        (tmp_path / ".fairq-mine.draft").mkdir(0o700)
        (tmp_path / ".fairq").mkdir(0o700)
        before = sorted(tmp_path.iterdir())
        files.write(tmp_path / "file", b"")
        assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "file"])
        assert victim.read_text() == "precious"

    def test_nobody_else_may_look_into_a_draft(self, tmp_path, umask):
        with files.draft(tmp_path) as path:
            assert mode(path) == 0o700

    def test_a_writer_that_fails_leaves_the_file_as_it_was(self, tmp_path):
        target = tmp_path / "file"
        target.write_text("before")
        with pytest.raises(ZeroDivisionError), files.replacing(target) as stream:
            stream.write(b"half")
            _ = 1 / 0
        assert (target.read_text(), list(tmp_path.iterdir())) == ("before", [target])

    def test_an_upgrade_that_failed_after_its_copy_makes_no_second_one(self, older, monkeypatch):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), writing(older):
                _ = 1 / 0
        copies = [path.name for path in older.parent.iterdir() if path != older]
        assert copies == [f"state.db.schema{NEWEST}"]

    def test_a_directory_that_may_be_written_but_not_listed_will_do(self, private, tmp_path):
        place = tmp_path / "blind"
        place.mkdir()
        place.chmod(0o300)
        try:
            files.write(place / "file", b"whole")
            connection.backup(private, place / "copy.db")
        finally:
            place.chmod(0o700)
        assert sorted(path.name for path in place.iterdir()) == ["copy.db", "file"]
