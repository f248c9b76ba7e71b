"""A line that is understood without Typer means what Typer makes of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

from fairq.cli import parser, plain
from fairq.cli.invocation import Invocation
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
    ["slots", "list"],
    ["queue", "--idle"],
    ["broker", "run"],
]


def described(function: Any, values: dict[str, Any], invocation: Invocation, path: str) -> tuple[Any, ...]:
    """Return all that a call means; an option that is not given, and an empty list, are alike."""
    output = {name: values.pop(name, None) or None for name in OUTPUT_OPTIONS}
    bound = inspect.signature(function).bind_partial(**values)
    bound.apply_defaults()
    given = {name: None if value == [] else value for name, value in bound.arguments.items()}
    options = invocation.state, invocation.config, invocation.quiet
    return function, given, output, options, invocation.command_line, path


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
    root, left = Root(), list(words)
    with root.make_context("fairq", left, obj=Invocation(arguments=left)) as context:
        root.invoke(context)

    here, there = calls
    assert here == there


@pytest.mark.parametrize("words", LEFT, ids=" ".join)
def test_whatever_is_not_plain_is_left_to_typer(words: list[str]) -> None:
    invocation = Invocation()

    assert plain.plain_call(words, invocation) is None
    assert invocation == Invocation()


def test_a_plain_line_does_not_load_typer(tmp_path: Any) -> None:
    script = (
        "import sys; from fairq.cli.app import main; main(sys.argv[1:]); "
        "print([name for name in sys.modules if name.partition('.')[0] == 'typer'])"
    )
    words = ["--state", str(tmp_path / "state.db"), "--config", "/dev/null", "negotiate", "--quiet"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
