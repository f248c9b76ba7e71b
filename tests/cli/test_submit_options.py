"""The options of condor_submit: lines and a queue statement from the command line, macros, and the name of a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TEXT = "executable = /bin/sleep\narguments = $(LENGTH:60)\npriority = 1\n"


@pytest.fixture
def submit(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.sub").write_text(f"{TEXT}queue\n")
    Path("none.sub").write_text(f"{TEXT}\\")
    Path("two.sub").write_text(f"{TEXT}queue\npriority = 7\nqueue 2\n")
    return lambda *words: run("--state", state, "submit", *words)


def ads(submit, *words):
    ended = submit("--dry-run", "--json", *words)
    assert (ended.code, ended.err) == (0, "")
    found: list[dict[str, Any]] = json.loads(ended.out)
    return found


def test_lines_are_read_above_each_queue_statement(submit):
    made = ads(submit, "two.sub", "-append", "priority = 5", "-a", '+Site = "CERN"')
    assert [(job["JobPrio"], job["Site"]) for job in made] == [(5, "CERN")] * 3


def test_macros_are_set_above_the_first_line(submit):
    (job,) = ads(submit, "LENGTH=5", "one.sub", "priority=3")
    assert (job["Args"], job["JobPrio"]) == ("5", 1)
    (job,) = ads(submit, "one.sub")
    assert job["Args"] == "60"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["none.sub", "-queue", "3"], ["60", "60", "60"]),
        (["none.sub", "-queue", "LENGTH", "in", "(1", "2)", "-terse"], ["1", "2"]),
        (["none.sub", "--queue=2", "LENGTH=4"], ["4", "4"]),
    ],
)
def test_a_queue_statement_from_the_command_line(submit, words, want):
    assert [job["Args"] for job in ads(submit, *words)] == want


def test_a_batch_has_a_name_and_its_jobs_are_told_tersely(submit):
    assert [job["JobBatchName"] for job in ads(submit, "one.sub", "-batch-name", "night")] == ["night"]
    assert [job["JobBatchName"] for job in ads(submit, "-batch-name", "night", "--", "/bin/true")] == ["night"]
    assert submit("-terse", "two.sub").out == "1.0 - 1.2\n"
    assert submit("-terse", "--", "/bin/true").out == "2.0 - 2.0\n"


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["one.sub", "-queue", "3"], 31, "one.sub: there is a queue statement; leave out --queue"),
        (["none.sub", "-queue", "x in (1"], 31, "--queue: "),
        (["one.sub", "-append", "priority"], 2, "--append: 'priority' is no line NAME = VALUE"),
        (["one.sub", "-append", "a = 1\nqueue 5"], 2, r"--append: 'a = 1\nqueue 5' is no line NAME = VALUE"),
        (
            ["-queue", "3", "one.sub"],
            2,
            "no submit description; name it before --queue, which takes the words after it",
        ),
        (["one.sub", "-queue"], 2, "-queue needs 1 value; see fairq submit --help"),
        (["A=1", "--", "/bin/true"], 2, "NAME=VALUE is only for a submit description; leave it out with -- PROGRAM"),
        (["-a", "x=1", "--", "/bin/true"], 2, "--append is only for a submit description"),
        (["-queue", "2", "--", "/bin/true"], 2, "--queue is only for a submit description"),
        (["one.sub", "two.sub"], 2, "give one submit description; a command with its arguments goes after --"),
    ],
)
def test_what_does_not_fit_is_refused(submit, words, code, problem):
    ended = submit(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert ended.err.startswith(f"fairq: {problem}")
