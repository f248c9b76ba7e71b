"""[submit] of the settings fills in what a submission does not say."""

import grp
import json
import os
from pathlib import Path

import pytest

SETTINGS = """
[submit]
cpus = 2
mem = "2GB"
time = "2h"
env = ["SITE=north", "LEVEL"]
mail = "fail"
[submit.groups]
nosuch = "other"
%s = "physics"
[groups.physics]
quota = 4
[groups.other]
quota = 4
"""


@pytest.fixture
def fairq(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEVEL", "7")
    Path(f"{state}.toml").write_text(SETTINGS % json.dumps(grp.getgrgid(os.getgid()).gr_name))

    def fairq(*words, code=0):
        ended = run("--state", state, *words)
        assert ended.code == code, ended.err
        return ended

    return fairq


NAMES = ("RequestCpus", "RequestMemory", "AllowedExecuteDuration", "AccountingGroup", "Environment", "JobNotification")


def ad(fairq):
    found = json.loads(fairq("queue", "--json").out)[-1]
    return {name: found.get(name) for name in NAMES}


FILLED = {"RequestCpus": 2, "RequestMemory": 2048, "AllowedExecuteDuration": 7200, "JobNotification": 3,
          "Environment": "LEVEL=7 SITE=north"}  # fmt: skip


def test_a_program_has_what_the_settings_say(fairq):
    said = fairq("submit", "-v", "--", "/bin/true").err
    assert ad(fairq) | {"AccountingGroup": None} == FILLED | {"AccountingGroup": None}
    assert ad(fairq)["AccountingGroup"].startswith("physics.")
    assert "filled in: request_memory = 2048 (submit.mem, " in said
    assert "filled in: environment = SITE=north LEVEL (submit.env, " in said
    assert "physics (submit.groups." in said
    fairq("submit", "--cpus", "4", "--env", "SITE=south", "--nice-user", "--", "/bin/true")
    found = ad(fairq)
    assert (found["RequestCpus"], found["Environment"]) == (4, "LEVEL=7 SITE=south")
    assert "physics" not in str(found["AccountingGroup"])


def test_a_description_and_a_node_have_them_unless_they_say_otherwise(fairq):
    Path("a.sub").write_text(
        'executable = /bin/true\nRequestMemory = 100\nenv = A=1\n+AccountingGroup = "other.x"\nqueue\n'
    )
    said = fairq("submit", "-v", "a.sub").err
    found = ad(fairq)
    assert [found[name] for name in NAMES[:4]] == [2, 100, 7200, "other.x"]
    assert found["Environment"] == "A=1" and "request_memory" not in said and "request_cpus = 2" in said
    Path("a.dag").write_text("JOB A a.sub\n")
    fairq("submit", "a.dag")
    assert ad(fairq) == found
    Path("job.sh").write_text("#!/bin/sh\n#SBATCH --mem=300\n")
    fairq("submit", "job.sh")
    assert (ad(fairq)["RequestMemory"], ad(fairq)["RequestCpus"]) == (300, 2)


def test_settings_are_checked_and_shown(fairq):
    shown = fairq("config", "show", "submit", "--origin").out
    assert "submit.groups.nosuch" in shown and "state.db.toml" in shown
    assert fairq("config", "set", "submit.mem", "none", code=16).err
    fairq("config", "set", "submit.groups.nosuch", "physics")
    fairq("config", "unset", "submit.groups.nosuch")
    assert "nosuch" not in fairq("config", "show", "submit").out
