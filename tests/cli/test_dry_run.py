"""``--dry-run`` of every command that changes something: it says what would be, and changes no byte."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from fairq.cli.registry import root
from fairq.columns.broker.kinds import KINDS, STORED

NOW = 1_795_210_080

LINES: dict[str, list[str]] = {
    "submit": ["submit {sub}", "submit --count 9 -- /bin/true"],
    "remove": ["remove 1", "remove --all"],
    "hold": ["hold 1.0", "hold --constraint ProcId==0"],
    "release": ["release 2", "release --all"],
    "edit": ["edit 1 --mem 2GB", "edit --all Site true"],
    "prio": ["prio 5 1", "prio +5 --all", "prio --top 1"],
    "finish": ["finish 1", "finish --all --exit-code 1"],
    "slots add": ["slots add other --count 3", "slots add --file {slots}"],
    "slots remove": ["slots remove spare", "slots remove --force node"],
    "slots drain": ["slots drain node", "slots drain --cancel spare"],
    "slots reserve": ["slots reserve node --until +1h --for a", "slots reserve --count 1"],
    "pool pause": ["pool pause --until +1h"],
    "undo": ["undo"],
    "negotiate": ["negotiate", "negotiate --json"],
    "userprio": [
        "userprio --setprio a@x 5",
        "userprio --setfactor a@x 5",
        "userprio --setfactor a@x 5 --duration 60",
        "userprio --setfloor a@x 5",
        "userprio --setceiling a@x 5",
        "userprio --setaccum a@x 5",
        "userprio --setbegin a@x 5",
        "userprio --setlast a@x 5",
        "userprio --resetusage a@x",
        "userprio --resetall",
        "userprio --cancelfactorlease b@x",
        "userprio --delete a@x",
        "userprio --prune 1s",
    ],
    "import": ["import --slots {slots}", "import --jobs {jobs}", "import {document}"],
    "broker timeouts": ["broker timeouts --apply"],
    **{f"broker {name} import": [f"broker {name} import {{folder}}/{name}.json"] for name in KINDS},
    "broker import": ["broker import {grid}"],
    "broker run": ["broker run", "broker run 1 --summary"],
    "broker config set": ["broker config set NW_ACTIVE true"],
    "broker config unset": ["broker config unset NW_THRESHOLD"],
    "broker config import": ["broker config import {folder}/config.json"],
    "taskqueues shares": ["taskqueues shares", "taskqueues shares --json"],
    "taskqueues match": ["taskqueues match --site S --cputime 100000"],
    "taskqueues import": ["taskqueues import {queues}"],
    "quotas set": ["quotas set new --quota 2 --members a", "quotas set new --share 20%"],
    "quotas remove": ["quotas remove chess"],
    "config set": ["config set priority_halflife 60"],
    "config unset": ["config unset negotiator.tie_break"],
    "config import": ["config import {condor}"],
}

ELSEWHERE = {"pool create", "pool remove", "pool resume", "rerun", "slots sync"}
"""They need a host, an engine, a pause or ended jobs of their own: tests/host/setup, tests/engines, test_pool_pause and
test_rerun try them."""


def commands(command, name=""):
    """Yield every command of the tree that does something, by its full name."""
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for word in command.list_commands(None):
        yield from commands(command.get_command(None, word), f"{name} {word}".strip())


@pytest.fixture
def pool(run, state, tmp_path, made_once, monkeypatch):
    """Two slots, a running and two idle jobs, a held one, two accounts; and files to submit and import."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def filled(folder):
        fill(folder, folder / state.name, run)

    made_once(filled)
    files = {name: tmp_path / name for name in ("sub", "slots", "jobs", "document", "condor", "queues", "stale")}
    return {**files, "folder": tmp_path, "grid": tmp_path / "grid.zip"}


def fill(folder, state, run):
    files = {name: folder / name for name in ("sub", "slots", "jobs", "document", "condor", "queues", "stale")}
    files["sub"].write_text("executable = /bin/true\nqueue 3\n")
    files["slots"].write_text(json.dumps([{"Name": "new", "Cpus": 1}]))
    files["jobs"].write_text(json.dumps([{"ClusterId": 9, "ProcId": 0, "Owner": "z", "JobStatus": 1}]))
    files["condor"].write_text("PRIORITY_HALFLIFE = 60\n")
    files["queues"].write_text("TQId,Owner,OwnerGroup,CPUTime,Jobs\n5,a,g,360,2\n")
    files["stale"].write_text(json.dumps([{"PandaID": 5, "jobStatus": "sent", "modificationTime": NOW - 9000}]))
    for kind in STORED:
        record = {column.name: (*column.words, "1")[0] for column in kind.keys}
        (folder / f"{kind.name}.json").write_text(json.dumps([record]))
    with zipfile.ZipFile(folder / "grid.zip", "w") as archive:
        for kind in STORED:
            archive.write(folder / f"{kind.name}.json", f"{kind.name}.json")
    assert run("--state", folder / "none.db", "export", "--output", files["document"]).code == 0
    for words in (
        ("slots", "add", "node"),
        ("submit", "--count", "3", "--", "/bin/sleep", "1"),
        ("submit", "--", "/bin/sleep", "1"),
        ("hold", "2"),
        ("userprio", "--setfactor", "a@x", "4"),
        ("userprio", "--setfactor", "b@x", "4", "--duration", "900000000"),
        ("userprio", "--setaccum", "a@x", "4"),
        ("userprio", "--setlast", "a@x", "4"),
        ("negotiate",),
        ("broker", "config", "set", "NW_THRESHOLD", "2"),
        ("broker", "tasks", "import", folder / "tasks.json"),
        ("slots", "add", "spare"),
        ("slots", "drain", "spare"),
        ("broker", "jobs", "import", files["stale"]),
    ):
        ended = run("--state", state, *words, "--now", NOW)
        assert ended.code == 0, ended.err
    Path(f"{state}.toml").write_text('[negotiator]\ntie_break = "std_sort"\n[groups.chess]\n')


def test_every_command_with_a_dry_run_is_tried_here():
    with_dry_run = {
        name for name, command in commands(root()) if any("--dry-run" in option.opts for option in command.params)
    }
    assert with_dry_run == set(LINES) | ELSEWHERE


@pytest.mark.parametrize("line", [line for lines in LINES.values() for line in lines])
def test_a_dry_run_changes_no_byte_and_the_same_without_it_does(line, run, pool, state, tmp_path):
    words = line.format(**pool).split(" ")
    at = words.index("--") if "--" in words else len(words)
    now = [] if line.startswith(("config ", "quotas ")) else ["--now", NOW + 60]

    def contents():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    before = contents()
    dry = run("--state", state, *words[:at], "--dry-run", *now, *words[at:])
    assert dry.code == 0, dry.err
    assert "--json" in line or "would" in (dry.out + dry.err).lower(), "a dry run says what would be"
    assert contents() == before
    ended = run("--state", state, *words[:at], *now, *words[at:])
    assert ended.code == 0, ended.err
    assert contents() != before


@pytest.mark.parametrize("line", [lines[0] for lines in LINES.values()])
def test_quiet_is_without_a_word_from_what_changes_something_unless_a_format_is_asked_for(line, run, pool, state):
    """No report, no note; --json is printed all the same."""
    words = line.format(**pool).split(" ")
    at = words.index("--") if "--" in words else len(words)
    now = [] if line.startswith(("config ", "quotas ")) else ["--now", NOW + 60]

    ended = run("-q", "--state", state, *words[:at], *now, *words[at:])
    assert (ended.code, ended.out, ended.err) == (0, "", "")

    asked = run("-q", "--state", state, *words[:at], "--json", "--dry-run", *now, *words[at:])
    if "no such option: --json" not in asked.err:
        assert asked.out != "" or asked.code != 0, "the format was asked for"


@pytest.mark.parametrize(
    "line",
    [
        "negotiate --dry-run",
        "submit --dry-run -- /bin/true",
        "slots add node --dry-run",
        "userprio --setfactor a@x 5 --dry-run",
        "config set negotiator.rules htcondor --dry-run",
    ],
)
def test_a_dry_run_makes_no_state_and_no_settings(line, run, tmp_path):
    assert run("--state", tmp_path / "new" / "state.db", *line.split(" ")).code == 0
    assert list(tmp_path.iterdir()) == []
