"""Who may do what in a pool with administrators and members."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairq.common.people import Person, caller_of
from fairq.common.records import Actor
from fairq.errors.people import NotAllowedError
from fairq.settings import load
from fairq.steps.rights import check_submitters, is_administrator

SETTINGS = """
[pool]
administrators = ["ann", "%wheel"]
[groups.physics]
members = ["%phys", "eve"]
submit_for_others = ["eve"]
[groups."physics.hep"]
[groups.open]
"""


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "fairq.toml").write_text(SETTINGS)
    return load(tmp_path / "fairq.toml", None, {})


@pytest.mark.parametrize(
    ("person", "may"),
    [
        (Person("ann", 2001), True),
        (Person("bob", 2002, frozenset({"wheel"})), True),
        (Person("bob", 2002, frozenset({"ann"})), False),
        (Person("wheel", 2003), False),
        (Person("root", 0), True),
        (Person("%wheel", 2004), False),
    ],
)
def test_administrators_are_users_members_of_groups_and_root(settings, state, person, may):
    state.touch()
    assert is_administrator(settings, state, person) is may


def test_the_owner_of_the_file_is_one_and_without_a_word_about_rights_everybody(settings, state, tmp_path):
    state.touch()
    assert is_administrator(settings, state, Person("me", state.stat().st_uid))
    (tmp_path / "none.toml").write_text("[groups.physics]\nquota = 1\n")
    assert is_administrator(load(tmp_path / "none.toml", None, {}), state, Person("bob", 2002))


ALLOWED = [
    ("bob@lab", set()), ("nice-user.bob@lab", set()), ("open.bob@lab", set()), ("physics.bob@lab", {"phys"}),
    ("physics.hep.bob@lab", {"phys"}), ("nice-user.physics.bob@lab", {"phys"}),]  # fmt: skip
REFUSED = [
    ("ann@lab", set()), ("bob@elsewhere", set()), ("physics.bob@lab", set()), ("physics.hep.bob@lab", set()),
    ("open.ann@lab", set()), ("fresh.bob@lab", set()), ("open.fresh.bob@lab", set()), ("physics.ann@lab", {"phys"}),
    ("nice-user.ann@lab", set()), ("nice-user.nice-user.bob@lab", set()), ("bob", set()), ("open.bob", set()),
    (".bob@lab", set()), ("Physics.bob@lab", {"phys"}), ("bob@lab@lab", set()),
]  # fmt: skip


@pytest.mark.parametrize(("submitter", "groups"), ALLOWED)
def test_one_submits_as_oneself_to_ones_groups(settings, submitter, groups):
    actor = Actor("bob", "submit", 0, administrator=False, unix_groups=frozenset(groups))
    check_submitters(settings, actor, [submitter], "bob", "lab")


@pytest.mark.parametrize(("submitter", "groups"), REFUSED)
def test_nobody_is_charged_for_others_and_nobody_invents_a_record(settings, submitter, groups):
    actor = Actor("bob", "submit", 0, administrator=False, unix_groups=frozenset(groups))
    with pytest.raises(NotAllowedError, match="bob may not submit"):
        check_submitters(settings, actor, [submitter], "bob", "lab")
    check_submitters(settings, Actor("ann", "submit", 0), [submitter], "ann", "lab")


def test_a_group_lets_its_own_submit_for_others(settings):
    eve = Actor("eve", "submit", 0, administrator=False)
    check_submitters(settings, eve, ["physics.bob@lab"], "eve", "lab")
    with pytest.raises(NotAllowedError):
        check_submitters(settings, eve, ["bob@lab"], "eve", "lab")


def test_a_refusal_lists_ones_groups(settings):
    bob = Actor("bob", "submit", 0, administrator=False)
    with pytest.raises(NotAllowedError, match=r"group physics \(their groups: open\); its members and administrators"):
        check_submitters(settings, bob, ["physics.bob@lab"], "bob", "lab")


def test_only_root_is_believed_who_called_sudo(monkeypatch):
    assert caller_of({"SUDO_UID": "1"}).uid == (1 if os.getuid() == 0 else os.getuid())
    monkeypatch.setattr(os, "getuid", lambda: 2002)
    assert caller_of({"SUDO_UID": "0"}).uid == 2002


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be two users")
class TestAsAnotherUser:
    """In a state file that all may write, as root and as a user without rights.

    Only the real user is another one, by whom fairq knows people: Python may lie where others cannot read it.
    """

    UID = 54321

    @pytest.fixture
    def shared(self):
        place = Path(tempfile.mkdtemp(dir="/tmp"))
        place.chmod(0o777)
        Path(f"{place}/s.db.toml").write_text('[pool]\nadministrators = ["ann"]\n[accounting]\nuid_domain = "lab"\n')
        yield place / "s.db"
        shutil.rmtree(place)

    def fairq(self, state, uid, *words):
        environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "SUDO_UID": "0", "FAIRQ_STATE": str(state)}
        return subprocess.run(
            [sys.executable, "-m", "fairq", *words], env=environment if uid else {**environment, "SUDO_UID": ""},
            preexec_fn=lambda: os.setresuid(uid, 0, 0), cwd="/",
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def test_what_others_may_and_may_not(self, shared):
        assert self.fairq(shared, 0, "submit", "--count", "3", "--", "/bin/true").returncode == 0
        shared.chmod(0o666)
        own = self.fairq(shared, self.UID, "submit", "--count", "2", "--", "/bin/true")
        assert own.returncode == 0, own.stderr
        refused = (
            "remove 1", "hold 1.0", "prio 5 1", "finish 1", "slots add a", "userprio -setfactor root@lab 1",
            "userprio -resetall", "userprio -delete root@lab", "negotiate", "undo 1", "state restore /dev/null",
            "submit --accounting-group-user root -- /bin/true",
            'submit --attribute AccountingGroup="root" -- /bin/true',
            "submit --accounting-group fresh -- /bin/true",
        )  # fmt: skip
        codes = {words: self.fairq(shared, self.UID, *words.split()).returncode for words in refused}
        assert {words for words, code in codes.items() if code == 0} == set()
        done = self.fairq(shared, self.UID, "remove", "--all")
        assert (done.returncode, "2 jobs" in done.stdout) == (0, True)
        assert self.fairq(shared, self.UID, "undo").returncode == 0
        left = self.fairq(shared, 0, "queue", "--af", "Owner").stdout.split()
        assert left == ["root"] * 3 + [str(self.UID)] * 2
