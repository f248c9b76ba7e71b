"""A backup is the state at one instant, whole, and never in the place of something else."""

import pytest
from tests.state.pools import fill

from fairq.errors.base import BackupError
from fairq.state import document, meta
from fairq.state.connection import backup, reading, writing


def test_a_backup_holds_the_whole_state(state, tmp_path):
    with writing(state) as opened:
        fill(opened)
        expected = document.export(opened)
    backup(state, tmp_path / "copy.db")
    with reading(tmp_path / "copy.db") as opened:
        assert document.export(opened) == expected
    assert {path.name for path in tmp_path.iterdir()} == {"state.db", "copy.db"}


def test_a_backup_waits_for_no_writer(state, tmp_path):
    """It shows the state as it was before a write that is still under way."""
    with writing(state) as opened:
        meta.set(opened, "cycle", "1")
    with writing(state) as opened:
        meta.set(opened, "cycle", "2")
        backup(state, tmp_path / "copy.db", wait=0)
    with reading(tmp_path / "copy.db") as opened:
        assert meta.get(opened, "cycle") == "1"


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_what_is_there_is_never_overwritten(state, tmp_path, kind):
    with writing(state) as opened:
        fill(opened)
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("precious")
    elif kind == "link":
        target.symlink_to(tmp_path / "nowhere")
    else:
        target.mkdir()
    with pytest.raises(BackupError, match="exists already"):
        backup(state, target)
    assert {path.name for path in tmp_path.iterdir()} == {"state.db", "target"}
    assert kind != "file" or target.read_text() == "precious"


def test_a_place_that_cannot_be_written_is_named(state, tmp_path):
    with writing(state) as opened:
        fill(opened)
    with pytest.raises(BackupError, match=r"no/copy\.db was not written: No such file or directory"):
        backup(state, tmp_path / "no" / "copy.db")


def test_there_must_be_something_to_back_up(state, tmp_path):
    with pytest.raises(BackupError, match="does not exist"):
        backup(state, tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []
