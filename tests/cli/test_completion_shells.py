"""The completions in real shells: bash, zsh and fish offer what fits the place."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairq.cli.registry import REGISTRY

SCRIPTS = Path(__file__).parents[2] / "completions"


NOW = 1_795_200_000


PROGRAM = f"""#!/bin/sh
answer=$ANSWERS/$( (echo "$@"; cat "$FAIRQ_STATE") | cksum | tr ' ' _)
[ -e "$answer" ] || {shlex.quote(sys.executable)} -m fairq "$@" >"$answer"
exec cat "$answer"
"""
"""fairq on the PATH: what one shell has asked of a state, the others are told as well."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    return tmp_path_factory.mktemp("answers")


@pytest.fixture
def environment(run, state, tmp_path, answers, made_once, monkeypatch):
    """A state with two slots, jobs of anna and bert, two groups and a cycle; and fairq on the PATH."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def filled(folder):
        made = folder / state.name
        Path(f"{made}.toml").write_text("[groups.physics]\nquota = 1\n[groups.physics.hep]\nquota = 1\n")
        for words in (
            ["slots", "add", "node", "--count", "2", "--attribute", 'SlurmPartitions="batch,long"'],
            ["submit", "--count", "2", "--accounting-group-user", "anna", "--now", NOW, "--", "/bin/sleep", "5"],
            ["submit", "--accounting-group-user", "bert", "--now", NOW, "--", "/bin/sleep", "5"],
            ["negotiate", "--now", NOW],
        ):
            assert run("--state", made, *words).code == 0
        (folder / "bin").mkdir()
        (folder / "bin" / "fairq").write_text(PROGRAM)
        (folder / "bin" / "fairq").chmod(0o755)

    made_once(filled)
    return {**os.environ, "FAIRQ_STATE": str(state), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "TERM": "dumb", "HOME": str(tmp_path), "ANSWERS": str(answers)}  # fmt: skip


def in_bash(environment):
    def complete(line):
        script = (
            f"source {SCRIPTS}/bash/fairq; compopt() {{ :; }}; COMP_LINE=$1 COMP_POINT=${{#1}};"
            '_fairq; [[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"'
        )
        ended = subprocess.run(
            ["bash", "-c", script, "bash", line], env=environment, capture_output=True, text=True, check=True
        )
        assert ended.stderr == ""
        return ended.stdout.splitlines()

    return complete


def in_fish(environment):
    def complete(line):
        script = f"source {SCRIPTS}/fish/fairq.fish; complete -C {shlex.quote(line)}"
        ended = subprocess.run(
            ["fish", "--no-config", "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert ended.stderr == ""
        return [found.partition("\t")[0] for found in ended.stdout.splitlines()]

    return complete


class Zsh:
    """An interactive zsh, which lists the completions of a line on a pseudo-terminal."""

    def __init__(self, environment):
        self._outer, inner = pty.openpty()
        self._shell = subprocess.Popen(
            ["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
        )
        os.close(inner)
        # Listed one a line between two marks, in place of the menu.
        self._type(
            f"PROMPT=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; "
            f"source {SCRIPTS}/zsh/_fairq; "
            'show() { compadd() { local -a found; builtin compadd -A found -D shown "$@"; print -rl -- $found; }; '
            "_describe() { local -a found; found=(${(P)@[-1]}); print -rl -- ${(M)${found%%:*}:#$PREFIX*}; }; "
            "_files() { print files; }; print '<''<'; _fairq; print '>''>'; unfunction compadd _describe _files }; "
            "zle -C show complete-word show; bindkey '^X' show; print rea''dy\n"
        )
        self._until("ready")

    def __call__(self, line):
        self._type(f"{line}\x18")
        found = self._until(">>").partition("<<")[2].partition(">>")[0]
        self._type("\x15")
        return re.findall(r"[^\r\n]+", found)

    def _type(self, text):
        os.write(self._outer, text.encode())

    def _until(self, mark):
        text, end = "", time.monotonic() + 60
        while mark not in text:
            ready, _, _ = select.select([self._outer], [], [], max(0, end - time.monotonic()))
            assert ready, f"zsh shows {text!r}"
            text += os.read(self._outer, 65536).decode()
        return text

    def end(self):
        self._shell.kill()
        self._shell.wait()
        os.close(self._outer)


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(request, environment):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not here")
    if request.param == "zsh":
        zsh = Zsh(environment)
        yield zsh
        zsh.end()
    else:
        yield {"bash": in_bash, "fish": in_fish}[request.param](environment)


def test_it_offers_what_fits_the_place(complete):
    """Commands, jobs, submitters, groups, slots, cycles, settings and their values, each at its place."""
    wanted = {
        "fairq neg": ["negotiate"],
        "fairq slots dr": ["drain"],
        "fairq queue ": ["1", "2"],
        "fairq queue 1.": ["1.0", "1.1"],
        "fairq queue be": ["bert@x"],
        "fairq remove 1.0 2.": ["2.0"],
        "fairq slots drain slot1": ["slot1@node"],
        "fairq slots drain slot1@node slot2": ["slot2@node"],
        "fairq slots add n": [],
        "fairq state cycle ": ["1"],
        "fairq state cycle 1 ": [],
        "fairq submit --accounting-group phy": ["physics", "physics.hep"],
        "fairq config get negotiator.ru": ["negotiator.rules"],
        "fairq config get quota_mod": ["quota_model"],
        "fairq config set negotiator.rules ": ["documented", "htcondor"],
        "fairq config set --dry-run negotiator_depth_first t": ["true"],
        "fairq config set quota_model hierarchical x": [],
        "fairq config set groups.physics.hep.quota_d": ["groups.physics.hep.quota_dynamic"],
        "fairq config unset groups.physics.hep": [
            "groups.physics.hep", "groups.physics.hep.quota", "groups.physics.hep.quota_dynamic",
            "groups.physics.hep.prio_factor", "groups.physics.hep.accept_surplus", "groups.physics.hep.autoregroup",
            "groups.physics.hep.members", "groups.physics.hep.submit_for_others",
        ],
        "fairq why phy": ["physics", "physics.hep"],
        "fairq why 1.0 --slot slot2": ["slot2@node"],
        "fairq taskqueues shares --rules d": ["documented", "dirac"],
        "fairq plot ": ["priority", "queue", "shares", "usage", "wait"],
        "fairq plot usage --by ": ["group", "pool", "submitter"],
        "fairq report --by s": ["slot", "submitter"],
        "fairq report --by user,w": ["week"],
        "fairq report --by user,day,": [
            "user", "submitter", "group", "slot", "machine", "hour", "day", "week", "month", "year",
        ],
        "fairq undo ": ["1", "3", "4"],
        "fairq slots sync sl": ["slurm"],
        "fairq slots sync slurm --partition b": ["batch"],
        "fairq negotiate --dry": ["--dry-run"],
    }  # fmt: skip
    # bash and fish complete a whole list, zsh its last word.
    found = {line: [name.rpartition(",")[2] for name in complete(line)] for line in wanted}
    assert {line: sorted(names) for line, names in found.items()} == {
        line: sorted(names) for line, names in wanted.items()
    }
    assert set(REGISTRY) <= set(complete("fairq "))


def test_options_with_one_dash_and_their_values(complete):
    """Those of condor_userprio and condor_q, beside fairq's own."""
    assert "-setfactor" in complete("fairq userprio -setf")
    assert {"-hold", "-held"} <= set(complete("fairq queue -h"))
    assert complete("fairq userprio -setfactor anna") in (["anna@x"], ["@x"])
    assert complete("fairq userprio --setceiling bert") == ["bert@x"]
    assert "-constraint" in complete("fairq remove -cons")
    assert {"-append", "-batch-name", "-queue", "-terse"} <= set(complete("fairq submit -"))


def test_jobs_and_changes_are_in_the_order_of_their_numbers(complete, run, state):
    assert run("--state", state, "submit", "--count", "12", "--now", NOW, "--", "/bin/sleep", "5").code == 0
    assert complete("fairq queue 3.") == [f"3.{number}" for number in range(12)]
    assert complete("fairq undo ") == ["6", "4", "3", "1"]
