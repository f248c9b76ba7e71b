"""``state check`` finds what must not be in a state, and nothing in a sound one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.state.pools import fill

from fairq.state import check
from fairq.state.connection import reading, writing


def found(state: Path) -> list[str]:
    with reading(state) as opened:
        return check.findings(opened)


def test_a_sound_state_has_no_faults(state: Path) -> None:
    assert found(state) == []
    with writing(state) as opened:
        fill(opened)
    assert found(state) == []


FAULTS: dict[str, tuple[str, str]] = {
    "a job that is there twice": (
        "UPDATE job SET last_proc = 7 WHERE cluster = 1 AND first_proc = 5",
        "queue: job 1.6 is there twice",
    ),
    "a claim for an idle job": (
        "UPDATE claim SET proc = 4 WHERE cluster = 1",
        "claim: slot 2 is claimed for job 1.4, which does not run",
    ),
    "a claim for a job that is not there": (
        "UPDATE claim SET cluster = 9 WHERE cluster = 1",
        "claim: slot 2 is claimed for job 9.5, which does not run",
    ),
    "running jobs without a slot": (
        "UPDATE job SET status = 2 WHERE cluster = 1 AND first_proc = 0",
        "claim: 5 running without a slot: 1.0 to 1.4",
    ),
    "a running job elsewhere without a slot": (
        "UPDATE job SET status = 2 WHERE cluster = 2",
        "claim: 1 running without a slot: 2.0 of far",
    ),
    "somebody else's job": (
        "UPDATE job SET submitter = 'eve@x' WHERE status = 2",
        "claim: slot 2 is claimed by alice@x for job 1.5, which is eve@x's",
    ),
    "a wrong count of slots in use": (
        "UPDATE submitter SET resources_used = 4 WHERE name = 'carol@z'",
        "accounting: carol@z is recorded as using 4 slots, but has claims on 1",
    ),
    "a wrong weight in use": (
        "UPDATE submitter SET weighted_resources_used = 2 WHERE name = 'alice@x'",
        "accounting: alice@x is recorded as using slots of weight 2.0, but the claims have 1.5",
    ),
    "an ad that is no JSON": ("UPDATE slot SET ad = '{' WHERE id = 2", "content: ad of slot 2 is not JSON"),
    "a reference into the void": ("DELETE FROM job_ad WHERE id = 2", "reference: 1 of the records in job refer"),
}


@pytest.mark.parametrize(("statement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_and_told_in_one_line(state: Path, statement: str, words: str) -> None:
    with writing(state) as opened:
        fill(opened)
        opened.connection.execute("PRAGMA defer_foreign_keys = ON")
        # What fairq itself never does takes a detour.
        opened.connection.execute("COMMIT")
        opened.connection.execute("PRAGMA foreign_keys = OFF")
        opened.connection.execute("BEGIN IMMEDIATE")
        opened.connection.execute(statement)
    faults = found(state)
    assert any(fault.startswith(words) for fault in faults), faults
    assert not any("\n" in fault for fault in faults)


def test_damage_of_the_file_is_found(state: Path) -> None:
    with writing(state) as opened:
        fill(opened)
        (page,) = opened.connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'job_owner'").fetchone()
    with state.open("r+b") as file:
        file.seek((page - 1) * 4096 + 3)
        file.write(b"\x00\x00")
    faults = found(state)
    assert faults
    assert all(fault.startswith("damage: ") for fault in faults)
