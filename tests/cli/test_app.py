"""The command line as a whole: its global options, its errors and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.lines import read

import fairq
from fairq.cli.options import parse_duration, parse_time
from fairq.cli.registry import REGISTRY
from fairq.errors.base import FairqError, InvalidNumberError, InvalidTimeError
from fairq.errors.codes import error_classes


@pytest.fixture(autouse=True)
def _sample(sample):
    pass


def words_of(ended):
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


class TestHelp:
    def test_the_version_is_one_line(self, run):
        assert run("--version").out == f"fairq {fairq.__version__}\n"

    def test_the_version_is_also_known_behind_a_command(self, run):
        ended = run("sample", "show", "--version")
        assert (ended.code, ended.out) == (0, f"fairq {fairq.__version__}\n")

    def test_the_help_names_every_command_with_its_line(self, run):
        out = run("--help").out
        for name, entry in REGISTRY.items():
            assert f"  {name}" in out
            assert entry.help in out

    def test_the_help_imports_no_command(self):
        script = (
            "import sys; from fairq.cli.app import main; main(['--help']);"
            "from fairq.cli.registry import REGISTRY;"
            "sys.exit(any(entry.module in sys.modules for entry in REGISTRY.values()))"
        )
        subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=True)

    def test_a_command_shows_its_options_and_examples(self, run):
        out = run("sample", "show", "-h").out
        for option in ("--json", "--af ATTR...", "--constraint EXPR", "--now TIME", "--state FILE"):
            assert option in out
        assert "fairq sample show   # all of it" in out

    def test_without_a_command_the_help_comes_on_stderr_with_the_code_of_wrong_use(self, run):
        ended = run()
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("Usage: fairq")


class TestGlobalOptions:
    @pytest.mark.parametrize(
        "line",
        [
            ["--state", "S", "-q", "sample", "words", "x"],
            ["sample", "--state", "S", "-q", "words", "x"],
            ["sample", "words", "--state", "S", "-q", "x"],
            ["sample", "words", "x", "-q", "--state=S"],
            ["--state", "other", "sample", "words", "-q", "--state", "S", "x"],
        ],
        ids=" ".join,
    )
    def test_they_are_accepted_before_and_behind_the_command(self, run, line):
        words = words_of(run(*line))
        assert (words["state"], words["quiet"], words["program"]) == ("S", True, ["x"])

    def test_they_are_not_taken_from_behind_a_double_dash(self, run):
        words = words_of(run("sample", "words", "--", "program", "--state", "S", "-q", "--json"))
        assert words["program"] == ["program", "--state", "S", "-q", "--json"]
        assert words["quiet"] is False
        assert words["state"] != "S"

    def test_they_are_not_taken_from_the_value_of_another_option(self, run):
        words = words_of(run("sample", "words", "--name", "--state", "x"))
        assert (words["name"], words["program"]) == ("--state", ["x"])

    def test_the_state_comes_from_the_environment_where_no_option_says(self, run, monkeypatch):
        monkeypatch.setenv("FAIRQ_STATE", "/of/environment")
        assert words_of(run("sample", "words", "x"))["state"] == "/of/environment"
        assert words_of(run("sample", "words", "x", "--state", "S"))["state"] == "S"

    def test_the_state_of_a_user_lies_in_the_users_state_directory(self, run, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
        assert words_of(run("sample", "words", "x"))["state"] == "/xdg/fairq/state.db"

    def test_verbose_counts(self, run):
        assert words_of(run("-v", "sample", "words", "x", "-vv"))["verbose"] in (2, 3)

    @pytest.mark.parametrize("option", ["--state", "--config"])
    def test_an_empty_path_is_refused(self, run, option):
        ended = run("sample", "words", "x", option, "")
        assert ended.code == 2
        assert option in ended.err

    def test_the_history_gets_the_command_line_quoted_and_storable(self, run):
        command = words_of(run("sample", "words", "a b", "\udcff"))["command"]
        assert command == "fairq sample words 'a b' '\\udcff'"
        command.encode("utf-8")

    def test_leaving_the_inner_command_out_means_the_default_one(self, run):
        assert run("sample", "--json").out == "[]\n"
        assert run("-q", "sample", "-q", "--csv").out == "Name,Priority,Jobs\n"


class TestReports:
    def test_a_command_that_reports_one_thing_has_every_format_but_no_constraint(self, run):
        assert run("sample", "report").out == "one thing\n"
        assert words_of(run("sample", "report", "--json")) == {"things": 1}
        assert run("sample", "report", "--constraint", "true").code == 2


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "code", "message"),
        [
            (["qeue"], 2, "fairq: no such command 'qeue'; perhaps 'queue'; try 'fairq --help'"),
            (["sample", "shw"], 2, "fairq: no such command 'shw'; perhaps 'show'; try 'fairq sample"),
            (["sample", "show", "--jsn"], 2, "fairq: no such option: --jsn"),
            (["sample", "words"], 2, "fairq: missing argument 'PROGRAM...'; try 'fairq sample words --help'"),
            (["sample", "show", "extra"], 2, "fairq: unexpected argument: extra"),
            (["sample", "show", "--json", "--csv"], 2, "fairq: --json and --csv exclude each other"),
            (["sample", "show", "--af"], 2, "fairq: --af needs an attribute"),
            (["sample", "show", "--af:z", "Name"], 2, "fairq: --af: 'z' is not a modifier"),
            (["sample", "show", "--constraint", " "], 2, "fairq: --constraint is empty"),
            (["sample", "show", "--now", "noon"], 24, "fairq: 'noon' is not a valid time for --now; give a time"),
            (["--state"], 2, "fairq: --state needs 1 value; see fairq --help"),
            (["sample", "fail", "fairq"], 26, r"fairq: 'a\nb\x1b[31m' is not a valid name for the name; mend"),
            (["sample", "fail", "bug"], 1, "fairq: internal error: ValueError: what was that; 'fairq state"),
            (["sample", "fail", "memory"], 1, "fairq: out of memory"),
            (["sample", "fail", "deep"], 1, "fairq: something in the input is nested too deeply"),
            (["sample", "fail", "file"], 1, "fairq: /nowhere: No such file or directory"),
            (["sample", "fail", "odd"], 1, "fairq: Unknown error 9999"),
            (["sample", "fail", "bare"], 1, "fairq: the tape broke"),
            (["sample", "fail", "empty"], 1, "fairq: OSError"),
            (["sample", "fail", "two"], 1, "fairq: a: b: File exists"),
            (["sample", "fail", "bytes"], 1, r"fairq: a\udcff: File exists"),
            (["sample", "fail", "interrupt"], 130, "fairq: interrupted"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_each_is_one_line_on_stderr_with_its_code(self, run, line, code, message):
        ended = run(*line)
        assert (ended.code, ended.out) == (code, "")
        assert ended.err.startswith(message)
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize("kind", ["bug", "memory", "deep", "file", "interrupt"])
    def test_after_a_change_none_of_them_calls_the_command_failed(self, run, state, kind):
        ended = run("--state", state, "sample", "fail", kind, "--change")
        assert ended.code == 73
        assert ended.err.startswith("fairq: the change is stored, but its report was not shown: ")
        assert ended.err.count("\n") == 1
        assert state.exists()

    def test_an_error_of_the_command_itself_after_a_change_is_told_as_it_is(self, run, state):
        ended = run("--state", state, "sample", "fail", "fairq", "--change")
        assert (ended.code, "is not a valid name for the name" in ended.err) == (26, True)

    @pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "9" * 100])
    def test_an_integer_that_no_state_holds_is_refused(self, run, number):
        for words in (("state", "cycle"), ("broker", "why"), ("broker", "run", "1")):
            ended = run(*words, "--", number)
            assert ended.code in (2, 25), ended.err
            assert ended.err.count("\n") == 1
            assert "internal" not in ended.err

    @pytest.mark.parametrize(
        "line",
        ["broker why 1 --cycle", "userprio --setfloor a@b", "taskqueues match --site S --cputime 1 --count",
         "slots detect --slots", "slots add a --gpus"],
    )  # fmt: skip
    def test_so_is_one_given_to_an_option(self, run, line):
        ended = run(*line.split(), "9223372036854775808")
        assert (ended.code in (2, 25), ended.err.count("\n")) == (True, 1)

    @pytest.mark.parametrize("line", ["state history", "state cycles"])
    def test_a_limit_beyond_all_numbers_shows_everything(self, run, state, line):
        assert run("--state", state, "negotiate").code == 0
        everything = run("--state", state, *line.split(), "--limit", "0")
        assert run("--state", state, *line.split(), "--limit", "9223372036854775808") == everything

    def test_a_traceback_is_for_those_who_ask_for_it(self, run, monkeypatch):
        monkeypatch.setenv("FAIRQ_DEBUG", "1")
        assert "Traceback" in run("sample", "fail", "bug").err


class TestErrorClasses:
    CLASSES = sorted(error_classes(), key=lambda cls: cls.exit_code)

    def test_every_class_has_a_code_of_its_own(self):
        codes = [cls.exit_code for cls in self.CLASSES]
        assert len(codes) == len(set(codes))

    @pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
    def test_code_name_and_message_are_in_order(self, cls):
        assert cls.exit_code in {1, 2, *range(3, 71), 72, 73, *range(75, 124)}
        assert cls is FairqError or cls.__name__.endswith("Error")
        message = " ".join((cls.__doc__ or "").split())
        assert message
        assert not message.endswith(".")
        assert "; " in message or message.endswith("}"), "the cure, or a field that holds it, comes last"
        assert message[0].islower() or message[0] == "{"


class TestStreams:
    def test_a_reader_that_goes_away_ends_it_quietly_as_other_tools_end(self):
        line = f"{sys.executable} -m fairq --help | head -1; exit ${{PIPESTATUS[0]}}"
        ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert ended.stderr == ""
        assert ended.returncode in (0, 141)

    def test_a_pipe_closed_from_the_start_ends_it_with_141(self):
        reading, writing = os.pipe()
        os.close(reading)
        ended = subprocess.run(
            [sys.executable, "-m", "fairq", "--help"], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        os.close(writing)
        assert (ended.returncode, ended.stderr) == (141, b"")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "fairq", "--help"], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert ended.returncode == 72
        assert ended.stderr.startswith(b"fairq: the output cannot be written: No space left on device; ")

    @pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
    def test_closed_streams_do_no_harm(self, closed):
        line = f"{sys.executable} -m fairq --help {closed}"
        ended = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")

    def test_a_locale_without_the_letters_gets_escapes(self, run):
        script = (
            "from fairq.cli.registry import REGISTRY; from fairq.cli.command import Listing;"
            "from fairq.cli.app import main; import sys; REGISTRY['sample'] = Listing('tests.cli.sample', '');"
            "sys.exit(main(['sample', 'show', '--records', '[{\"Name\": \"J\\u00fcrgen\"}]', *sys.argv[1:]]))"
        )
        for option, text in (("--csv", b"J\\xfcrgen"), ("--json", b'"J\\u00fcrgen"')):
            ended = subprocess.run(
                [sys.executable, "-c", script, option],
                env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path.cwd())},
                capture_output=True,
                check=False,
            )
            assert ended.returncode == 0, ended.stderr
            assert text in ended.stdout


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("0", 0),
            ("1700000000", 1_700_000_000),
            (" 1700000000.9 ", 1_700_000_000),
            ("2023-11-14T22:13:20Z", 1_700_000_000),
            ("2023-11-14T23:13:20+01:00", 1_700_000_000),
            ("2023-11-14 22:13:20+00:00", 1_700_000_000),
        ],
    )
    def test_a_number_is_seconds_since_1970_and_the_rest_iso_8601(self, text, seconds):
        assert parse_time(text) == seconds

    def test_a_time_without_a_zone_is_local(self, run, fairq):
        script = "from fairq.cli.options import parse_time; print(parse_time('2023-11-14T22:13:20'))"
        for zone, seconds in (("UTC", 1_700_000_000), ("UTC-2", 1_700_000_000 - 7200)):
            environment = {**os.environ, "TZ": zone}
            ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
            assert int(ended.stdout) == seconds

    @pytest.mark.parametrize(
        "text",
        ["", "noon", "-1", "1e9", "nan", "inf", "9" * 14, "2023-13-01", "1969-12-31T00:00Z", "\u0661\u0662"],
    )
    def test_anything_else_is_refused(self, text):
        with pytest.raises(InvalidTimeError):
            parse_time(text)

    @pytest.mark.parametrize(
        ("text", "seconds"), [("0", 0), ("3600", 3600), ("30m", 1800), ("1h30m", 5400), ("90d", 7_776_000)]
    )
    def test_durations_have_units(self, text, seconds):
        assert parse_duration(text) == seconds

    @pytest.mark.parametrize("text", ["", "-1d", "1x", "1.5", "d", "1h30", "9999999999999d"])
    def test_other_durations_are_refused(self, text):
        with pytest.raises(InvalidNumberError):
            parse_duration(text)


class TestAutoformatWords:
    @pytest.mark.parametrize(
        ("words", "joined"),
        [
            (["--af", "A", "B", "--json"], ["--af=\x1fA\x1fB", "--json"]),
            (["-af:jh", "A", "-q"], ["--af=jh\x1fA", "-q"]),
            (["x", "--af:,", "A", "--af", "B"], ["x", "--af=,\x1fA", "--af=\x1fB"]),
            (["--", "--af", "A"], ["--", "--af", "A"]),
        ],
    )
    def test_the_attributes_reach_to_the_next_option(self, words, joined):
        assert read("queue", words) == joined


@pytest.mark.parametrize("words", [[], ["negotiate"], ["slots", "add"], ["broker"], ["broker", "tasks", "import"]])
def test_help_is_that_of_the_option(run, words):
    assert run("help", *words).out == run(*words, "--help").out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["negotiat"], "no such command 'negotiat'; perhaps 'negotiate'; try 'fairq --help'"),
        (["slots", "ad"], "no such command 'ad'; perhaps 'add'; try 'fairq slots --help'"),
        (["queue", "1"], "fairq queue has no commands; try 'fairq queue --help'"),
    ],
)
def test_help_of_an_unknown_command_proposes_the_nearest(run, words, problem):
    ended = run("help", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", f"fairq: {problem}\n")
