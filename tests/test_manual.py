"""The manual and the completions say what the commands, the settings and the errors say, and shells take them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairq.cli.examples import laid_out
from fairq.cli.manual import generated
from fairq.cli.manual.overview import exit_codes
from fairq.cli.manual.walk import walk
from fairq.cli.registry import REGISTRY
from fairq.common.records import AccountingRecord
from fairq.errors.codes import error_classes
from fairq.settings.keys import KEYS
from fairq.state import submitters
from fairq.state.connection import writing

ROOT = Path(__file__).parent.parent
FILES = generated()
COMMANDS = walk()
EVERY = [one for command in COMMANDS for one in (command, *command.children, *command.leaves)]


def plain(page):
    """Return a page's text without its marks."""
    return (
        re.sub(r"\\f.|\\&", "", page)
        .replace("\\-", "-")
        .replace("\\(aq", "'")
        .replace("\\(ti", "~")
        .replace("\\e", "\\")
    )


def rendered(name, directory):
    """Return a page as man or mandoc prints it on a terminal; without both, its text without marks."""
    page = directory / Path(name).name
    page.write_text(FILES[name])
    for call in (["man", "-l", page], ["mandoc", "-T", "utf8", "-O", "width=240", page]):
        if shutil.which(str(call[0])):
            environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "240", "MANPAGER": "cat", "TERM": "dumb"}
            shown = subprocess.run(call, env=environment, capture_output=True, text=True, check=False).stdout
            if "has been minimized" not in shown:
                return re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown)
    return plain(FILES[name])


def test_the_committed_files_are_what_the_tree_says():
    old = [name for name, text in FILES.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text]
    assert not old, "run python -m fairq.cli.manual"


def test_no_page_is_left_of_a_command_that_is_no_more():
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "man").glob("*/*")} <= FILES.keys()


def test_generating_twice_gives_the_same():
    assert generated() == FILES


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_a_summary_and_explains_each_thing_it_takes(name):
    page = plain(FILES[f"man/man1/fairq-{name}.1"])
    for command in [one for one in EVERY if one.words[0] == name]:
        assert command.summary, command.words
        assert " ".join(("fairq", *command.words)) in page
        for parameter in (*command.arguments, *command.options):
            assert parameter.help, f"{parameter.spellings or parameter.metavar} of {command.words} has no help"
            for spelling in parameter.spellings:
                assert spelling in page, command.words


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_every_command_has_examples_whose_options_exist(command):
    examples = [line for one in (command, *command.leaves) for line in one.examples if line.strip()]
    assert examples
    for line in examples:
        words = shlex.split(line, comments=True)
        for at in [number for number, word in enumerate(words) if word == "fairq"]:
            call = words[at + 1 : words.index("|", at) if "|" in words[at:] else None]
            named = next(word for word in call if not word.startswith("-"))
            assert named in REGISTRY, line


def test_the_overview_lists_every_command_and_every_exit_code():
    page = plain(FILES["man/man1/fairq.1"])
    for name in REGISTRY:
        assert f"fairq-{name}(1)" in page
    for code, meaning in exit_codes():
        assert f"\n{code}\n" in page
        assert meaning in page


def test_every_error_class_has_a_meaning_of_one_line_for_the_exit_table():
    for error in error_classes():
        summary = vars(error)["summary"]
        assert summary[:1].isupper() or summary.startswith("DIRAC"), error
        assert summary[-1] not in ".;:,", error
        assert not set("{}\n") & set(summary), error
        assert len(summary) <= 80, error


def test_no_two_error_classes_have_the_same_meaning():
    summaries = [one.summary for one in error_classes()]
    assert len(summaries) == len(set(summaries))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_a_rendered_page_prints_each_example_once(command, tmp_path):
    """Of examples that differ in the name of the command only, it prints the first."""
    page = " ".join(rendered(f"man/man1/fairq-{command.name}.1", tmp_path).split())
    printed = set()
    for one in command.leaves:
        for line in one.examples:
            kind = line.replace(one.words[-2], "KIND") if len(one.words) > 2 else line
            if "#" in line:
                assert page.count(" ".join(" ".join(laid_out([line])).split())) == (kind not in printed), line
            printed.add(kind)


def test_a_rendered_page_lists_the_options_of_like_commands_once(tmp_path):
    """The imports of all kinds of records take the same; the page says so instead."""
    page = " ".join(rendered("man/man1/fairq-broker.1", tmp_path).split())
    assert page.count("--replace Remove records that are not in the file.") == 1
    assert "Arguments and options: as for fairq broker queues import." in page


def test_the_overview_explains_the_words_of_a_cycle():
    page = plain(FILES["man/man1/fairq.1"])
    for word in ("pie", "slice", "spin", "autocluster", "carve"):
        assert f"\n.TP\n{word}\n" in page


def test_the_settings_page_lists_every_key_with_its_macro():
    page = plain(FILES["man/man5/fairq.toml.5"])
    for key in KEYS:
        assert key.name in page
        for macro in key.macros:
            assert macro in page


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("man/")])
def test_a_page_is_sound_and_fits_80_columns(name, tmp_path):
    page = tmp_path / Path(name).name
    page.write_text(FILES[name])
    checks = [["man", "--warnings", "-l", page], ["mandoc", "-T", "lint", "-W", "warning", page]]
    available = [check for check in checks if shutil.which(str(check[0]))]
    if not available:
        pytest.skip("neither man nor mandoc is here")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat", "TERM": "dumb"}
    for check in available:
        ended = subprocess.run(check, env=environment, capture_output=True, text=True, check=False)
        # Debian's small images replace man by a script that knows no options.
        if "has been minimized" not in ended.stdout:
            assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout[:500]
            lines = re.sub(r".\x08|\x1b\[[0-9;]*m", "", ended.stdout).splitlines()
            assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize(
    ("shell", "name"), [("bash", "bash/fairq"), ("zsh", "zsh/_fairq"), ("fish", "fish/fairq.fish")]
)
def test_the_shell_takes_its_completion(shell, name):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    subprocess.run([shell, "-n", ROOT / "completions" / name], check=True)


@pytest.fixture
def complete(tmp_path):
    """Complete a command line in bash, against a state with a few submitters."""
    state = tmp_path / "state.db"
    with writing(state) as opened:
        submitters.store(opened, [AccountingRecord(name) for name in ("anna@hep", "anna@bio", "bert@hep")])
    (tmp_path / "fairq").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairq "$@"\n')
    (tmp_path / "fairq").chmod(0o755)

    def complete(line, chosen=state):
        script = (
            f"source {ROOT}/completions/bash/fairq; compopt() {{ :; }}; COMP_LINE=$1 COMP_POINT=${{#1}};"
            '_fairq; [[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"'
        )
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        if chosen is not None:
            environment["FAIRQ_STATE"] = str(chosen)
        ended = subprocess.run(
            ["bash", "-c", script, "bash", line], env=environment, capture_output=True, text=True, check=True
        )
        assert ended.stderr == ""
        return ended.stdout.splitlines()

    return complete


class TestBash:
    def test_commands_are_completed(self, complete):
        assert complete("fairq neg") == ["negotiate"]
        assert complete("fairq ") == list(REGISTRY)
        assert complete("fairq -q --state /x neg") == ["negotiate"]

    def test_options_are_those_of_the_command(self, complete):
        assert complete("fairq negotiate --dry") == ["--dry-run"]
        assert complete("fairq --dry") == []

    def test_submitters_come_from_the_state_past_the_word_break_at_the_at_sign(self, complete):
        assert complete("fairq userprio an") == ["anna@bio", "anna@hep"]
        assert complete("fairq userprio anna@h") == ["hep"]

    def test_settings_of_the_brokerage_and_attributes_are_completed(self, complete):
        assert complete("fairq broker config set NW_A") == ["NW_ACTIVE"]
        assert complete("fairq queue --af JobS") == ["JobStatus"]
        assert complete("fairq queue --constraint 'JobS") == []
        assert complete("fairq userprio --constraint Submitter") == ["SubmitterShare", "SubmitterLimit"]

    def test_the_state_may_be_named_on_the_line(self, complete, tmp_path):
        state = tmp_path / "state.db"
        assert complete(f"fairq --state {state} userprio b", chosen=None) == ["bert@hep"]
        assert complete(f"fairq userprio --state={state} b", chosen=None) == ["bert@hep"]

    def test_a_state_that_cannot_be_read_completes_nothing_and_says_nothing(self, complete, tmp_path):
        damaged = tmp_path / "damaged"
        damaged.write_text("this is no state file")
        assert complete("fairq userprio a", chosen=damaged) == []
        assert complete("fairq userprio a", chosen=tmp_path / "none") == []
        assert not (tmp_path / "none").exists()

    def test_files_are_completed_where_a_file_is_due(self, complete, tmp_path):
        (tmp_path / "slots.json").touch()
        assert complete(f"fairq import --slots {tmp_path}/slo") == [f"{tmp_path}/slots.json"]
