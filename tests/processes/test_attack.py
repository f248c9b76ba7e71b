"""Kills, hostile documents and damaged inputs, drawn at random: the state stays sound, nothing ends in a traceback.

FAIRQ_TEST_ATTACK multiplies what is drawn: 1 if it is not set; 100 for 500 kills, 1,000 documents and 3,000 inputs.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest
from tests.cli.broker_sample import NOW, TASK, fill

from fairq.common.records import Actor
from fairq.errors.base import FairqError
from fairq.host.verb.changes import Pool, make
from fairq.host.verb.document import parse
from fairq.settings import load
from fairq.state import check
from fairq.state.connection import reading

TIMES = int(os.environ.get("FAIRQ_TEST_ATTACK", "1"))
KILLS, DOCUMENTS, INPUTS = 5 * TIMES, 10 * TIMES, 30 * TIMES

COMMANDS = (
    ["negotiate"], ["submit", "--count", "50", "--", "/bin/true"], ["hold", "--all"], ["release", "--all"],
    ["taskqueues", "match", "--site", "Site.example.org", "--cputime", "90000", "--count", "20"],
    ["broker", "run", "--all", "--now", str(NOW)], ["remove", "1"], ["userprio", "--setfactor", "a@x", "2"],
    ["state", "compact"], ["undo", "--yes"], ["slots", "drain", "here"], ["slots", "drain", "here", "--cancel"],
    ["pool", "pause"], ["pool", "resume"], ["slots", "reserve", "here", "--until", "+1s"],
)  # fmt: skip


def test_a_command_that_is_killed_leaves_a_sound_state(run, state, tmp_path):
    chance = random.Random(3)
    tasks = [TASK | {"jediTaskID": number} for number in range(1, 200)]
    fill(run, state, tmp_path, tasks=tasks)
    run("--state", state, "slots", "add", "here", "--count", 20)
    run("--state", state, "submit", "--count", 300, "--", "/bin/true")
    killed: Counter[str] = Counter()
    begun = time.monotonic()
    assert run("--state", state, "negotiate").code == 0
    longest = time.monotonic() - begun
    for _ in range(KILLS):
        words = chance.choice(COMMANDS)
        line = [sys.executable, "-m", "fairq", "-q", "--state", str(state), *words]
        nothing = subprocess.DEVNULL
        with subprocess.Popen(line, stdin=nothing, stdout=nothing, stderr=nothing) as one:
            time.sleep(chance.uniform(0, longest))
            one.send_signal(signal.SIGKILL)
        killed[" ".join(words[:2])] += one.returncode == -signal.SIGKILL
        with reading(state) as opened:
            assert check.findings(opened) == [], words
    assert run("--state", state, "negotiate").code == 0
    assert run("--state", state, "broker", "run", "--all", "--now", NOW).code == 0
    assert killed.total() > 0


def _odd(chance, value):
    """Return *value* with something in it changed."""
    odd = ["", "x" * 5000, "\0", "\x1b[2J", -1, 2**70, 1e308, True, None, [], {}, [[]], "1.0", "--all", "../..", "a'b"]
    if isinstance(value, dict) and value and chance.random() < 0.7:
        name = chance.choice(sorted(value))
        return {**value, name: _odd(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], _odd(chance, value[place]), *value[place + 1 :]]
    return chance.choice(odd)


def test_a_hostile_document_changes_nothing_unseen(state):
    chance = random.Random(5)
    pool = Pool(state, load(None, None, {}), "here")
    group = {"first": 0, "last": 3, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
    edit = {"kind": "setfactor", "name": "a@x", "value": 2.0, "seconds": None}
    arguments: dict[str, dict[str, Any]] = {
        "submit": {"ads": [{"Cmd": "/bin/true", "Arguments": "a b"}], "groups": [group], "cluster": None},
        "hold": {"jobs": ["1.0"]}, "release": {"jobs": None}, "remove": {"jobs": ["2"]}, "undo": {"number": None},
        "prio": {"jobs": ["1"], "value": 1, "relative": False}, "userprio": {"edits": [edit]},
        "slots drain": {"names": ["n"], "schedule": "quick"}, "finish": {"jobs": ["1"], "end": None, "exit_code": 0},
        "pool pause": {"until": None}, "pool resume": {},
        "slots reserve": {"names": ["n"], "begin": 0, "end": None, "users": [], "groups": []},
    }  # fmt: skip
    for number in range(DOCUMENTS):
        verb = chance.choice(sorted(arguments))
        whole = {"fairq": 1, "id": f"{number:032x}", "verb": verb, "command": "x", "reason": None,
                 "arguments": arguments[verb]}  # fmt: skip
        content = json.dumps(_odd(chance, whole) if chance.random() < 0.9 else whole).encode()
        if chance.random() < 0.1:
            content = content[: chance.randrange(len(content))]
        actor = Actor("mallory", "x", 1_700_000_000, administrator=False, request=(f"{number:032x}", "0" * 32))
        try:
            make(pool, actor, parse(content))
        except FairqError as error:
            assert "\n" not in str(error)
    with reading(state) as opened:
        assert check.findings(opened) == []


@pytest.mark.parametrize("kind", ["slots", "jobs", "accounting", "configuration", "document"])
def test_a_damaged_input_is_refused_in_one_line_or_read(run, state, tmp_path, kind):
    chance = random.Random(kind)
    run("--state", state, "slots", "add", "n", "--count", 3)
    run("--state", state, "submit", "--count", 3, "--", "/bin/true")
    run("--state", state, "negotiate", "--now", NOW)
    file = tmp_path / "input"
    words: list[object] = ["import", f"--{kind}", file, "--dry-run"]
    if kind == "configuration":
        whole = b"PRIORITY_HALFLIFE = 4000\nGROUP_NAMES = a, b\nGROUP_QUOTA_a = 4\nif defined X\nY = $(Z:1)\nendif\n"
        words = ["config", "import", file, "--dry-run"]
    else:
        subject = [] if kind == "document" else [f"--{kind}", chance.choice(["--json", "--long"])]
        whole = run("--state", state, "export", *subject).out.encode()
        words = ["import", file, "--dry-run"] if kind == "document" else words
    for _ in range(INPUTS // 5):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            place = chance.randrange(len(content) or 1)
            way = chance.random() if content else 1.0
            if way < 0.5:
                content[place] = chance.randrange(256)
            elif way < 0.8:
                del content[place : place + chance.randint(1, 20)]
            else:
                content = content[: max(1, place)]
        file.write_bytes(content)
        ended = run("--state", state, *words)
        assert "internal error" not in ended.err, bytes(content)
        assert ended.code == 0 or ended.err.count("\n") >= 1
