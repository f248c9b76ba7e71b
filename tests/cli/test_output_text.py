"""Nothing in the data steers a terminal, on stdout or stderr, and no message quotes more than a reader can use."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from fairq.common.excerpt import QUOTED_AT_MOST, shortened, shortened_sentence
from fairq.errors.base import InvalidNameError, StateError, UsageError

EVIL = "a\x1b]0;x\x07b\r\x08c\x7fd\x9b31me\u202ef\u200bg\u2066h\u0085i\x0cj\u2028k\ufeffl"
"""ESC, BEL, carriage return, backspace, DEL, C1, bidirectional and invisible characters, other ends of lines."""

ESCAPED = r"a\x1b]0;x\x07b\r\x08c\x7fd\x9b31me\u202ef\u200bg\u2066h\x85i\x0cj\u2028k\ufeffl"
HARMLESS = re.compile(
    r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]*"
)


@pytest.fixture
def pool(run, state, tmp_path, made_once, monkeypatch):
    """A slot and a job with an odd attribute, and a submitter and a queue with an odd name."""
    monkeypatch.chdir(tmp_path)

    def filled(folder):
        job = {"ClusterId": 1, "ProcId": 0, "Owner": "anna", "JobStatus": 1, "Cmd": EVIL, "Odd": EVIL}
        files = {name: folder / f"{name}.json" for name in ("slots", "jobs", "queues")}
        files["slots"].write_text(json.dumps([{"Name": "node", "Odd": EVIL}]))
        files["jobs"].write_text(json.dumps([job]))
        files["queues"].write_text(json.dumps([{"name": "CERN", "site": "CERN", "catchall": EVIL}]))
        words = ("--slots", files["slots"], "--jobs", files["jobs"])
        assert run("--state", folder / state.name, "import", *words).code == 0
        run("--state", folder / state.name, "broker", "queues", "import", files["queues"])

    made_once(filled)
    return state


@pytest.mark.parametrize(
    "line",
    [
        "queue",
        "queue --af Odd",
        "queue --af:lV Odd Cmd",
        "queue --json",
        "queue --ndjson",
        "queue --csv",
        "slots --json",
        "slots --tsv",
        "why 1.0",
        "negotiate --dry-run -v",
        "negotiate --dry-run --json",
        "broker queues --json",
        "broker queues --tsv",
        "state history",
    ],
)
def test_no_listing_lets_a_control_character_through(line, run, pool):
    ended = run("--state", pool, *line.split())
    assert ended.code == 0
    assert HARMLESS.fullmatch(ended.out), ascii(ended.out)
    assert HARMLESS.fullmatch(ended.err), ascii(ended.err)


@pytest.mark.parametrize(
    "words",
    [
        ("hold", EVIL),
        ("hold", "1", "--constraint", f'Owner == "{EVIL}"'),
        ("queue", "--constraint", EVIL),
        ("queue", "--now", EVIL),
        ("queue", f"--{EVIL}"),
        (EVIL,),
        ("userprio", EVIL),
        ("submit", EVIL),
        ("submit", "--attribute", EVIL, "--", "/bin/true"),
        ("import", "--slots", EVIL),
        ("slots", "add", EVIL),
        ("slots", "remove", EVIL),
        ("config", "set", EVIL, "1"),
        ("config", "set", "groups.a.quota", EVIL),
        ("config", "check", EVIL),
        ("quotas", "check", EVIL),
        ("broker", "why", "1", "--queue", EVIL),
        ("taskqueues", "shares", "--rules", EVIL),
        ("export", "-o", f"/nowhere/{EVIL}"),
        ("state", "backup", f"/nowhere/{EVIL}"),
    ],
    ids=lambda words: " ".join(words[:2]).replace(EVIL, "EVIL"),
)
def test_neither_errors_nor_notes_let_a_control_character_through(words, run, pool):
    ended = run("--state", pool, *words)
    assert ended.err
    assert HARMLESS.fullmatch(ended.err), ascii(ended.err)
    assert HARMLESS.fullmatch(ended.out), ascii(ended.out)


def test_a_note_is_one_line_with_its_data_escaped(run, pool):
    assert run("--state", pool, "userprio", EVIL).err == f"fairq: there is no accounting record of {ESCAPED}\n"


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("plot usage --since 2026-11-20T08:00Z --now 2026-11-20T10:00Z", "mean"),
        ("plot shares --since 2026-11-20T08:00Z --now 2026-11-20T10:00Z", "█"),
        ("userprio -classic -allusers", "514.23"),
        ("userprio -allusers", "514.23"),
        ("queue", "sleep"),
    ],
)
def test_columns_are_aligned_whatever_cells_a_name_takes(line, mark, run, state):
    """An escape takes as many cells as it has letters, a wide character two, an accent of its own none."""
    shown = {"ann": 3, "a\u202eb": 8, "李小龍": 6, "e\u0301ve": 3}
    assert run("--state", state, "slots", "add", "node", "--count", 4).code == 0
    for name in shown:
        words = ("--accounting-group-user", f"{name}@x", "--now", "2026-11-20T09:00Z", "--", "/bin/sleep", "5")
        assert run("--state", state, "submit", *words).code == 0
    for hour in ("09", "10"):
        assert run("--state", state, "negotiate", "--now", f"2026-11-20T{hour}:00Z").code == 0
    lines = run("--state", state, *line.split()).out.splitlines()
    places = set()
    for name, cells in shown.items():
        text = name.replace("\u202e", "\\u202e")
        (row,) = (row for row in lines if text in row)
        places.add(row.index(mark) - len(text) + cells)
    assert len(places) == 1, lines


class TestMachineFormats:
    """The formats for programs, as fairq(1) documents them."""

    @pytest.fixture
    def shown(self, run, sample):
        def shown(value, *options):
            ended = run("sample", "show", "--records", json.dumps([{"Name": value}]), *options, "--no-header")
            assert ended.code == 0, ended.err
            return str(ended.out)

        return shown

    @pytest.mark.parametrize("value", [EVIL, "\ud800", "tab\tnewline\n", "back\\slash", "\U000e0041"], ids=ascii)
    def test_json_and_tsv_give_every_value_back(self, value, shown):
        text = shown(value, "--json")
        assert HARMLESS.fullmatch(text), ascii(text)
        assert json.loads(text) == [{"Name": value}]
        line = shown(value, "--tsv").split("\t")[0]
        assert line.encode("ascii").decode("unicode_escape") == value

    def test_csv_keeps_newline_and_tab_in_quotes_and_spells_the_rest(self, shown):
        text = shown("a\nb\tc\\d\x1b[31m\r\u202e", "--csv")
        assert next(csv.reader(io.StringIO(text)))[0] == "a\nb\tc\\d\\x1b[31m\\r\\u202e"


class TestLongValues:
    LONG = "b" * 3000 + "e" * 3000

    @pytest.mark.parametrize(
        "words",
        [
            ("hold", LONG),
            ("hold", "7" * 6000),
            ("queue", "--constraint", f"{LONG} +"),
            ("queue", "--constraint", f"'{LONG}' +"),
            ("queue", "--now", LONG),
            ("queue", f"--{LONG}"),
            (LONG,),
            ("userprio", LONG),
            ("userprio", "--setfactor", "a@b", LONG),
            ("submit", LONG),
            ("submit", "--attribute", LONG, "--", "/bin/true"),
            ("submit", "--request-memory", f"{LONG} XB", "--", "/bin/true"),
            ("submit", "--", LONG),
            ("import", "--slots", LONG),
            ("slots", "add", "a", "--memory", LONG),
            ("slots", "remove", LONG),
            ("config", "set", LONG, "1"),
            ("config", "set", "priority_halflife", LONG),
            ("quotas", "check", LONG),
            ("broker", "why", "7" * 6000),
            ("broker", "config", "set", LONG, "1"),
            ("taskqueues", "shares", "--rules", LONG),
            ("export", "-o", LONG),
            ("--state", LONG, "queue"),
            ("--config", LONG, "config", "show"),
        ],
        ids=lambda words: " ".join(word[:20] for word in words),
    )
    def test_an_error_quotes_beginning_and_end_of_a_long_value(self, words, run):
        err = run(*words).err
        assert err.count("\n") == 1
        assert len(err) < 1100
        assert not re.search(r"b{200}|e{200}|7{200}", err), err
        assert "..." in err

    def test_a_value_of_the_allowed_length_is_whole(self):
        name = "n" * (QUOTED_AT_MOST - 2)
        error = InvalidNameError(what="it", value=name, expected="give another")
        assert f"'{name}'" in str(error)
        assert len(shortened("x" * 201)) == QUOTED_AT_MOST

    def test_the_cure_at_the_end_survives(self):
        error = InvalidNameError(what="it", value="n" * 1000, expected="give another one")
        assert str(error).endswith("give another one")
        assert len(str(error)) < 300
        assert str(UsageError(message=f"--x {'n ' * 900}: give Y")).endswith(": give Y")
        assert "..." in str(StateError(state=Path("/" + "d" * 300), reason="x"))

    def test_a_long_sentence_with_apostrophes_is_whole(self):
        text = "HTCondor's words are " + "many, " * 60 + "and DIRAC's are few"
        assert shortened_sentence(text) == text
