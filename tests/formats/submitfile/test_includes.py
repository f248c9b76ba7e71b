"""``include`` in submit descriptions, and items from outside: read once, in time, with the place named in messages."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.submitfile import Context, Description, External, submission

Write = Callable[[str, str], Path]

PROGRAM = "executable = /bin/sh\n"


@pytest.fixture(autouse=True)
def write(tmp_path, monkeypatch):
    """Write a file into the directory in which the description is read."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def read(text, timeout=60):
    context = Context("alice", Path("/tmp"), "X86_64", "LINUX", {})
    return submission(Description(text, "job.sub", External(timeout)), 7, context)


def arguments(text):
    made_jobs = read(text)
    return [
        group.ad(proc).get("Args")
        for group in made_jobs.groups
        for proc in range(group.first_proc, group.last_proc + 1)
    ]


def refused(text, timeout=60):
    with pytest.raises(SubmitDescriptionError) as caught:
        read(text, timeout)
    return str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "include : a.sub",
        "include: a.sub",
        "INCLUDE : $(HERE)/a.sub",
        "@include : a.sub",
        "include ifexist : a.sub",
        "include : /bin/cat a.sub |",
        "include command : /bin/cat a.sub",
        "include : \"/bin/cat 'a.sub'\" |",
        "include ifexist : no.sub\ninclude : a.sub",
        "include ifexist command : /no/such/program\ninclude : a.sub",
        "include : outer.sub",
        "if defined HERE\ninclude : a.sub\nelse\ninclude : no.sub\nendif",
    ],
)
def test_what_is_included_stands_in_its_place(statement, write):
    write("a.sub", "X = $(X)2\n")
    write("outer.sub", "# a comment\ninclude : a.sub\n")

    assert arguments(f"HERE = .\nX = 1\n{statement}\n{PROGRAM}arguments = $(X)\nX = $(X)3\nqueue\n") == ["123"]


def test_an_include_that_an_if_leaves_out_is_not_read():
    assert arguments(f"if false\ninclude : /dev/zero\nendif\n{PROGRAM}arguments = x\nqueue\n") == ["x"]


def test_the_output_of_a_command_is_kept_in_its_cache(write, tmp_path):
    write("count", "")
    text = f"include command into cache.sub : /bin/sh tick.sh\n{PROGRAM}arguments = $(A)\nqueue\n"
    write("tick.sh", "echo x >> count; echo A = $(wc -l < count)\n")

    assert [arguments(text), arguments(text)] == [["1"], ["1"]]
    assert (tmp_path / "cache.sub").read_text() == "A = 1\n"


def test_files_and_commands_are_read_once_for_all_queue_statements(write, tmp_path):
    write("count", "")
    write("tick.sh", "echo x >> count; echo A = $(wc -l < count)\n")
    write("items.sh", "echo x >> count; echo item\n")

    result = arguments(
        f"include : /bin/sh tick.sh |\n{PROGRAM}arguments = $(A) $(item)\n"
        "queue\nqueue item from /bin/sh items.sh |\nqueue 2\n"
    )

    assert result == ["1", "1 item", "1", "1"]
    assert (tmp_path / "count").read_text().count("x") == 2


def test_an_included_text_ends_where_it_ends(write):
    write("a.sub", "A = 1\\")

    assert arguments(f"include : a.sub\n{PROGRAM}arguments = $(A)\nqueue\n") == ["1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("A = 1\nqueue\n", "a.sub, line 2: a queue statement cannot be in an included text"),
        ("if true\nA = 1\n", "a.sub: an 'if' in it has no 'endif'"),
        ("else\nA = 1\n", "a.sub, line 1: this 'else' has no 'if'"),
        ("\nhello world\n", "a.sub, line 2: 'hello world' is neither NAME = VALUE nor a queue statement"),
        ("include : a.sub\n", "a.sub, line 1: too many includes; use at most 8 nested ones"),
        ("A = $(B)\nB = $(A)\n", "a.sub, line 1: macros refer to each other: "),
        ("A = \0", "job.sub, line 2: 'a.sub' cannot be included: it is not text: it contains a zero byte"),
    ],
)
def test_what_is_wrong_in_an_included_file_is_told_with_its_place(content, message, write):
    write("a.sub", content)

    assert refused(f"if true\ninclude : a.sub\nendif\n{PROGRAM}queue\n").startswith(message)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("include : no.sub", "line 1: 'no.sub' cannot be included: No such file or directory"),
        ("include : /tmp", "line 1: '/tmp' cannot be included: Is a directory"),
        ("include : |", "line 1: '|' cannot be included: there is no command before the |"),
        ("include :", "line 1: nothing follows the include; name a file or a command"),
        ("include : /no/program |", "line 1: '/no/program |' cannot be included: No such file or directory"),
        ("include output : x", "write include : FILE, include ifexist : FILE or include : COMMAND |"),
        ("A = $(B)\nB = $(A)\nif $(A)\nendif", "line 3: macros refer to each other: a -> b -> a"),
    ],
)
def test_an_include_that_cannot_be_is_refused(statement, message):
    assert message in refused(f"{statement}\n{PROGRAM}queue\n")


def test_a_pipe_to_which_nobody_writes_is_not_awaited_for_ever(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    late = "it did not end within 0.1 s (submit.command_timeout)"
    assert refused(f"include : pipe\n{PROGRAM}queue\n", 0.1) == f"job.sub, line 1: 'pipe' cannot be included: {late}"
    assert refused(f"{PROGRAM}queue x from pipe\n", 0.1).endswith(f"the items' file pipe cannot be read: {late}")


def test_a_command_that_prints_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr("fairq.formats.submitfile.external.LARGEST", 1 << 20)

    assert refused(f"{PROGRAM}queue x from yes |\n").endswith("it has no end, or more than 256 MiB")


def test_a_file_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "items.txt").write_bytes(b"a\xff\n")
    (tmp_path / os.fsdecode(b"x\xff")).touch()

    assert refused(f"{PROGRAM}queue x from items.txt\n").endswith("items.txt cannot be read: it is not UTF-8 text")
    assert "the name of a matching file is not UTF-8" in refused(f"{PROGRAM}queue x matching x*\n")
