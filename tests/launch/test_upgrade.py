"""Jobs that an earlier fairq has started are taken over by this one, whatever its schema."""

import shutil
import tarfile

import pytest
from tests.launch.conftest import until
from tests.state.kept_state import BEGIN, FOLDER, STATE

CLUSTERS = {6, 7, 8}
"""Of the jobs that the earlier fairq started: one ended, one was lost with its machine, one was about to start."""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("schema*.tar.xz")), ids=lambda file: file.name.partition(".")[0])
def test_the_running_jobs_of_an_earlier_fairq_end_once_each(pool, file, tmp_path):
    with tarfile.open(file) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has no filters
        archive.extractall(tmp_path / "kept")
    shutil.copy(tmp_path / "kept" / STATE, pool.state)
    shutil.copytree(tmp_path / "kept" / f"{STATE}.runs", pool.runs)
    others = {row["slot_id"] for row in pool.export()["claims"] if row["cluster"] not in CLUSTERS}

    def is_over():
        pool.turn()
        return not any(job["cluster"] in CLUSTERS for job in pool.export()["jobs"])

    until(is_over, "the end of the jobs")
    document = pool.export()
    runs = [run for run in document["runs"] if run["cluster"] in CLUSTERS]
    ends = [(run["cluster"], run["how"], run["exit_code"]) for run in runs]
    assert sorted(ends, key=str) == [(6, "finished", 3), (7, "finished", 0), (7, "lost", None), (8, "finished", 0)]
    (first,) = [run for run in runs if run["cluster"] == 6]
    assert first["start_time"] == BEGIN + 360
    assert 2 <= first["end_time"] - first["start_time"] < 30
    assert {row["slot_id"] for row in document["claims"]} == others
    slot_seconds = sum(run["end_time"] - run["start_time"] for run in runs)
    assert [record["accumulated_usage"] for record in document["submitters"] if record["name"] == "alice@x"] == [
        slot_seconds
    ]
    pool.done("state", "check")
