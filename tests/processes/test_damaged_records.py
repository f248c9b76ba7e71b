"""A state whose records are damaged inside a sound file: every command says so, and where."""

import os
import re
import sqlite3
from contextlib import closing

import pytest
from tests.processes.live import start

from fairq.errors.base import StateDamagedError
from fairq.state.schema import guards

CASES = [
    ("slot", "ad", "slots", "1"),
    ("slot", "ad", "negotiate", "1"),
    ("slot", "name", "slots", "1"),
    ("job_ad", "ad", "queue", "1"),
    ("job_ad", "ad", "negotiate --dry-run", "1"),
    ("job_ad", "ad", "export", "1"),
    ("job", "owner", "queue", "1, , 0"),
    ("job", "owner", "hold 1.0", "1, , 0"),
    ("cycle", "decision", "state cycle", "1"),
    ("cycle", "decision", "quotas", "1"),
    ("history", "after", "state history", "1"),
    ("history", "command", "state history", "1"),
    ("match", "runs", "state cycle", "1"),
    ("submitter", "name", "userprio --allusers", None),
    ("meta", "value", "submit -- /bin/true", None),
    ("broker_cycle", "document", "broker why 5 --last", "1"),
    ("broker_tasks", "status", "broker run", "5"),
]


@pytest.fixture
def pool(run, state, made_once):
    """Two slots, three jobs, a cycle of each kind; one group."""

    def filled(folder):
        (folder / "state.db.toml").write_text("[groups.group_a]\nquota = 1\n")
        (folder / "queues.json").write_text('[{"name": "CERN", "site": "CERN", "status": "online"}]')
        (folder / "tasks.json").write_text('[{"jediTaskID": 5, "status": "ready", "prodSourceLabel": "managed"}]')
        for words in (
            ("slots", "add", "n", "--count", "2"),
            ("submit", "--count", "3", "--", "/bin/true"),
            ("negotiate",),
            ("broker", "queues", "import", folder / "queues.json"),
            ("broker", "tasks", "import", folder / "tasks.json"),
            ("broker", "run"),
        ):
            ended = run("--state", folder / state.name, *words)
            assert ended.code == 0, ended.err

    made_once(filled)
    return state


def damage(state, table, column, start):
    """Put *start* in the place of the first character of a column's texts, as rot on a disk does."""
    with closing(sqlite3.connect(state)) as connection, connection:
        guards.register(connection)
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        changed = connection.execute(
            f"UPDATE {table} SET {column} = CAST(? || substr(CAST({column} AS BLOB), 2) AS TEXT)", (start,)
        )
        assert changed.rowcount


@pytest.mark.parametrize(("table", "column", "line", "key"), CASES, ids=str)
def test_a_text_that_is_not_utf_8_is_named(table, column, line, key, pool, run):
    damage(pool, table, column, b"\xff")
    ended = run("--state", pool, *line.split())
    assert (ended.code, ended.out, ended.err.count("\n")) == (StateDamagedError.exit_code, "", 1), ended.err
    named = f"{column} of {table} {key} is " if key else f"{column} of {table} "
    assert f"the state file {pool} is damaged: " in ended.err
    assert named in ended.err
    assert "; restore a backup with 'fairq state restore'; if the file can be read, " in ended.err


@pytest.mark.parametrize(
    ("table", "column", "line"),
    [case[:3] for case in CASES if case[1] in ("ad", "decision", "after", "document", "runs")],
)
def test_a_document_that_is_not_json_is_named(table, column, line, pool, run):
    damage(pool, table, column, b"}")
    ended = run("--state", pool, *line.split())
    assert (ended.code, ended.err.count("\n")) == (StateDamagedError.exit_code, 1), ended.err
    assert re.search(rf"is damaged: {column} of {table} 1 is not JSON: ", ended.err)


def test_a_mistake_of_the_user_is_not_laid_to_the_state(pool, run):
    damage(pool, "history", "after", b"}")
    assert run("--state", pool, "hold", "77.0").code == 30
    assert run("--state", pool, "queue").code == 0


def test_neither_is_a_reader_that_went_away(pool):
    damage(pool, "history", "after", b"}")
    reader, writer = os.pipe()
    os.close(reader)
    with start(pool, "export", "--jobs", stdout=writer) as process:
        os.close(writer)
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 141)
