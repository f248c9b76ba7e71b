"""Event logs: each event is written once whatever is killed, and a file that is no event log loses nothing."""

import os
import resource
import sqlite3
from contextlib import closing

import pytest

from fairq.launch.event_log import append


def forget_that_they_were_written(pool):
    """Leave the state as a process does that is killed between writing the logs and noting it."""
    with closing(sqlite3.connect(pool.state)) as connection:
        connection.create_function("fairq_crc32", 1, lambda text: __import__("zlib").crc32(text), deterministic=True)
        connection.execute("UPDATE job_event SET written = 0")
        connection.commit()


@pytest.mark.parametrize("mine", ["the only results\nof a year\n", "no line break at the end", "12"])
def test_a_file_that_is_no_event_log_keeps_what_it_has(pool, mine):
    log = pool.work / "results.txt"
    log.write_text(mine)
    pool.submit("exit 0", "--log", log)
    assert log.read_text().startswith(mine)
    assert "Job submitted" in log.read_text()


def test_notes_after_the_last_event_stay(pool):
    log = pool.work / "job.log"
    pool.submit("exit 0", "--log", log)
    with log.open("a") as file:
        file.write("mine: this one was wrong\n")
    pool.submit("exit 0", "--log", log)
    assert "mine: this one was wrong\n002 " not in log.read_text()
    assert "\nmine: this one was wrong\n000 (002.000.000)" in log.read_text()


@pytest.mark.parametrize("torn", [1, 10, 40])
def test_an_event_that_a_crash_cut_short_is_written_whole(pool, torn):
    log = pool.work / "job.log"
    pool.submit("exit 0", "--count", 3, "--log", log)
    content = log.read_bytes()
    second = content.index(b"...\n") + 4
    log.write_bytes(content[: second + torn])
    forget_that_they_were_written(pool)
    pool.turn()
    assert log.read_bytes() == content


@pytest.mark.parametrize("count", [3, 3000])
def test_events_written_before_a_crash_are_not_written_again_however_many(pool, count):
    log = pool.work / "job.log"
    pool.submit("exit 0", "--count", count, "--log", log)
    content = log.read_bytes()
    assert content.count(b"Job submitted") == count
    forget_that_they_were_written(pool)
    pool.turn()
    assert log.read_bytes() == content
    log.write_bytes(b"".join(content.splitlines(keepends=True)[:-4]))
    forget_that_they_were_written(pool)
    pool.turn()
    assert log.read_bytes() == content


def test_more_logs_than_a_process_may_open_files_are_all_written(pool):
    count = min(os.sysconf("SC_OPEN_MAX"), 1024) + 200
    pool.submit("exit 0", "--count", count, "--log", pool.work / "job.$(Process).log")
    assert sum("Job submitted" in log.read_text() for log in pool.work.glob("job.*.log")) == count


def test_a_log_with_two_names_gets_the_events_of_both(pool):
    (pool.work / "there").symlink_to(pool.work)
    description = pool.work / "two.sub"
    paths = (pool.work / "job.log", pool.work / "there" / "job.log")
    queue = "".join(f"log = {path}\nqueue\n" for path in paths)
    description.write_text(f"executable = /bin/true\n{queue}")
    assert pool("submit", description).err == ""
    assert (pool.work / "job.log").read_text().count("Job submitted") == 2


def test_an_event_that_does_not_fit_on_the_disk_is_not_taken_for_written(tmp_path):
    log = tmp_path / "job.log"
    entry = b"000 (001.000.000) 2026-11-22 07:00:00 Job submitted from host: <127.0.0.1:0>\n...\n"
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, former[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            append(str(log), [entry])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    append(str(log), [entry])
    assert log.read_bytes() == entry
