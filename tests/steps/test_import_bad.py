"""Dumps that are wrong: one clear line, an exit code of its own, and nothing changed."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.steps.import_cases import NOW, dump, job, slot, user

UNREADABLE, INVALID_DUMP, INVALID_AD, DUPLICATE = 46, 47, 48, 49

GOOD = {"--slots": slot(), "--jobs": job(), "--accounting": user()}


def text_of(*ads):
    return json.dumps(ads).encode()


FILES: list[tuple[str, bytes, int, str]] = [
    ("any", b"<?xml version='1.0'?>", INVALID_DUMP, "XML"),
    ("any", b"hello world", INVALID_DUMP, "neither the -json nor the -long form"),
    ("any", b"\x7fELF\x02\x01\x00\x00", INVALID_DUMP, "not UTF-8 text"),
    ("any", b'[{"Name": "caf\xe9"}]', INVALID_DUMP, "not UTF-8 text"),
    ("any", b"[", INVALID_DUMP, "line 1, ad 1: the text ends too early"),
    ("--slots", text_of(slot())[:-1], INVALID_DUMP, "line 1, ad 2: the text ends too early"),
    ("any", b'[{"Name": "slot', INVALID_DUMP, "line 1, ad 1: the text ends too early"),
    ("any", b"[] [", INVALID_DUMP, "the text ends too early"),
    ("any", b"[] x", INVALID_DUMP, "'x' stands where '[' is expected"),
    ("any", b'{"a": 1', INVALID_DUMP, "the text ends too early"),
    ("any", b"[1, 2]", INVALID_AD, "ad 1: not an ad but a number"),
    ("any", b'["a"]', INVALID_AD, "ad 1: not an ad but a text"),
    ("any", b"[" * 100_000, INVALID_AD, "nested too deeply"),
    ("any", b'[{"Name": NaN}]', INVALID_AD, "NaN is no number"),
    ("any", b'[{"A": ' + b"9" * 5000 + b"}]", INVALID_AD, "too many digits"),
    ("any", gzip.compress(text_of({}) * 1000)[:-20], UNREADABLE, "compression is damaged"),
    ("--slots", text_of({"Cpus": 1}), INVALID_AD, "ad 1: it has no Name"),
    ("--slots", text_of(slot(), slot(" ")), INVALID_AD, "ad 2: Name is ' '"),
    ("--slots", text_of(slot(), slot("b"), slot()), DUPLICATE, "ad 3: duplicate slot slot1@m1, first in ad 1"),
    ("--slots", text_of(slot(Start="/Expr(1 +)/")), INVALID_AD, "ad 1: Start does not parse"),
    ("--slots", text_of(slot(Start="/Expr(true")), INVALID_AD, "ad 1: Start does not parse"),
    ("--slots", text_of(slot(Memory=2**63)), INVALID_AD, "ad 1: Memory is too large a number"),
    ("--slots", b'[{"Name": "a", "Load": 1e999}]', INVALID_AD, "ad 1: Load is not a finite number"),
    ("--slots", b'[{"Name": "a", "List": [{"B": 1e999}]}]', INVALID_AD, "ad 1: List.B is not a finite number"),
    ("--slots", b'[{"Name": "a", "Text": "\\ud800"}]', INVALID_AD, "ad 1: the text of Text is damaged"),
    ("--slots", b'[{"Name": "a", "Deep": ' + b"[" * 900 + b"]" * 900 + b"}]", INVALID_AD, "Deep is nested too deeply"),
    ("--slots", b'Name = "a"\nCpus 1\n', INVALID_DUMP, "line 2, ad 1: not of the form Name = value"),
    ("--slots", b'Name = "a"\n\nName = "b"\nCpus =\n', INVALID_AD, "ad 2: line 4: the value of Cpus is not an expr"),
    ("--slots", b'Name = "a"\nCpus = (1\n', INVALID_AD, "ad 1: Cpus does not parse"),
    ("--jobs", text_of({"ProcId": 0}), INVALID_AD, "ad 1: it has no ClusterId"),
    ("--jobs", text_of({"ClusterId": 1}), INVALID_AD, "ad 1: it has no ProcId"),
    ("--jobs", text_of(job(-1)), INVALID_AD, "ad 1: ClusterId is -1"),
    ("--jobs", text_of(job(1, -1)), INVALID_AD, "ad 1: ProcId is -1"),
    ("--jobs", text_of(job(1, 0), job(1, 10**12)), INVALID_AD, "ad 2: ProcId is 1000000000000"),
    ("--jobs", text_of(job(1.5)), INVALID_AD, "ad 1: ClusterId is 1.5"),  # type: ignore[arg-type]
    ("--jobs", text_of(job(True)), INVALID_AD, "ad 1: ClusterId is True"),
    ("--jobs", text_of(job("1")), INVALID_AD, "ad 1: ClusterId is '1'"),  # type: ignore[arg-type]
    ("--jobs", text_of(job(1, 0), job(1, 1), job(1, 0)), DUPLICATE, "ad 3: duplicate job 1.0, first in ad 1"),
    ("--jobs", text_of(job(JobStatus=9)), INVALID_AD, "ad 1: JobStatus is 9"),
    ("--jobs", text_of(job(JobStatus="idle")), INVALID_AD, "ad 1: JobStatus is 'idle'"),
    ("--jobs", text_of(job(JobPrio="high")), INVALID_AD, "ad 1: JobPrio is 'high'"),
    ("--jobs", text_of(job(QDate=-1)), INVALID_AD, "ad 1: QDate is -1"),
    ("--jobs", text_of({"ClusterId": 1, "ProcId": 0}), INVALID_AD, "'' is not a valid name for the owner of a job"),
    ("--jobs", text_of(job(Owner=["a"])), INVALID_AD, "ad 1: its owner is not a text"),
    ("--jobs", text_of(job(AccountingGroup="two words")), INVALID_AD, "name for a submitter; remove the white space\n"),
    ("--jobs", text_of(job(1, 0), job(1, 1, Requirements="/Expr(a b)/")), INVALID_AD, "ad 2: Requirements does not"),
    ("--accounting", text_of({"Priority": 1.0}), INVALID_AD, "ad 1: it has no Name"),
    ("--accounting", text_of(user("a b")), INVALID_AD, "ad 1: Name is 'a b'"),
    ("--accounting", text_of(user(), user()), DUPLICATE, "duplicate record of alice@example.org"),
    ("--accounting", text_of(user(Priority=-1)), INVALID_AD, "ad 1: Priority is -1; give a number, 0 or more"),
    ("--accounting", text_of(user(Priority="high")), INVALID_AD, "ad 1: Priority is 'high'"),
    ("--accounting", text_of(user(Ceiling=1.5)), INVALID_AD, "ad 1: Ceiling is 1.5; give a whole number"),
    ("--accounting", text_of(user(PriorityFactor="/Expr(1+1)/")), INVALID_AD, "ad 1: PriorityFactor is '/Expr(1+1)/'"),
]


@pytest.fixture
def before(run, state, tmp_path):
    """A pool of one slot, one job and one user; return the bytes of its state."""
    words: list[object] = []
    for option, ad in GOOD.items():
        words += [option, dump(tmp_path, f"good{option}", ad)]
    assert run("--state", state, "import", *words, "--now", NOW).code == 0
    return state.read_bytes()


@pytest.mark.parametrize(
    ("option", "content", "code", "message"), FILES, ids=[f"{option} {message}" for option, _, _, message in FILES]
)
def test_wrong_dump(
    option,
    content,
    code,
    message,
    before,
    run,
    state,
    tmp_path,
):
    """The line names the file, the place and the cure; the good dumps beside the wrong one are not taken either."""
    bad = tmp_path / "bad"
    bad.write_bytes(content)
    for wrong in GOOD if option == "any" else [option]:
        words: list[object] = []
        for other in GOOD:
            words += [other, bad if other == wrong else dump(tmp_path, "empty")]

        ended = run("--state", state, "import", *words, "--now", NOW)

        assert ended.code == code
        assert ended.out == ""
        assert ended.err.startswith(f"fairq: {bad}")
        assert message in ended.err
        assert "; " in ended.err
        assert ended.err.count("\n") == 1
        assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--slots", "missing.json"], UNREADABLE, "missing.json cannot be read: no such file or directory; name a"),
        (["--jobs", "."], UNREADABLE, ". cannot be read: is a directory"),
        (["--accounting", ""], UNREADABLE, "'' cannot be read"),
        (["--jobs", "a\0b"], UNREADABLE, "cannot be read: embedded null byte"),
        ([], 2, "nothing to import"),
        (["--slots", "-", "--jobs", "-"], 2, "can be read only once"),
        (["pool.json", "--slots", "-"], 2, "a state document has all data"),
        (["missing.json"], UNREADABLE, "missing.json cannot be read"),
    ],
)
def test_wrong_use(
    words,
    code,
    message,
    run,
    state,
    tmp_path,
    monkeypatch,
):
    """What cannot be read is named in one line; no state is created."""
    monkeypatch.chdir(tmp_path)

    ended = run("--state", state, "import", *words)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not state.exists()


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", INVALID_DUMP, "it is empty"),
        (b"[]", INVALID_DUMP, "not a state document, which is one object"),
        (b"{", INVALID_DUMP, "line 1: not JSON"),
        (b"[" * 100_000, INVALID_DUMP, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", INVALID_DUMP, "too many digits"),
        (b"{}", 45, "not a complete state document"),
        (b"\xff\xfe", INVALID_DUMP, "not UTF-8 text"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_wrong_document(
    content,
    code,
    message,
    dry_run,
    before,
    run,
    state,
    tmp_path,
):
    """A document that is none leaves the state as it is."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)

    ended = run("--state", state, "import", bad, *(["--dry-run"] if dry_run else []))

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert state.read_bytes() == before
