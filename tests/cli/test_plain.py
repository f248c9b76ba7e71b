"""A line that is understood without Typer means what Typer makes of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairq.cli import parser, plain
from fairq.cli.command import WATCH
from fairq.cli.invocation import Invocation
from fairq.cli.manual.walk import walk
from fairq.cli.options import OUTPUT_OPTIONS
from fairq.cli.tree import Root

PLAIN = [
    ["negotiate"],
    ["--state", "a.db", "negotiate"],
    ["--state=a.db", "-q", "negotiate", "--state", "b.db"],
    ["--state", "", "negotiate", "--config="],
    ["negotiate", "--quiet", "--now", "1795210080", "--dry-run"],
    ["negotiate", "--now=2026-11-21 10:30", "--now", "1795210080", "--explain", "--explain"],
    ["negotiate", "--json", "--no-launch", "--collect-only", "--no-header"],
    ["negotiate", "--constraint", "Cpus == 1", "--constraint=Memory > 1"],
    ["negotiate", "--set", "a=b", "--set=c=d", "--factor", "ann=2", "--with", "file", "--slots=+10", "--without", ""],
    ["queue"],
    ["queue", "-idle", "alice", "--limit", "5", "7.0"],
    ["userprio", "-setfactor", "alice@example.org", "2", "--setfactor", "bob", "3"],
    ["slots"],
    ["slots", "--json"],
    ["-q", "slots", "--state", "a.db", "list", "slot1", "--quiet", "slot2"],
    ["slots", "sync", "slurm"],
    ["import", "--slots", "-"],
    ["submit", "-"],
    ["submit", "--count", "3", "--", "/bin/sleep", "--", "-1"],
    ["prio", "+5", "7"],
    ["why", "7.0", "--slot", "slot1"],
    ["broker", "run", "--rules", "panda", "17", "18"],
    ["broker", "tasks"],
    ["broker", "tasks", "import", "tasks.json", "--replace"],
    ["taskqueues", "match", "--site", "LCG.CERN.ch", "--cputime", "1000"],
]
LEFT = [
    [],
    ["--help"],
    ["-h"],
    ["negotiat"],
    ["negotiate", "--help"],
    ["negotiate", "--version"],
    ["negotiate", "-v"],
    ["-qv", "negotiate"],
    ["negotiate", "-q=1"],
    ["negotiate", "--quiet=1"],
    ["negotiate", "--now"],
    ["negotiate", "--now", "-1h"],
    ["negotiate", "--now", "never"],
    ["negotiate", "--dry"],
    ["negotiate", "word"],
    ["negotiate", "--"],
    ["negotiate", "--af", "Name"],
    ["negotiate", "--with", "--af"],
    ["--state", "negotiate"],
    ["slots", "lists"],
    ["slots", "-h"],
    ["broker"],
    ["broker", "run", "-1"],
    ["broker", "run", "one"],
    ["config", "set", "pool.name", "-x"],
    ["queue", "--watch"],
    ["queue", "--limit", "0"],
    ["queue", "-nosuch"],
    ["simulate", "trace.swf"],
    ["why", "7.0", "8.0"],
    ["taskqueues", "match"],
]


def described(function: Any, values: dict[str, Any], invocation: Invocation, path: str) -> tuple[Any, ...]:
    """Return all that a call means; an option that is not given, and an empty list, are alike."""
    output = {name: values.pop(name, None) or None for name in OUTPUT_OPTIONS}
    watch = values.pop(WATCH, None)
    bound = inspect.signature(function).bind_partial(**values)
    bound.apply_defaults()
    given = {name: None if value == [] else value for name, value in bound.arguments.items()}
    options = invocation.state, invocation.config, invocation.quiet
    # The lists of the brokerage data have functions that are made anew for each call.
    return function.__module__, function.__qualname__, given, output, watch, options, invocation.command_line, path


def by_typer(words: list[str], calls: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the call that Typer makes of a line."""
    calls.clear()
    root, left = Root(), list(words)
    with root.make_context("fairq", left, obj=Invocation(arguments=left)) as context:
        root.invoke(context)
    (call,) = calls
    return call


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for module in (plain, parser):
        monkeypatch.setattr(module, "call", lambda *of: found.append(described(*of)))
    return found


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_plain_line_means_what_it_means_to_typer(words: list[str], calls: list[tuple[Any, ...]]) -> None:
    call = plain.plain_call(words, Invocation(arguments=words))
    assert call is not None
    call()
    here, there = *calls, by_typer(words, calls)
    assert here == there


@pytest.mark.parametrize("words", LEFT, ids=" ".join)
def test_whatever_is_not_plain_is_left_to_typer(words: list[str]) -> None:
    invocation = Invocation()

    assert plain.plain_call(words, invocation) is None
    assert invocation == Invocation()


WORDS = ["", "-", "--", "-1", "0", "1", "+5", "7.0", "1e3", "50%", "a b", "alice", "alice=2", "list", "1795210080"]
OF_ALL = ["--af", "--config", "--nosuch", "--quiet", "--state", "-q", "-v"]
COMMANDS = [leaf for command in walk() for leaf in command.leaves]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Lines of a command with some of its options, right and wrong."""
    command = draw(st.sampled_from(COMMANDS))
    words = list(command.words)
    for _ in range(draw(st.integers(0, 4))):
        option = draw(st.none() | st.sampled_from(command.options) if command.options else st.none())
        spelling = draw(st.sampled_from(OF_ALL if option is None else option.spellings))
        value = draw(st.none() | st.sampled_from(WORDS))
        if value is None or (option is not None and not option.metavar):
            words.append(spelling)
        else:
            words += draw(st.sampled_from([[f"{spelling}={value}"], [spelling, value], [value]]))
    for _ in command.arguments:
        words.insert(draw(st.integers(len(command.words), len(words))), draw(st.sampled_from(WORDS)))
    return words


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
@given(words=lines())
def test_no_plain_line_means_anything_else_to_typer(words: list[str], calls: list[tuple[Any, ...]]) -> None:
    call = plain.plain_call(words, Invocation(arguments=words))
    if call is not None:
        calls.clear()
        call()
        here, there = *calls, by_typer(words, calls)
        assert here == there


def test_no_command_loads_typer() -> None:
    script = (
        "import sys; from importlib import import_module; from fairq.cli.registry import REGISTRY; "
        "found = [import_module(entry.module).app for entry in REGISTRY.values()]; "
        "from fairq.cli.broker import COMMANDS, app; found += [app.find(name) for name in COMMANDS]; "
        "print([name for name in sys.modules if name.partition('.')[0] == 'typer'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]"]


def test_a_plain_line_does_not_load_typer(tmp_path: Any) -> None:
    script = (
        "import sys; from fairq.cli.app import main; main(sys.argv[1:]); "
        "print([name for name in sys.modules if name.partition('.')[0] == 'typer'])"
    )
    words = ["--state", str(tmp_path / "state.db"), "--config", "/dev/null", "negotiate", "--quiet"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
