"""In whose turn a slot was matched is known in later cycles."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

NOW = 1_795_210_080

MACHINE = {"Cpus": 1, "Memory": 1024, "Disk": 1_000_000, "Arch": "X86_64", "OpSys": "LINUX", "Requirements": True}


CONFIG = """
[accounting]
uid_domain = "x"
[negotiator]
group_autoregroup = true
preemption_requirements = '''{}'''
[groups.physics]
quota = 2
[groups.chemistry]
quota = 4
"""


@pytest.fixture
def shared(run, state, tmp_path):
    """Six slots of physics's: two by its quota, four by its second chance, while chemistry wants six."""
    slots = [{**MACHINE, "Name": f"slot{n}", "State": "Unclaimed", "Activity": "Idle"} for n in range(1, 7)]
    (tmp_path / "slots.json").write_text(json.dumps(slots))
    assert run("--state", state, "import", "--slots", tmp_path / "slots.json", "--now", NOW).code == 0
    queue(run, state, tmp_path, "physics.ann", 1)
    cycle(run, state, tmp_path, "false", NOW)
    queue(run, state, tmp_path, "chemistry.ben", 2)
    return state


def queue(run, state, folder, group, cluster):
    """Queue six jobs of a group's member."""
    (folder / "config.toml").write_text(CONFIG.format("false"))
    (folder / "jobs.sub").write_text(
        f'executable = /bin/true\n+AccountingGroup = "{group}"\n'
        "request_cpus = 1\nrequest_memory = 1\nrequest_disk = 1\nrequirements = HasFileTransfer =!= 1\nqueue 6\n"
    )
    words = ["submit", folder / "jobs.sub", "--now", NOW]
    done = run("--state", state, "--config", folder / "config.toml", *words)
    assert done.code == 0, done.err


def cycle(run, state, folder, policy, now):
    """Hold a cycle with a policy of preemption and return its matches."""
    (folder / "config.toml").write_text(CONFIG.format(policy))
    done = run("--state", state, "--config", folder / "config.toml", "negotiate", "--now", now, "--json")
    assert done.code == 0, done.err
    matches: list[dict[str, Any]] = json.loads(done.out)["matches"]
    return matches


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("RemoteAutoregroup =?= true", {("physics", False): 2}),
        ('RemoteNegotiatingGroup == "physics" && !RemoteAutoregroup', {("<none>", True): 4}),
        ("isUndefined(RemoteNegotiatingGroup)", {("physics", False): 2, ("<none>", True): 4}),
    ],
)
def test_what_a_second_chance_gave_can_be_told_from_what_a_quota_gave(policy, left, shared, run, tmp_path):
    """The next cycle's policy takes just such slots from their user, and then it is known in whose turn again."""
    matches = cycle(run, shared, tmp_path, policy, NOW + 86_400)
    taken = 6 - sum(left.values())
    assert [match["preempted"]["submitter"] for match in matches] == ["physics.ann@x"] * taken

    slots = json.loads(run("--state", shared, "export", "--slots").out)
    told = Counter((slot["RemoteUser"], slot["RemoteNegotiatingGroup"], slot["RemoteAutoregroup"]) for slot in slots)
    physics = {("physics.ann@x", *turn): count for turn, count in left.items()}
    assert told == Counter({("chemistry.ben@x", "chemistry", False): taken, **physics})


def test_an_exported_pool_still_tells_it(shared, run, tmp_path):
    """Slots and jobs that go out and come in again have the same turns, and so has the document."""
    for subject in ("slots", "jobs"):
        (tmp_path / f"{subject}.json").write_text(run("--state", shared, "export", f"--{subject}").out)
    words = ["--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", NOW]
    copy = tmp_path / "copy.db"
    assert run("--state", copy, "import", *words).code == 0
    matches = cycle(run, copy, tmp_path, "RemoteAutoregroup =?= true", NOW + 86_400)
    assert [match["preempted"]["submitter"] for match in matches] == ["physics.ann@x"] * 4
