"""``state check`` finds what must not be in a state, and nothing in a sound one."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from contextlib import closing

import pytest
from tests.state.pools import fill

from fairq.errors.base import FairqError
from fairq.state import check, document
from fairq.state.connection import migrated, reading, writing
from fairq.state.schema import guards


def found(state):
    with reading(state) as opened:
        return check.findings(opened)


def test_a_sound_state_has_no_faults(state):
    assert found(state) == []
    with writing(state) as opened:
        fill(opened)
    assert found(state) == []


FAULTS: dict[str, tuple[str, str]] = {
    "a job that is stored twice": (
        "UPDATE job SET last_proc = 7 WHERE cluster = 1 AND first_proc = 5",
        "queue: job 1.6 is stored twice",
    ),
    "a claim for an idle job": (
        "UPDATE claim SET proc = 4 WHERE cluster = 1",
        "claim: slot 2 is claimed for job 1.4, which is not running",
    ),
    "a claim for a job that is not there": (
        "UPDATE claim SET cluster = 9 WHERE cluster = 1",
        "claim: slot 2 is claimed for job 9.5, which is not running",
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
        "claim: slot 2 is claimed by alice@x for job 1.5, which belongs to eve@x",
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
    "a number that is a text": (
        "UPDATE job SET priority = 'high' WHERE cluster = 2",
        "damage: priority of 2 of the records in job is",
    ),
    "a reference into the void": ("DELETE FROM job_ad WHERE id = 2", "reference: 1 of the records in job refer"),
}


@pytest.mark.parametrize(("statement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_and_told_in_one_line(state, statement, words):
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


def test_damage_of_the_file_is_found(state):
    with writing(state) as opened:
        fill(opened)
        (page,) = opened.connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'job_owner'").fetchone()
    with state.open("r+b") as file:
        file.seek((page - 1) * 4096 + 3)
        file.write(b"\x00\x00")
    faults = found(state)
    assert faults
    assert all(fault.startswith("damage: ") for fault in faults)


def exported(state):
    with reading(state) as opened:
        return json.dumps(document.export(opened))


def complaints(state):
    """What the check says of a file; one that cannot even be opened is found, too."""
    try:
        return found(state)
    except FairqError as error:
        return [str(error)]


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_that_changes_the_content_is_found(state, seed):
    """Whatever record, column or index it is in."""
    with writing(state) as opened:
        fill(opened)
        # Small pages: few bits of the file are in unused space.
        opened.connection.execute("COMMIT")
        opened.connection.executescript("PRAGMA page_size = 512; VACUUM; BEGIN")
    sound, content = state.read_bytes(), exported(state)
    chance = random.Random(seed)
    hits = 0
    for bit in (chance.randrange(8 * len(sound)) for _ in range(100)):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        state.write_bytes(damaged)
        if complaints(state):
            hits += 1
        else:
            assert exported(state) == content, bit
    assert hits > 10


ALTERED: dict[str, tuple[str, str, str]] = {
    "a number": ("claim_terms", "UPDATE claim_terms SET current_rank = 7 WHERE id = 1", "record 1 of claim_terms is"),
    "a job": ("claim", "UPDATE claim SET proc = 7 WHERE slot_id = 2", "record 1 of claim is not as"),
    "terms": ("claim", "UPDATE claim SET terms = 2 WHERE slot_id = 2", "record 1 of claim_terms is that of 0 claims"),
    "an ad": ("slot", "UPDATE slot SET ad = '{}' WHERE id = 2", "record 1 of slot is not as"),
    "an empty text": ("launch", "UPDATE launch SET output = '' WHERE id = 1", "record 1 of launch is not as"),
    "a match": ("match", "UPDATE match SET runs = '[]' WHERE cycle = 1", "record 1 of match is not as"),
    "a value of one job": ("job", "UPDATE job SET queue_date = 1 WHERE cluster = 2", "record 4 of job is not as"),
    "bytes for a text": ("run", "UPDATE run SET how = CAST(how AS BLOB) WHERE id = 2", "how of 1 of the records"),
    "the ad of jobs": ("job_ad", "UPDATE job_ad SET ad = '{}' WHERE id = 1", "record 1 of job_ad is not as"),
    "a decision": (
        "broker_tasks_decision",
        "UPDATE broker_tasks SET reason = 'other' WHERE rowid = 1",
        "record 1 of broker_tasks is not as",
    ),
    "a trigger": ("history", "DROP TRIGGER history_no_delete", "the trigger history_no_delete is missing or is not as"),
}


@pytest.mark.parametrize(("table", "statement", "words"), ALTERED.values(), ids=ALTERED)
def test_what_was_changed_by_no_command_is_named(state, table, statement, words):
    with writing(state) as opened:
        fill(opened)
    behind_the_guard(state, table, statement)
    faults = found(state)
    assert any(fault.startswith(f"damage: {words}") for fault in faults), faults


def behind_the_guard(state, table, statement):
    """Change a record, but not what the table's guard index has of it."""

    def execute(statement, *rows):
        # Each connection reads the schema as the former one left it.
        with closing(sqlite3.connect(state, isolation_level=None)) as raw:
            guards.register(raw)
            raw.execute("PRAGMA writable_schema = ON")
            raw.executemany(statement, rows)

    hidden = (f"guard_{table}", f"{table}_no_update")
    with closing(sqlite3.connect(state)) as raw:
        removed = raw.execute("SELECT * FROM sqlite_master WHERE name IN (?, ?)", hidden).fetchall()
    execute("DELETE FROM sqlite_master WHERE name IN (?, ?)", hidden)
    execute(statement, ())
    execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", *removed)


def test_every_column_is_in_an_index_as_it_is_or_as_a_checksum():
    """A new table, or a new column, needs a guard."""
    with closing(migrated()) as state:
        query = state.execute
        for (table,) in query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1").fetchall():
            # The text of job_ad has a digest, and claims are counted by their terms.
            guarded = {{"job_ad": "ad", "claim": "terms"}.get(table)}
            for _, index, _, _, is_partial in query(f"PRAGMA index_list({table})").fetchall():
                # An index that the schema does not name is the table itself.
                for (sql,) in query("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchall():
                    if not is_partial:
                        guarded.update(name for _, _, name, *_ in query(f"PRAGMA index_xinfo({index})").fetchall())
                        guarded.update(re.findall(r'"(\w+)"', sql or ""))
            for _, column, kind, _, _, key in query(f"PRAGMA table_info({table})").fetchall():
                # The number of a record is its place in the table.
                assert column in guarded or (key and kind == "INTEGER"), (table, column)
