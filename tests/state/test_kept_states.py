"""A state that an earlier fairq left is opened with nothing lost; a change of the schema needs a step."""

import json
import sqlite3
import sys
import tarfile
from contextlib import closing

import pytest
from tests.state.kept_state import FOLDER, LAST_OTHER_DECISIONS, SHOWN, STATE, has_all, shown

from fairq.state import check, document
from fairq.state.connection import migrated, reading, writing
from fairq.state.schema import BASELINE, newest

ARCHIVES = sorted(FOLDER.glob("schema*.tar.xz"))


@pytest.fixture(params=ARCHIVES, ids=lambda file: file.name.partition(".")[0])
def kept(request, tmp_path):
    """The state of an earlier fairq, with its settings and runs beside it."""
    with tarfile.open(request.param) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has no filters
        archive.extractall(tmp_path)
    return tmp_path / STATE


def schema_of(state):
    with closing(sqlite3.connect(state)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_there_is_a_state_of_every_schema():
    """``python -m tests.state.kept_state`` makes that of a new one."""
    assert [file.name for file in ARCHIVES] == [f"schema{n}.tar.xz" for n in range(BASELINE, newest() + 1)]


def test_a_state_is_shown_as_the_fairq_that_wrote_it_showed_it(kept):
    """Jobs that run, groups, quotas, task queues, a grid, cycles and history, before the first write and after it."""
    expected = json.loads(kept.with_name(SHOWN).read_text())
    del expected["export"]["fairq"]
    if schema_of(kept) <= LAST_OTHER_DECISIONS:
        expected = {line: answer for line, answer in expected.items() if not line.startswith("broker why")}
    before = kept.read_bytes()
    answers = shown(sys.executable, kept, expected)
    assert [line for line, answer in expected.items() if not has_all(answers[line], answer)] == []
    assert kept.read_bytes() == before
    with writing(kept) as opened:
        assert check.findings(opened) == []
        exported = json.loads(json.dumps(document.export(opened)))
    assert exported == answers["export"]


def test_the_schema_of_a_new_state_is_that_of_a_kept_one(kept):
    """A changed statement needs a step, or states that are there differ from it."""
    objects = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    with closing(migrated()) as new, reading(kept) as opened:
        assert opened.connection.execute(objects).fetchall() == new.execute(objects).fetchall()
