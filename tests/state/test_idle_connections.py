"""Connections that are kept open between the transactions of one command."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from fairq.errors.base import StateForeignError, StateReadOnlyError
from fairq.state import meta
from fairq.state.connection import reading, writing
from fairq.state.idle_connections import kept_open


def put(state, value):
    with writing(state) as opened:
        meta.set(opened, "test", value)


def got(state):
    with reading(state) as opened:
        return meta.get(opened, "test")


def test_each_transaction_sees_what_others_have_stored(state):
    with kept_open():
        put(state, "1")
        assert got(state) == "1"
        with closing(sqlite3.connect(state)) as other:
            other.execute("UPDATE meta SET value = '2' WHERE key = 'test'")
            other.commit()
        assert got(state) == "2"


def test_no_lock_is_held_between_transactions(state):
    with kept_open():
        put(state, "1")
        assert got(state) == "1"
        with closing(sqlite3.connect(state, timeout=0)) as other:
            other.execute("BEGIN EXCLUSIVE")


def test_a_file_that_was_replaced_is_opened_anew(state, tmp_path):
    put(state, "old")
    copy = tmp_path / "copy.db"
    shutil.copy(state, copy)
    with kept_open():
        put(state, "new")
        copy.replace(state)
        assert got(state) == "old"
        state.unlink()
        assert got(state) is None
        state.write_text("something else entirely")
        with pytest.raises(StateForeignError):
            got(state)


def test_a_transaction_that_failed_leaves_nothing_behind(state):
    with kept_open():
        put(state, "1")
        with pytest.raises(ZeroDivisionError), writing(state) as opened:
            meta.set(opened, "test", "2")
            _ = 1 / 0
        assert got(state) == "1"
        put(state, "3")
    assert got(state) == "3"


def test_a_reader_cannot_write_and_a_writer_after_it_can(state):
    with kept_open():
        put(state, "1")
        with pytest.raises(StateReadOnlyError), reading(state) as opened:
            meta.set(opened, "test", "2")
        got(state)
        put(state, "3")
        assert got(state) == "3"


def test_transactions_may_overlap(state):
    with kept_open():
        put(state, "1")
        with reading(state) as first, reading(state) as second:
            assert meta.get(first, "test") == meta.get(second, "test") == "1"
        put(state, "2")
        assert got(state) == "2"
