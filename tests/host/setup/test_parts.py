"""The parts of ``fairq pool create`` that need neither root nor an account."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fairq.errors.base import FairqError
from fairq.errors.host import HostPoolError, HostStepError
from fairq.host.setup import create, installation, rule, site, units
from fairq.host.setup.owners import weakness
from fairq.host.setup.plan import Rollback, Step, carry_out
from fairq.host.setup.site import PoolOptions

NOTHING = PoolOptions(None, None)


def test_a_place_where_everybody_may_write_is_no_place_for_a_program(tmp_path):
    program = tmp_path / "apply"
    program.write_text("")
    program.chmod(0o755)
    assert weakness(program) is not None
    assert weakness(Path("/usr/bin/env")) is None
    link = tmp_path / "link"
    link.symlink_to("/usr/bin/env")
    assert weakness(link) is not None, "whoever may replace the link chooses the program"


@pytest.mark.parametrize("starts", [False, True])
def test_visudo_accepts_the_rule(tmp_path, starts):
    if not (visudo := shutil.which("visudo", path="/usr/sbin:/sbin:/usr/bin")):
        pytest.skip("needs visudo")
    draft = tmp_path / "fairq"
    draft.write_text(rule.text(starts))
    ended = subprocess.run([visudo, "-c", "-f", draft], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ("/usr/lib/fairq/start" in rule.text(starts)) is starts


@pytest.mark.parametrize(
    ("every", "cron", "timer"), [(1, "* * * * *", "*:*"), (5, "*/5 * * * *", "*:0/5"), (60, "0 * * * *", "*:00")]
)
def test_cron_and_timer_have_the_same_minutes(every, cron, timer):
    assert units.cron_line(every, ["x", "y"]).splitlines()[-1] == f"{cron} fairq umask 077; exec x y"
    assert f"OnCalendar={timer}\n" in units.cycle_units(every, ["x"])["fairq.timer"]
    for text in (units.cron_line(every, ["x"]), units.cycle_units(every, ["x"])["fairq.timer"]):
        assert units.every_of(text) == every, "a second run keeps it"


def test_the_site_files_own_rules_stay(tmp_path, monkeypatch):
    file = tmp_path / "fairq.toml"
    file.write_text('[groups.physics]\nquota = 3  # cores\n\n[pool]\nadministrators = ["root"]\nprivate_jobs = true\n')
    monkeypatch.setattr(site, "SITE", file)
    monkeypatch.setattr(site, "put", lambda path, text, mode, back: file.write_text(text))
    site.writing(NOTHING, socket=False).do(Rollback())
    written = tomllib.loads(file.read_text())
    assert written["pool"]["administrators"] == ["root"]
    assert written["launch"] == {"run_as": "owner"}
    assert "quota = 3  # cores" in file.read_text()
    assert site.settings()["pool.state"] == "/var/lib/fairq/pool.db"
    site.removing().do(Rollback())
    remaining = tomllib.loads(file.read_text())
    assert remaining["pool"] == {"administrators": ["root"], "private_jobs": True}
    assert site.settings()["pool.state"] is None


def test_an_administrator_has_to_exist():
    with pytest.raises(HostPoolError, match="there is no group nobody-is-in-it"):
        create.planned(PoolOptions(["%nobody-is-in-it"], None))


def test_a_failing_step_takes_back_the_others_in_reverse_and_says_what_stays():
    done: list[str] = []

    def step(name, undone=True):
        def undo():
            if not undone:
                raise OSError
            done.append(f"not {name}")

        def do(back):
            done.append(name)
            back.add(name, undo)

        return Step(name, False, do)

    def fail(back):
        raise FairqError(message="no")

    with pytest.raises(HostStepError, match=r"step 4 failed \(last\): no; these stay: b; correct"):
        carry_out([step("a"), step("b", undone=False), Step("-", True, fail), step("c"), Step("last", False, fail)])
    assert done == ["a", "b", "c", "not c", "not a"]


def test_a_copy_has_all_that_fairq_needs_and_nothing_else():
    parts = installation.parts()
    names = {name.parts[0].lower() for name in parts}
    assert {"fairq", "numpy", "typer", "classad2", "htcondor2"} <= names
    assert not names & {"pytest", "_pytest", "mypy", "ruff", "pip"}
    assert any(name.name == "entry_points.txt" and name.parts[0].startswith("fairq-") for name in parts)
    assert not any(name.suffix in (".pth", ".pyc") for name in parts)


@pytest.fixture
def with_sudo(monkeypatch):
    """Plan as on a host with sudo, wherever the tests run."""
    monkeypatch.setattr(rule, "has_sudo", lambda: True)


@pytest.mark.usefixtures("with_sudo")
def test_others_than_root_may_only_look_at_the_plan(run, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for command in ("create", "remove"):
        refused = run("pool", command, "--yes")
        assert (refused.code, "run the command with sudo" in refused.err) == (111, True)
    assert run("pool", "create", "--dry-run").code == 0


def test_where_nothing_names_who_asks_no_pool_is_planned(run, monkeypatch):
    monkeypatch.setattr(rule, "has_sudo", lambda: False)
    monkeypatch.setattr(create, "has_systemd", lambda: False)
    refused = run("pool", "create", "--dry-run")
    assert (refused.code, refused.err.rstrip().endswith("nothing was changed; install sudo")) == (111, True)


@pytest.mark.usefixtures("with_sudo")
def test_a_question_that_nobody_can_answer_is_not_asked(run, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(create, "carry_out", lambda steps: pytest.fail("it has begun"))
    ended = run("pool", "create")
    assert (ended.code, "add --yes" in ended.err) == (2, True)
