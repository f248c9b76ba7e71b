"""Plain commands with the pool of a host: which one is used, reading a copy, and changes by its program."""

import json
import subprocess
import sys

import pytest

from fairq.common.lock_wait import holders
from fairq.host.client import stuck
from fairq.settings.layers import site_file


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site file that names a pool; sudo is a script that starts the program as this user, an administrator.

    Commands take this user for one that may not open the state.
    """
    state, program, sudo = tmp_path / "pool" / "pool.db", tmp_path / "apply", tmp_path / "bin" / "sudo"
    for folder in (state.parent, sudo.parent, site_file().parent):
        folder.mkdir(parents=True)
    site_file().write_text(
        f'[pool]\nstate = "{state}"\nprogram = "{program}"\naccount = "root"\n[accounting]\nuid_domain = "lab"\n'
    )
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\nfrom fairq.host.verb.main import main\n"
        f"sys.exit(main(Path({str(state)!r}), Path({str(site_file())!r})))\n"
    )
    sudo.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\nexec "$4"\n')
    for file in (program, sudo):
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sudo.parent}:/usr/bin:/bin")
    monkeypatch.setattr("fairq.cli.pool_in_use._opens_it", lambda _: False)
    return site_file()


def calls(tmp_path):
    return len((tmp_path / "calls").read_text().splitlines())


def test_the_pool_of_the_host_is_used_unless_something_else_is_named(run, site, state, monkeypatch):
    told = json.loads(run("pool", "--json").out)
    assert (told["kind"], told["named_by"], told["account"]) == ("host", None, "root")
    assert f"the pool of this host: {site} names it" in run("pool").out
    assert json.loads(run("--state", state, "pool", "--json").out)["kind"] == "named"
    assert json.loads(run("--state", told["path"], "pool", "--json").out)["kind"] == "host"
    monkeypatch.setenv("FAIRQ_POOL_USE", "private")
    assert "pool.use is private in $FAIRQ_POOL_USE" in run("pool").out
    monkeypatch.delenv("FAIRQ_POOL_USE")
    assert run("config", "set", "pool.use", "private").code == 0
    assert json.loads(run("pool", "--json").out)["kind"] == "private"
    assert run("config", "unset", "pool.use").code == 0
    assert json.loads(run("pool", "--json").out)["kind"] == "host"


def test_changes_go_to_the_program_and_a_copy_is_read(run, site, tmp_path):
    assert "submitted to cluster 1" in run("submit", "--count", 3, "--", "/bin/true").out
    assert json.loads(run("queue", "--json", "1.2").out)[0]["ProcId"] == 2
    before = calls(tmp_path)
    assert run("queue").code == run("status").code == 0
    assert calls(tmp_path) == before
    assert run("remove", "--constraint", "ProcId > 0").out == (
        "2 jobs matching constraint ProcId > 0 have been removed\n"
    )
    assert "undone" in run("undo").out
    assert run("userprio", "--setfactor", "root@lab", "4").out == (
        "The priority factor of root@lab was set to 4.000000\n"
    )
    assert json.loads(run("queue", "--json").out)[2]["ProcId"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ["negotiate"],
        ["run", "--for", "1"],
        ["taskqueues", "match", "--site", "A", "--cputime", "9"],
    ],
)
def test_what_the_program_does_not_make_is_refused(run, site, words):
    assert run("submit", "--", "/bin/true").code == 0
    ended = run(*words)
    assert ended.code in (2, 101)
    assert ended.code == 2 or "sudo -u root fairq" in ended.err


def test_rules_and_the_time_are_those_of_the_pool(run, site, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text("")
    assert "leave out --config" in run("--config", other, "submit", "--", "/bin/true").err
    assert "leave out --now" in run("submit", "--now", 5, "--", "/bin/true").err


def test_a_program_that_keeps_a_lock_is_ended_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(stuck, "LONGEST", 0.5)
    place, program, other = tmp_path / "lock", tmp_path / "apply", tmp_path / "negotiate"
    place.touch()
    for script in (program, other):
        script.write_text(
            f"import fcntl, time\nfile = open({str(place)!r}, 'w')\nfcntl.lockf(file, fcntl.LOCK_SH)\n".replace(
                "'w'", "'r'"
            )
            + "print('ready', flush=True)\ntime.sleep(600)\n"
        )
    started = [subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) for script in (program, other)]
    try:
        for one in started:
            assert one.stdout is not None
            one.stdout.readline()
        if not (found := holders(place)):
            pytest.skip("the kernel does not list the locks of this file system")
        assert stuck.end_stuck(program, place, found) == [started[0].pid]
        started[0].wait(30)
        assert started[1].poll() is None
    finally:
        for one in started:
            one.kill()
            one.communicate()
