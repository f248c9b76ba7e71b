"""Jobs that an earlier release has started are taken over by this one, whatever its schema."""

from __future__ import annotations

import shutil

import pytest
from tests.launch.zoo import BEGIN, FIRST, ZOO

from fairq.state.schema import MIGRATIONS

FILES = sorted(ZOO.glob("schema*"), key=lambda directory: int(directory.name.removeprefix("schema")))


def test_there_is_a_running_pool_of_the_first_and_of_todays_schema() -> None:
    """``python -m tests.launch.zoo`` makes that of a new one."""
    assert (FILES[0].name, FILES[-1].name) == (f"schema{FIRST}", f"schema{len(MIGRATIONS)}")


@pytest.mark.parametrize("former", FILES, ids=lambda file: file.name)
def test_the_running_jobs_of_an_earlier_release_end_once_each(pool, former):
    shutil.copy(former / "pool.db", pool.state)
    shutil.copytree(former / "pool.db.runs", pool.runs)
    pool.done("run", "--until-idle")
    document = pool.export()
    ends = {(run["cluster"], run["how"], run["exit_code"]) for run in document["runs"]}
    assert ends == {(1, "finished", 3), (2, "lost", None), (2, "finished", 0), (3, "finished", 0)}
    (first,) = [run for run in document["runs"] if run["cluster"] == 1]
    assert first["start_time"] == BEGIN
    assert 2 <= first["end_time"] - BEGIN < 30
    assert (document["jobs"], document["claims"]) == ([], [])
    held = sum(run["end_time"] - run["start_time"] for run in document["runs"])
    assert sum(one["accumulated_usage"] for one in document["submitters"] if not one["is_group"]) == held
    pool.done("state", "check")
