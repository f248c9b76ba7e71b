"""The order in which slots, jobs and accounts come in never matters to a cycle under the documented rules."""

from __future__ import annotations

import json
import random

import pytest
from tests.steps.import_cases import NOW, dump, job, slot, user

OWNERS = ("anna", "bert", "carl", "dora")


def slots(make):
    """Slots of different sizes, some with a weight or a preference of their own, many alike."""
    return [
        slot(
            f"slot{number}@m{number % 3}",
            Cpus=make.choice([1, 1, 2, 4]),
            Memory=make.choice([512, 1024, 2048]),
            SlotWeight=make.choice(["/Expr(Cpus)/", 1, 0.5]),
            Rank=make.choice([0, '/Expr(TARGET.Owner == "anna")/']),
            Requirements="/Expr(TARGET.RequestMemory <= Memory && TARGET.RequestCpus <= Cpus)/",
        )
        for number in range(12)
    ]


def jobs(make):
    """Jobs of four owners, of different priorities, sizes and preferences."""
    result = []
    for cluster in range(1, 9):
        owner = make.choice(OWNERS)
        more = {
            "Owner": owner,
            "User": f"{owner}@example.org",
            "QDate": NOW - make.randrange(3) * 60,
            "RequestCpus": make.choice([1, 2]),
            "RequestMemory": make.choice([100, 600]),
            "Rank": make.choice([0, "/Expr(TARGET.Memory)/", "/Expr(-TARGET.Cpus)/"]),
        }
        result += [job(cluster, proc, JobPrio=make.choice([0, 0, 5]), **more) for proc in range(make.randrange(1, 5))]
    return result


def accounts(make):
    """Accounts of which two are equal."""
    factors = [10.0, 10.0, 25.0, 40.0]
    make.shuffle(factors)
    return [user(f"{owner}@example.org", PriorityFactor=factor) for owner, factor in zip(OWNERS, factors, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_a_shuffled_pool_is_matched_alike(seed, run, tmp_path, monkeypatch):
    """Two cycles with usage charged between them: the same matches in the same order, the same accounts."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    make = random.Random(seed)
    parts = {"--slots": slots(make), "--jobs": jobs(make), "--accounting": accounts(make)}
    outcomes = []
    for turn in range(4):
        state = tmp_path / f"{turn}.db"
        words: list[object] = []
        for option, ads in parts.items():
            words += [option, dump(tmp_path, f"ads{option}", *ads)]
            make.shuffle(ads)
        assert run("--state", state, "import", *words, "--now", NOW).code == 0
        outcome = []
        for now in (NOW, NOW + 3600):
            ended = run("--state", state, "negotiate", "--json", "--now", now)
            assert (ended.code, ended.err) == (0, "")
            outcome.append(json.loads(ended.out))
        assert run("--state", state, "finish", "--all", "--now", NOW + 5000).code == 0
        outcome.append(json.loads(run("--state", state, "negotiate", "--json", "--now", NOW + 7200).out))
        outcome.append(run("--state", state, "userprio", "--allusers", "--json").out)
        outcomes.append(outcome)
    assert outcomes[0][0]["matches"], "the pool is worth shuffling"
    assert all(outcome == outcomes[0] for outcome in outcomes[1:])
