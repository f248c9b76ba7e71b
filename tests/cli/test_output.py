"""What a command's records look like in every format, on a terminal and in a pipe."""

import csv
import io
import json
import re
from typing import get_args

import pytest

from fairq.cli.manual.overview import OUTPUT
from fairq.cli.options import OUTPUT as OPTIONS
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.cli.output.selection import Format
from fairq.cli.output.text import escape, width

ANNA = {"Name": "anna@hep", "Priority": 0.5, "Jobs": 12}
BERT = {"Name": "bert", "Priority": 1234.5678901234567, "Jobs": 3, "Held": True, "Note": None}
JOB = {
    "ClusterId": 12,
    "ProcId": 3,
    "Owner": 'a"b',
    "Rank": 0.5,
    "Big": 1e20,
    "Whole": 7.0,
    "Ok": True,
    "Need": "/Expr(ClusterId + 1)/",
    "List": [1, "x"],
    "None": None,
}


@pytest.fixture(autouse=True)
def _sample(sample):
    pass


@pytest.fixture
def show(run):
    """Show records by the sample command and return what is printed."""

    def show(records, *options):
        ended = run("sample", "show", "--records", json.dumps(records), *options)
        assert ended.code == 0, ended.err
        return ended.out

    return show


def emitted(capsys, view, **output):
    emit(view, Output(**output))
    return capsys.readouterr().out


class TestPlain:
    def test_a_pipe_gets_an_aligned_table_numbers_right_and_rounded_for_people(self, show):
        assert show([ANNA, BERT]) == (
            "User      Priority  Jobs\n"
            "anna@hep      0.50    12\n"
            "bert       1234.57     3\n"
        )  # fmt: skip

    def test_nothing_is_cut_or_wrapped_however_long(self, show):
        long = "group_physics." + "x" * 500
        assert long in show([{**ANNA, "Name": long}]).splitlines()[1]

    def test_headings_can_be_left_out(self, show):
        assert show([ANNA], "--no-header") == "anna@hep  0.50  12\n"

    def test_a_footer_stands_below_a_rule(self, show):
        out = show([ANNA], "--footer", '{"Name": "total", "Jobs": 1234}')
        assert out.splitlines()[2:] == ["--------  --------  ----", "total               1234"]

    def test_nothing_to_show_is_said_on_stderr_only(self, run):
        ended = run("sample", "show")
        assert (ended.out, ended.err) == ("", "nothing there\n")
        assert run("sample", "show", "-q").err == ""

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("a\nb", r"a\nb"),
            ("\x1b[31m", r"\x1b[31m"),
            ("a\u202eb", r"a\u202eb"),
            ("\t", r"\t"),
            ("ü漢", "ü漢"),
        ],
        ids=ascii,
    )
    def test_no_name_breaks_the_table_or_steers_the_terminal(self, show, name, shown):
        lines = show([{**ANNA, "Name": name}, BERT]).splitlines()
        assert len(lines) == 3
        assert lines[1].startswith(shown)
        assert len({width(line) for line in lines}) == 1

    def test_attributes_are_found_in_any_case(self, show):
        assert "7" in show([{"name": "x", "JOBS": 7}])

    def test_exact_text_takes_the_place_of_the_table(self, capsys):
        records = [{"N": 1}, {"N": 2}]
        table = Table([Column("N", "N")], records, plain=lambda records: f"exactly {len(records)}\n")
        assert emitted(capsys, View([table])) == "exactly 2\n"

    def test_several_tables_have_titles_and_a_blank_line_between(self, capsys):
        tables = [Table([Column("N", "N")], [{"N": number}], title=f"The {number}") for number in (1, 2)]
        empty = Table([Column("N", "N")], [], title="The empty one")
        assert emitted(capsys, View([empty, *tables])) == "The 1\nN\n1\n\nThe 2\nN\n2\n"

    def test_text_stands_above_the_tables(self, capsys):
        view = View([Table([Column("N", "N")], [{"N": 1}])], text="one\ntwo")
        assert emitted(capsys, view) == "one\ntwo\n\nN\n1\n"


class TestMachine:
    def test_json_is_one_document_with_all_attributes_at_full_precision(self, show):
        out = show([ANNA, BERT], "--json")
        assert json.loads(out) == [ANNA, BERT]
        assert "1234.5678901234567" in out

    @pytest.mark.parametrize(
        "nested",
        [None, {"b": {"c": 1, "d": []}}, [{"b": 1}, {"c": 2}], [[1, 2], {}], '},\n{"', "\x7f\u202e", "\x01,\n "],
    )
    def test_json_has_an_item_of_an_array_on_each_line_whatever_it_holds(self, show, nested):
        records = [{"Name": "a, b", "Nested": nested}, {}, {"Name": 1, "Nested": nested}]
        lines = show(records, "--json").splitlines()
        assert [json.loads(line.removesuffix(",")) for line in lines[1:-1]] == records
        assert all(line.isprintable() for line in lines)
        assert lines[1] == '{"Name": "a, b", "Nested": ' + show([nested], "--json").splitlines()[1] + "},"

    def test_ndjson_is_one_object_per_line(self, show):
        assert [json.loads(line) for line in show([ANNA, BERT], "--ndjson").splitlines()] == [ANNA, BERT]

    def test_no_records_are_an_empty_document(self, show):
        assert (show([], "--json"), show([], "--ndjson")) == ("[]\n", "")
        assert show([], "--csv") == "Name,Priority,Jobs\n"

    def test_json_has_no_infinity_so_it_is_a_string(self, capsys):
        values = [{"A": float("inf"), "B": [-float("inf")], "C": {"D": float("nan")}}]
        out = emitted(capsys, View([Table([], values)]), format="json")
        assert json.loads(out) == [{"A": "Infinity", "B": ["-Infinity"], "C": {"D": "NaN"}}]

    def test_a_document_of_its_own_holds_the_tables_by_their_keys(self, capsys):
        view = View(
            [Table([], [{"N": 1}], key="matches"), Table([], [], key="spins"), Table([], [{"N": 2}])],
            document={"cycle": 7, "groups": [{"G": 1}]},
        )
        out = emitted(capsys, view, format="json")
        assert json.loads(out) == {"cycle": 7, "groups": [{"G": 1}], "matches": [{"N": 1}], "spins": []}
        assert list(json.loads(out)) == ["cycle", "groups", "matches", "spins"]

    def test_csv_shows_the_columns_attributes_unrounded(self, show):
        out = show([ANNA, BERT], "--csv")
        assert out == "Name,Priority,Jobs\nanna@hep,0.5,12\nbert,1234.5678901234567,3\n"

    def test_csv_quotes_whatever_a_name_holds(self, show):
        names = ['a,b"c', "d\ne", "", " "]
        rows = list(csv.reader(io.StringIO(show([{"Name": name} for name in names], "--csv", "--no-header"))))
        assert [row[0] for row in rows] == names

    def test_tsv_has_a_line_per_record_whatever_a_name_holds(self, show):
        out = show([{"Name": "a\tb\\\nc", "Jobs": True}], "--tsv", "--no-header")
        assert out == "a\\tb\\\\\\nc\t\ttrue\n"

    def test_a_view_can_say_which_table_and_fields_the_line_formats_show(self, capsys):
        view = View([Table([], [{"N": 1}]), Table([], [{"N": 2, "M": 3}])], main=1, fields=["M", "N"])
        assert emitted(capsys, view, format="csv") == "M,N\n3,2\n"

    def test_a_view_without_tables_is_its_document_in_every_format(self, capsys):
        view = View(document={"cluster": 3, "jobs": 10}, text="10 jobs")
        assert emitted(capsys, view) == "10 jobs\n"
        assert json.loads(emitted(capsys, view, format="json")) == {"cluster": 3, "jobs": 10}
        assert emitted(capsys, view, format="csv") == "cluster,jobs\n3,10\n"
        assert emitted(capsys, view, format="af", attributes=("jobs",)) == "10\n"


class TestAutoformat:
    @pytest.mark.parametrize(
        ("option", "attributes", "line"),
        [
            ("--af", ["Owner", "ProcId"], 'a"b 3'),
            ("--af", ["owner", "Missing", "None"], 'a"b undefined undefined'),
            ("--af", ["Rank", "Big", "Whole", "Ok"], "0.5 1E+20 7.0 true"),
            ("--af", ["List"], '{ 1,"x" }'),
            ("--af:V", ["Owner", "ProcId"], '"a\\"b" 3'),
            ("--af:j", ["Ok"], "12.3 true"),
            ("--af:jl", ["Ok", "Whole"], "ID = 12.3 Ok = true Whole = 7.0"),
            ("--af:,", ["Ok", "Whole"], "true, 7.0"),
            ("--af:t", ["Ok", "Whole"], "true\t7.0"),
            ("--af:r", ["Need", "Owner", "Missing"], 'ClusterId + 1 "a\\"b" undefined'),
            ("--af:lrng", ["Ok", "Whole"], "\nOk = true\nWhole = 7.0"),
        ],
    )
    def test_values_stand_as_htcondors_tools_write_them(self, show, option, attributes, line):
        assert show([JOB], option, *attributes) == line + "\n"

    def test_expressions_are_evaluated_over_the_record(self, show):
        out = show([JOB], "--af", "ProcId * 2", "Need", 'strcat(Owner, "!")', "1/0")
        assert out == '6 13 a"b! error\n'

    def test_headings_align_the_values(self, show):
        out = show([JOB, {"Owner": "longer"}], "--af:jh", "Owner", "ProcId")
        assert out == 'ID        Owner  ProcId\n12.3      a"b    3\nundefined longer undefined\n'

    def test_control_characters_do_not_reach_the_terminal(self, show):
        assert show([{"Name": "a\x1b[2J\nb"}], "--af", "Name") == "a\\x1b[2J\\nb\n"

    @pytest.mark.parametrize("text", ["1 +", "(", "a b"])
    def test_what_is_no_expression_is_refused_before_any_output(self, run, text):
        for option in (["--af", "Name", text], ["--constraint", text]):
            ended = run("sample", "show", "--records", '[{"Name": "x"}]', *option)
            assert (ended.code, ended.out) == (21, "")
            assert ended.err.count("\n") == 1


class TestConstraint:
    @pytest.mark.parametrize(
        ("constraints", "names"),
        [
            (['Name == "BERT"'], ["bert"]),
            (["Jobs > 5"], ["anna@hep"]),
            (["Held"], ["bert"]),
            (["Missing > 1"], []),
            (["Jobs"], ["anna@hep", "bert"]),
            (["true", "Jobs < 5"], ["bert"]),
            (["false || true", "Jobs > 5 || false"], ["anna@hep"]),
            (['regexp("^an", Name)'], ["anna@hep"]),
        ],
    )
    def test_only_records_that_make_it_true_are_shown(self, show, constraints, names):
        options = [word for constraint in constraints for word in ("--constraint", constraint)]
        records = json.loads(show([ANNA, BERT], "--json", *options))
        assert [record["Name"] for record in records] == names


class TestTerminal:
    @pytest.fixture
    def draw(self, run, monkeypatch):
        """Show records as on a terminal of so many columns."""

        def draw(records, columns, *options):
            monkeypatch.setenv("FORCE_COLOR", "1")
            monkeypatch.setenv("COLUMNS", str(columns))
            return run("sample", "show", "--records", json.dumps(records), *options).out

        return draw

    def test_a_terminal_gets_a_drawn_table_in_colour(self, draw):
        out = draw([ANNA, BERT], 80)
        assert "\x1b[1m" in out
        assert "1234.57" in out

    def test_no_colour_is_respected_and_a_dumb_terminal_gets_plain_text(self, show, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        assert show([ANNA]).startswith("User")

    @pytest.mark.parametrize(
        ("columns", "first"),
        [
            (80, "group_physics.higgs.anna@xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx      0.50    12"),
            (60, "group_physics.higgs.an…xxxxxxxxxxxxxxxxxxxxxxx     0.50   12"),
            (30, "group_p…xxxxxxxx     0.50   12"),
            (20, "group…xxxxx     0.50"),
        ],
    )
    def test_a_narrow_terminal_shortens_the_name_before_it_drops_a_column(self, draw, columns, first):
        name = "group_physics.higgs.anna@" + "x" * 30
        out = escape_free(draw([{**ANNA, "Name": name, "Priority": 0.5, "Jobs": 12}], columns))
        assert max(map(width, out.splitlines())) <= columns
        assert out.splitlines()[1] == first

    def test_a_dropped_column_is_named(self, draw):
        assert "too narrow" not in draw([ANNA], 30)
        assert "The terminal is too\nnarrow for Jobs.\n" in draw([ANNA], 20)

    def test_a_long_table_is_as_narrow_as_a_short_one(self, draw):
        short, long = (escape_free(draw([{**ANNA, "Name": "x" * 90}] * count, 40)) for count in (3, 1500))
        assert long.startswith(short)
        assert set(long.splitlines()[1:]) == set(short.splitlines()[1:])

    def test_names_cannot_carry_rich_markup(self, draw):
        assert "[red]x[/red]" in escape_free(draw([{**ANNA, "Name": "[red]x[/red]"}], 80))


def escape_free(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class TestText:
    def test_escapes_are_for_what_cannot_be_printed(self):
        assert escape("plain ü 漢") == "plain ü 漢"
        assert escape("\x00\x85\u2028\U000e0001") == r"\x00\x85\u2028\U000e0001"

    def test_width_counts_cells(self):
        assert [width(text) for text in ("abc", "漢字", "e\u0301")] == [3, 4, 1]


def test_every_format_has_an_option_a_paragraph_in_the_manual_and_prints(run):
    formats = [name for name in get_args(Format) if name != "table"]
    described = " ".join(name for name, _ in OUTPUT)
    words = ("config", "show", "--constraint", 'name == "broker.rules"')
    table = run(*words).out
    for name in formats:
        assert f"--{name}" in described
        attributes = ["name"] if name == "af" else []
        ended = run(*words, f"--{name}", *attributes)
        assert (ended.code, "broker.rules" in ended.out) == (0, True), name
        assert ended.out != table, name
    assert {spelling for option in OPTIONS for spelling in option.opts} == {
        "--no-header",
        *(f"--{name}" for name in formats),
    }
