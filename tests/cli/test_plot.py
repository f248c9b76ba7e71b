"""``fairq plot``: pictures of block letters that say what they show, and files."""

import json
import re
import sys

import pytest

from fairq.cli import blocks
from fairq.cli.plot_views import short_names
from fairq.common.quantities import local

NOW = 1_795_003_200
HOUR = 3600


@pytest.fixture
def fairq(run, state, made_once, monkeypatch):
    """Anna has two of three slots for half a day, bert one; no cycle ran for four hours in it."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    monkeypatch.setenv("COLUMNS", "80")

    def fairq(*words, at=state):
        ended = run("--state", at, *words)
        assert ended.code == 0, ended.err
        return ended

    def filled(folder):
        made = folder / state.name
        fairq("slots", "add", "node", "--count", "3", "--now", NOW, at=made)
        fairq("submit", "--count", "6", "--accounting-group-user", "anna", "--now", NOW, "--", "/bin/true", at=made)
        fairq("submit", "--accounting-group-user", "bert", "--now", NOW, "--", "/bin/true", at=made)
        for hour in (0, 1, 2, 3, 7, 8, 9, 10, 11, 12):
            fairq("negotiate", "--now", NOW + hour * HOUR, at=made)

    made_once(filled)
    return fairq


WINDOW = ("--since", NOW, "--until", NOW + 12 * HOUR, "--now", NOW + 12 * HOUR)


def test_use_is_drawn_on_one_scale(fairq):
    lines = fairq("plot", "usage", *WINDOW).out.splitlines()
    assert lines[0].startswith("Slot weight in use, by submitter, 2026-")
    assert lines[1] == "a character is 1h; a full one is 2 (slot weight)"
    assert lines[3].split() == ["anna", "█" * 12, "mean", "2", "max", "2"]
    assert lines[4].split() == ["bert", "▄" * 12, "mean", "1", "max", "1"]
    assert max(map(len, lines)) <= 80


def test_what_no_cycle_saw_is_unknown_and_not_none(fairq):
    queue = fairq("plot", "queue", "--by", "pool", *WINDOW).out.splitlines()
    assert queue[3].split()[:2] == ["idle", "█" * 4 + "···" + "█" * 5]
    assert queue[4].split()[:2] == ["running", "▆" * 4 + "···" + "▆" * 5]


def test_shares_compare_use_with_what_was_due(fairq):
    document = json.loads(fairq("plot", "shares", *WINDOW, "--json").out)
    assert [(share["name"], share["used"]) for share in document["shares"]] == [("anna@x", 2 / 3), ("bert@x", 1 / 3)]
    assert fairq("plot", "shares", *WINDOW).out.splitlines()[3].startswith("anna ")


@pytest.mark.parametrize("cells", [40, 60, 80, 120])
def test_a_picture_fits_its_terminal_and_its_dates_stay_apart(fairq, monkeypatch, cells):
    monkeypatch.setenv("COLUMNS", str(cells))
    fairq("submit", "--accounting-group-user", "firstname.lastname@department", "--now", NOW, "--", "/bin/true")
    for what in ("usage", "shares", "priority", "queue"):
        for hours in (2, 12, 27, 35, 48, 168):
            until = NOW + 12 * HOUR
            text = fairq("plot", what, "--since", until - hours * HOUR, "--until", until, "--now", until).out
            lines = text.splitlines()[3:]
            assert max(map(len, lines)) <= cells
            assert not re.search(r"\d\d:\d\d\d", text)


def test_letters_of_ascii_are_enough(fairq):
    text = fairq("plot", "usage", "--ascii", "--top", "1", *WINDOW).out
    assert text.isascii()
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["anna", "others"]
    assert fairq("plot", "priority", "--ascii", *WINDOW).out.isascii()


def test_the_numbers_are_there_for_programs(fairq):
    found = json.loads(fairq("plot", "usage", "--by", "group", *WINDOW, "--json").out)
    assert (found["step"], found["unit"]) == (HOUR, "slot weight")
    assert {value["value"] for value in found["values"]} == {3.0}
    assert fairq("plot", "usage", *WINDOW, "--csv").out.splitlines()[0] == "name,time,value"


@pytest.fixture
def result(run, tmp_path):
    """A simulation: anna submits four jobs of an hour before bert one, on one slot."""
    trace = tmp_path / "trace.csv"
    trace.write_text("submit,run,user\n" + "0,3600,anna\n" * 4 + "1,3600,bert\n")
    words = ("--slots", 1, "--policy", "fifo", "--policy", "current", "--every", 0, "--window", "1h", "--json")
    ended = run("simulate", trace, *words)
    assert ended.code == 0, ended.err
    file = tmp_path / "result.json"
    file.write_text(ended.out)
    return file


def test_a_simulation_is_drawn_with_its_policies_beside_each_other(run, result, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    waits = run("plot", "wait", "--simulation", result).out.splitlines()
    assert [line.split()[:2] for line in waits[3::2]] == [["anna", "fifo"], ["bert", "fifo"]]
    assert [line.split()[0] for line in waits[4::2]] == ["current", "current"]
    assert waits[5].split()[-1] == "3h59m59s"  # behind all four of anna
    numbers = json.loads(run("plot", "wait", "--simulation", result, "--json").out)["waits"]
    assert {(value["name"], value["policy"]): value["wait"] for value in numbers}[("bert", "current")] == 3599
    usage = run("plot", "usage", "--simulation", result).out.splitlines()
    assert [line.split()[:2] for line in usage[3:5]] == [["fifo", "█" * 5], ["current", "█" * 5]]
    queue = json.loads(run("plot", "queue", "--simulation", result, "--json").out)["values"]
    assert [round(value["value"]) for value in queue if value["name"] == "fifo"] == [4, 3, 2, 1, 0]
    shares = json.loads(run("plot", "shares", "--simulation", result, "--json").out)["shares"]
    assert {share["name"] for share in shares} == {"anna, fifo", "anna, current", "bert, fifo", "bert, current"}
    assert sum(share["used"] for share in shares if "fifo" in share["name"]) == pytest.approx(1)
    assert short_names(["ann@x.org, fifo", "bob@x.org, now"]) == ["ann, fifo", "bob, now"]
    assert short_names(["ann@x.org", "others"]) == ["ann", "others"]
    assert short_names(["ann@x.org", "ann@y.org"]) == ["ann@x.org", "ann@y.org"]


@pytest.mark.parametrize("what", ["usage", "queue", "shares", "wait"])
def test_a_simulation_is_drawn_into_a_file(run, result, tmp_path, what):
    pytest.importorskip("matplotlib")
    assert run("plot", what, "--simulation", result, "--out", tmp_path / "a.svg").code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"policies": [], "weight": "x"}', '{"policies": [{"policy": "a"}], "weight": 1}', "[" * 9],
)
@pytest.mark.parametrize("what", ["usage", "shares", "wait"])
def test_what_is_no_result_of_a_simulation_is_refused(run, tmp_path, what, content):
    file = tmp_path / "bad.json"
    file.write_text(content)
    ended = run("plot", what, "--simulation", file)
    assert ended.code == 47
    assert "give what 'fairq simulate ... --json' prints" in ended.err


def test_a_step_of_days_begins_at_midnight_also_after_a_clock_change(run, state, zone):
    """29 March 2026 has 23 hours in Berlin: the use of each day is the mean over that day."""
    zone("Europe/Berlin")
    begin = 1_774_652_400
    assert local(begin).isoformat() == "2026-03-28T00:00:00"
    end = begin + 71 * HOUR
    for words in (["slots", "add", "n"], ["submit", "--", "/bin/true"], ["negotiate"]):
        assert run("--state", state, *words, "--now", begin).code == 0
    assert run("--state", state, "negotiate", "--now", end).code == 0
    words = ("--since", begin - 60 * 86400, "--until", end, "--now", end, "--json")
    found = json.loads(run("--state", state, "plot", "usage", *words).out)
    values = {local(value["time"]).isoformat(): value["value"] for value in found["values"] if value["time"] >= begin}
    assert values == {f"2026-03-{day}T00:00:00": 1.0 for day in (28, 29, 30)}


def test_a_label_is_cut_in_the_middle_and_a_bar_to_an_eighth():
    assert blocks.label("group_atlas.production.user", 11) == "group…user"[:5] + "….user"
    assert blocks.bar(0.5, 3, plain=False) == "█▌"
    assert blocks.spark([0, 0.01, 1, None], 1, plain=False) == " ▁█·"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["wait"], 2, "give its result with --simulation"),
        (["moon"], 2, "is not known; give one of usage, shares, priority, queue"),
        (["shares", "--by", "pool"], 2, "'pool' is not known; give one of submitter, group"),
        (["usage", "--out", "x.pdf"], 2, "give a file that ends so"),
        (["priority", "--simulation", "x"], 2, "is not known of a simulation"),
        (["usage", "--simulation", "x", "--since", "-1d"], 2, "leave out --since and --until"),
    ],
)
def test_wrong_use_is_told(run, state, words, code, said):
    ended = run("--state", state, "plot", *words)
    assert ended.code == code
    assert said in ended.err


def test_an_empty_pool_has_nothing_to_show(run, state):
    for what in ("usage", "shares", "priority", "queue"):
        ended = run("--state", state, "plot", what)
        assert ended.code == 0
        assert ended.out == "nothing is recorded in this period; choose another with --since and --until\n"


def test_without_matplotlib_a_file_is_refused_with_the_cure(run, state, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ended = run("--state", state, "plot", "usage", "--out", tmp_path / "a.svg")
    assert ended.code == 113
    assert "pip install 'fairq[plot]'" in ended.err


@pytest.mark.parametrize("what", ["usage", "shares"])
def test_the_same_picture_has_the_same_bytes(fairq, tmp_path, what):
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg", "one.png"):
        fairq("plot", what, "--out", tmp_path / name, *WINDOW)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_priorities_far_apart_are_drawn_on_a_scale_that_says_it_is_logarithmic(fairq, tmp_path, monkeypatch):
    fairq("userprio", "--setfactor", "bert@x", "1000000", "--now", NOW + 12 * HOUR)
    for hour in (13, 14):
        fairq("negotiate", "--now", NOW + hour * HOUR)
    window = ("--since", NOW, "--until", NOW + 15 * HOUR, "--now", NOW + 15 * HOUR)
    lines = fairq("plot", "priority", *window).out.splitlines()
    assert re.fullmatch(r"a character is 1h; log scale from 500 to 6\.\d+e\+05 \(effective priority\)", lines[1])
    picture_of = {line.split()[0]: line.split()[1] for line in lines[3:5]}
    assert set(picture_of["anna"][:3]) <= {"▁", "▂"}
    assert picture_of["bert"].strip("·")[-1] == "█"
    monkeypatch.setenv("COLUMNS", "60")
    assert "log scale" in fairq("plot", "priority", *window, "--ascii").out
    assert "log scale" not in fairq("plot", "priority", *WINDOW).out
    pytest.importorskip("matplotlib")
    fairq("plot", "priority", *window, "--out", tmp_path / "one.svg")
    assert "effective priority (log scale)" in (tmp_path / "one.svg").read_text()
