"""A random life of a pool with partitionable slots: what they have is neither lost nor made."""

from __future__ import annotations

import json
import random

import pytest

NOW = 1_795_000_000


@pytest.mark.parametrize("seed", range(6))
def test_parts_and_rest_sum_up_to_the_machines(run, state, tmp_path, seed):
    """Over submits, cycles, ends, holds, re-imports and changed rules every machine keeps what it has."""
    chance = random.Random(seed)
    now = NOW

    def fairq(*words):
        ended = run("--state", state, *words)
        # There may be no such job, or none in the right state.
        assert ended.code == 0 or 30 <= ended.code < 40, ended.err
        return str(ended.out)

    whole = {f"m{number}": (chance.randint(1, 9), 2000 * chance.randint(1, 4)) for number in range(3)}
    for name, (cpus, memory) in whole.items():
        fairq("slots", "add", name, "--partitionable", "--cpus", cpus, "--memory", memory, "--now", now)
    fairq("config", "set", "negotiator.preemption_requirements", "true")
    machines = fairq("slots", "--json")
    for _ in range(14):
        now += 600
        target = chance.randint(1, 5)
        match chance.choice(["submit", "negotiate"] * 2 + ["finish", "hold", "remove", "import", "set"]):
            case "submit":
                fairq("submit", "--count", chance.randint(1, 6), "--request-cpus", chance.randint(1, 4),
                      "--request-memory", chance.randint(1, 3000), "--accounting-group", chance.choice("ab"),
                      "--now", now, "--", "/bin/sleep", "9")  # fmt: skip
            case "negotiate":
                fairq("negotiate", "--now", now)
            case "import":
                (tmp_path / "slots.json").write_text(machines)
                fairq("import", "--slots", tmp_path / "slots.json", "--now", now)
            case "set":
                key, value = chance.choice(
                    [
                        ("negotiator_depth_first", "true"),
                        ("allow_pslot_preemption", "true"),
                        ("preempt_prio_delta", "off"),
                        ("negotiator_use_slot_weights", "false"),
                    ]
                )
                fairq("config", "set", f"negotiator.{key}", value)
            case command:
                fairq(command, target, "--now", now)
        checked = run("--state", state, "state", "check")
        assert checked.code == 0, checked.out
        found: dict[str, tuple[int, int]] = {}
        for slot in json.loads(fairq("slots", "--json")):
            assert slot["Cpus"] >= 0 and slot["Memory"] >= 0
            cpus, memory = found.get(slot["Machine"], (0, 0))
            found[slot["Machine"]] = (cpus + slot["Cpus"], memory + slot["Memory"])
        assert found == whole
