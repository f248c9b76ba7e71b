"""What every command line has in common: its options in each place and form, with one dash or two."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.lines import meaning, read

from fairq.cli.app import main
from fairq.cli.command import Command
from fairq.cli.manual.walk import walk

COMMANDS = [leaf for command in walk() for leaf in command.leaves]
BY_NAME = {" ".join(command.words): command for command in COMMANDS}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--state", "a.db", "negotiate"], ["negotiate", "--state", "a.db"]),
        (["--state=a.db", "-q", "negotiate"], ["-q", "negotiate", "--state", "b.db", "--state", "a.db"]),
        (["-qv", "slots", "list"], ["slots", "-qv", "list"]),
        (["slots", "-qv"], ["-q", "slots", "list", "-v"]),
        (["negotiate", "--now=1795210080"], ["negotiate", "--now", "1", "--now", "1795210080"]),
        (["negotiate", "-now", "1795210080", "-dry-run"], ["negotiate", "--dry-run", "--now", "1795210080"]),
        (["negotiate", "-dry"], ["negotiate", "--dry-run"]),
        (["negotiate", "-constraint", "Cpus == 1"], ["negotiate", "--constraint=Cpus == 1"]),
        (["negotiate", "-autoformat:j", "A", "B", "-quiet"], ["negotiate", "-q", "--af:j", "A", "B"]),
        (["negotiate", "--set", "a=b", "-set=c=d"], ["negotiate", "--set=a=b", "--set", "c=d"]),
        (["queue", "--watch", "7.0"], ["queue", "-watch=7.0"]),
        (["queue", "--watch", "alice"], ["queue", "alice", "--watch", "5"]),
        (["queue", "--af=Owner", "7.0"], ["queue", "7.0", "--af", "Owner"]),
        (["userprio", "-setf", "a", "-2", "--setprio=b", "3"], ["userprio", "--setfactor", "a", "-2", "-s", "b", "3"]),
        (["remove", "-all", "-reason", "-x"], ["remove", "--all", "--reason=-x"]),
        (["hold", "-constraint", "a", "-const", "b"], ["hold", "--constraint", "a", "--constraint", "b"]),
        (["prio", "-5", "7"], ["prio", "--by=-5", "7"]),
        (["prio", "-p", "-5", "7"], ["prio", "7", "--priority", "-5"]),
        (["prio", "-a", "5"], ["prio", "--all", "5"]),
        (["submit", "-a", "x=1", "-queue", "2", "a"], ["submit", "--append", "x=1", "--queue", "2", "a"]),
        (["submit", "x.sub", "-batch-name", "b", "-ter"], ["submit", "--batch-name=b", "--terse", "x.sub"]),
        (["submit", "-file", "x.sub"], ["submit", "x.sub"]),
        (["tail", "-n", "5", "-stderr", "7.0"], ["tail", "--lines", "5", "--err", "7.0"]),
        (["wait", "-wait", "60", "7.0"], ["wait", "--timeout", "60", "7.0"]),
        (["status", "-total"], ["status"]),
        (["queue", "-i"], ["queue", "--idle"]),
        (["history", "-completed", "9", "-u", "alice"], ["history", "--since", "9", "--user", "alice"]),
        (["why", "-better", "7.0", "-machine", "a"], ["why", "7.0", "--slot", "a"]),
        (["slots", "--", "list"], ["slots"]),
        (["queue", "-submitter=alice"], ["queue", "alice"]),
        (["slots", "-constraint", "true", "-wide"], ["slots", "list", "--constraint", "true"]),
        (["config", "set", "a.b", "-x"], ["config", "set", "a.b", "--", "-x"]),
        (["config", "set", "--dry-run", "a.b", "-5"], ["config", "set", "a.b", "-5", "--dry-run"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_two_lines_that_mean_the_same(one, other, monkeypatch):
    assert meaning(one, monkeypatch) == meaning(other, monkeypatch)


def test_what_follows_two_dashes_is_no_option(monkeypatch):
    _, values, *_ = meaning(["remove", "--", "-all", "--af"], monkeypatch)
    assert values["jobs"] == ("-all", "--af") and not values["all"]


OWN = [
    (name, spelling, option.metavar)
    for name, command in BY_NAME.items()
    for option in command.options
    for spelling in option.spellings
    if spelling.startswith("--") and spelling not in ("--help", "--version")
]


def test_every_option_has_a_form_with_one_dash():
    """It means the same, but where HTCondor's tool has another option of this name."""
    for name, spelling, metavar in OWN:
        if (name, spelling) in (("submit", "--dry-run"), ("history", "--completed")) or spelling == "--name":
            continue
        words = [f"value{number}" for number in range(len(metavar.split()))]
        assert read(name, [spelling[1:], *words]) == read(name, [spelling, *words]), (name, spelling)


WORDS = ["", "-", "-1", "0", "+5", "7.0", "1e3", "a b", "alice", "alice=2", "list", "-x", "--x=", "\udcff"]


@st.composite
def lines(draw):
    """Lines of a command with some of its options, right and wrong."""
    command = draw(st.sampled_from(COMMANDS))
    words = list(command.words)
    for _ in range(draw(st.integers(0, 4))):
        option = draw(st.sampled_from(command.options))
        spelling = draw(st.sampled_from(option.spellings))[draw(st.integers(0, 1)) :]
        values = draw(st.lists(st.sampled_from(WORDS), max_size=3))
        words += draw(st.sampled_from([[spelling, *values], [f"{spelling}={''.join(values)}"], [spelling[:-1]]]))
    return words + draw(st.lists(st.sampled_from(WORDS), max_size=2))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(words=lines())
def test_a_line_is_understood_or_refused_in_one_line(words, capsys, monkeypatch):
    monkeypatch.setattr(Command, "invoke", lambda *_: None)
    capsys.readouterr()

    code = main(words)

    told = capsys.readouterr().err
    assert "internal error" not in told
    assert told.count("\n") == (0 if code == 0 else 1), told


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("queue --jsn", "no such option: --jsn; perhaps --json; try 'fairq queue --help'"),
        ("queue -unbatch", "no such option: -unbatch; perhaps -nobatch; try 'fairq queue --help'"),
        ("remove -xyz", "no such option: -xyz; try 'fairq remove --help'"),
        ("slots add n --memry 5", "no such option: --memry; perhaps --memory; try 'fairq slots add --help'"),
        ("negotiate -q=1", "no such option: -q=1; try 'fairq negotiate --help'"),
        ("queue --user:x y", "no such option: --user:x; perhaps --user; try 'fairq queue --help'"),
        ("undo -1", "no such option: -1; give what begins with a dash after --, as 'fairq undo -- -1'"),
        ("queue -better", "fairq queue has no -better-analyze: use fairq why JOB"),
        ("report -constraint x", "fairq report has no -constraint: queue, history, slots and userprio select"),
        ("negotiate --pool x", "fairq negotiate has no --pool: a pool is one state file: choose it with --state FILE"),
        ("hold -subcode 3 1", "fairq hold has no -subcode: a hold has a reason and no subcode; use --reason TEXT"),
        ("queue -submitter --json", "-submitter needs 1 value; see fairq queue --help"),
        ("quotas set a --surplus", "no such option: --surplus; perhaps --accept-surplus; try 'fairq quotas "),
        ("quotas set a --no-surpls", "no such option: --no-surpls; perhaps --no-surplus; try 'fairq quotas set"),
        ("queue ---json", "no such option: ---json; perhaps --json; try 'fairq queue --help'"),
        ("queue --=x", "no such option: --=x; try 'fairq queue --help'"),
        ("log -f 1", "no such option: -f; try 'fairq log --help'"),
        ("slots node1", "no such command 'node1'; perhaps 'fairq slots list node1'; try 'fairq slots --help'"),
        ("config set negotiator.rules=htcondor", "a value is a word of its own: fairq config set negotiator"),
        ("plot foo", "plot: 'foo' is not known; give one of usage, shares, priority, queue"),
        ("plot shares --by pool", "plot shares --by: 'pool' is not known; give one of submitter, group"),
        ("undo x", "invalid value for N: 'x' is not a whole number; try 'fairq undo --help'"),
        ("submit --mem=4G ./a", "--mem is only for -- PROGRAM"),
        ("submit --job-name a ./a", "fairq submit has no --job-name: use --name"),
        ("submit -i", "fairq submit has no -interactive: use fairq shell"),
        ("submit a -spool", "fairq submit has no -spool: jobs use the files of the submitting machine where they are"),
        ("submit ./a -n 3", "fairq submit has no -name: a pool is one state file: choose it with --state FILE; a"),
        ("why -rev 7", "fairq why has no -reverse-analyze: name the slot with --slot NAME"),
        ("remove -y 1", "no such option: -y; perhaps --yes; try 'fairq remove --help'"),
        ("negotiate --dry", "no such option: --dry; perhaps --dry-run; try 'fairq negotiate --help'"),
        ("status -l", "fairq status has no -long: use fairq slots --json"),
        ("wait -num 3 1", "fairq wait has no -num: --any waits for the first job that ends"),
        ("config show -batch-name x", "fairq config show has no -batch-name: it is an option of fairq submit"),
        ("--jsn queue", "no such option: --jsn; an option of a command goes after its name; try 'fairq --help'"),
        ("--json queue", "no such option: --json; an option of a command goes after its name; try 'fairq --help'"),
        ("-qx queue", "no such option: -qx; an option of a command goes after its name; try 'fairq --help'"),
        ("-q=1 queue", "no such option: -q=1; an option of a command goes after its name; try 'fairq --help'"),
        ("-version", "no such option: -version; perhaps --version; try 'fairq --help'"),
        ("--state", "--state needs 1 value; see fairq --help"),
        ("-- --json", "no such command '--json'; try 'fairq --help'"),
        ("--qiet queue", "no such option: --qiet; perhaps --quiet; try 'fairq --help'"),
        ("submit ./a 3", "give one submit description; a command with its arguments goes after --: fairq submit -- "),
        ("submit ./a -z", "no such option: -z; a command with its options goes after --; try 'fairq submit --help'"),
        ("squeue", "no such command 'squeue'; use 'fairq queue'; try 'fairq --help'"),
        ("sbatch x.sh", "no such command 'sbatch'; use 'fairq submit'; try 'fairq --help'"),
        ("condor_rm 7", "no such command 'condor_rm'; use 'fairq remove'; try 'fairq --help'"),
        ("scontrol hold 7", "no such command 'scontrol'; use 'fairq hold' or 'fairq release' or 'fairq edit' or"),
        ("resume 7", "no such command 'resume'; use 'fairq release' or 'fairq pool resume'; try"),
        ("./sim.sh 3", "no such command './sim.sh'; 'fairq submit -- PROGRAM ARGS...' queues a program; try"),
        ("slots rm a", "no such command 'rm'; use 'fairq slots remove'; try 'fairq slots --help'"),
        ("help squeue", "no such command 'squeue'; use 'fairq queue'; try 'fairq --help'"),
        ("negotiate --now", "--now needs 1 value; see fairq negotiate --help"),
        ("userprio -setprio a", "-setprio needs 2 values; see fairq userprio --help"),
    ],
)  # fmt: skip
def test_a_mistake_names_what_to_use(run, line, problem):
    ended = run(*line.split())

    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"fairq: {problem}")


def test_no_command_of_another_name_is_loaded():
    script = (
        "import sys; from fairq.cli.app import main; main(['queue', '--help']); "
        "from fairq.cli.registry import REGISTRY; modules = {one.module for one in REGISTRY.values()}; "
        "print(sorted(modules & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stderr == "['fairq.cli.queue']\n"
