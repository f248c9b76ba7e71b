"""The whole main job where its state lies at odd places: links, odd names, read-only and full file systems."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.processes.live import NOW

Run = Callable[..., Any]


def main_job(run, state):
    """Queue two jobs, match them, look at them, change somebody's factor, back up, export and check."""
    at = ("--state", state)
    assert run("slots", *at, "add", "node", "--count", "2", "--now", NOW).code == 0
    assert run(*at, "submit", "--count", "2", "--now", NOW, "--", "/bin/sleep", "1").code == 0
    ended = run(*at, "negotiate", "--json", "--now", NOW)
    assert (ended.code, len(json.loads(ended.out)["matches"])) == (0, 2), ended.err
    assert run(*at, "userprio", "--setfactor", "anna@example.org", "7").code == 0
    assert len(run(*at, "queue", "--running", "--procs", "--af", "ProcId").out.splitlines()) == 2
    assert run(*at, "state", "backup", f"{state}.copy").code == 0
    assert run(*at, "export", "--output", f"{state}.json").code == 0
    assert run(*at, "import", f"{state}.json").code == 0
    assert run(*at, "config", "set", "priority_halflife", "60").code == 0
    assert run(*at, "config", "get", "priority_halflife").out.startswith("60")
    assert run(*at, "state", "check").code == 0


@pytest.mark.parametrize(
    "name",
    ["two words", "o'b\"r", "größe-数", "line\nbreak", "%s{x}$HOME", "?mode=ro#x", "x" * 200, ":memory:"],
)
def test_the_name_of_the_state_may_be_anything(name, run, tmp_path, monkeypatch):
    """Relative to the working directory, too; nothing is written under another name."""
    monkeypatch.chdir(tmp_path)
    main_job(run, name)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted([name, f"{name}.copy", f"{name}.json", f"{name}.toml"])
    error = run("--state", name, "userprio", "--delete", "nobody@x").err
    assert error.count("\n") == 1


def test_a_name_that_is_no_text_is_a_name_too(run, tmp_path):
    main_job(run, os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))


def test_links_lead_to_one_state_that_stays_where_it_is(run, tmp_path):
    """A link is never replaced by a file; the sidecar and the journal lie beside the real state."""
    real = tmp_path / "data" / "pool.db"
    real.parent.mkdir()
    link, chain = tmp_path / "link.db", tmp_path / "chain.db"
    link.symlink_to(real)
    chain.symlink_to("link.db")
    main_job(run, chain)
    assert link.is_symlink() and chain.is_symlink()
    assert real.is_file()
    assert len(run("--state", real, "queue", "--json").out) > 10
    assert run("--state", link, "state", "path").out == f"{real}\n"
    assert [path.name for path in real.parent.iterdir() if path.suffix not in (".db", ".toml")] == []


@pytest.fixture
def mounted(run, state):
    """Run command lines, one after another, where a shell has mounted something before; tell how each ended."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1) here")
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    trial = subprocess.run([*alone, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False)
    if trial.returncode:
        pytest.skip("this system lets nobody mount a file system of his own")

    def mounted(before, *lines):
        script = before
        for number, line in enumerate(lines):
            script += f'\n{sys.executable} -m fairq {line} > /dev/null 2> "$0/{number}"; echo $? >> "$0/codes"'
        folder = state.parent / "ended"
        folder.mkdir()
        ended = subprocess.run([*alone, script, folder], capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 0, ended.stderr
        codes = (folder / "codes").read_text().split()
        return [(int(code), (folder / str(number)).read_text()) for number, code in enumerate(codes)]

    return mounted


def test_a_read_only_file_system_can_be_looked_at_and_says_so_to_all_else(run, state, tmp_path, mounted):
    frozen = tmp_path / "frozen"
    frozen.mkdir()
    pool = frozen / "pool.db"
    assert run("--state", pool, "slots", "add", "node", "--now", NOW).code == 0
    assert run("--state", pool, "submit", "--now", NOW, "--", "/bin/sleep", "1").code == 0
    looking = ["queue", "slots", "userprio", "negotiate --dry-run", "state check", "state history", "export"]
    changing = ["negotiate", "submit -- /bin/true", "remove 1", "hold 1", "userprio --setfactor a@b 2", "prio 5 1"]
    ended = mounted(
        f"mount --bind {frozen} {frozen} && mount -o remount,bind,ro {frozen}",
        *(f"--state {pool} {words}" for words in (*looking, *changing)),
    )
    assert [code for code, _ in ended] == [0] * len(looking) + [9] * len(changing)
    refusal = (
        f"fairq: the state file {pool} cannot be changed: the file system is read-only; nothing was done; "
        "make it writable, or name another file with --state\n"
    )
    assert {error for _, error in ended[len(looking) :]} == {refusal}


def test_a_full_file_system_refuses_the_step_and_keeps_the_state(run, state, tmp_path, mounted):
    disk = tmp_path / "disk"
    disk.mkdir()
    pool, kept = disk / "pool.db", tmp_path / "kept.db"
    many = tmp_path / "many.sub"
    items = "\n".join(f"{n}" for n in range(20_000))
    many.write_text(f"executable = /bin/sleep\narguments = $(item)-{'x' * 60}\nqueue from (\n{items}\n)\n")
    assert run("--state", kept, "slots", "add", "node", "--now", NOW).code == 0
    before = run("--state", kept, "export").out
    ended = mounted(
        f"mount -t tmpfs -o size=1m tmpfs {disk} && cp {kept} {pool} || exit 1",
        f"--state {pool} submit {many}",
        f"--state {pool} state check",
        f"--state {pool} export --output {tmp_path / 'after.json'}",
        f"--state {pool} submit -- /bin/true",
        f"--state {pool} negotiate",
    )
    assert ended[0] == (
        10,
        f"fairq: no space left to write the state file {pool}; nothing was changed; free some space and try again\n",
    )
    assert [code for code, _ in ended[1:]] == [0, 0, 0, 0]
    assert (tmp_path / "after.json").read_text() == before
