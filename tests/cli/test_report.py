"""``fairq report``: its sums are those of userprio, and its months those of the calendar."""

import json
from pathlib import Path

import pytest

from fairq.common.periods import parts, periods

NOW = 1_792_880_000
"""2026-10-25 00:13:20 in Berlin; in this night the clocks go back."""


@pytest.fixture
def fairq(run, state, made_once, monkeypatch, zone):
    """Two users whose jobs run for ten days over the change of the clocks and the end of the month."""
    zone("Europe/Berlin")
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def filled(folder):
        made = folder / state.name
        Path(f"{made}.toml").write_text("[groups.physics]\nquota = 2\n")
        for words in (
            ["slots", "add", "node", "--count", "3", "--now", NOW],
            ["submit", "--count", "3", "--accounting-group-user", "anna", "--now", NOW, "--", "/bin/true"],
            ["submit", "--count", "3", "--accounting-group", "physics", "--accounting-group-user", "bert", "--now", NOW,
             "--", "/bin/true"],
            ["negotiate", "--now", NOW + 100],
            ["negotiate", "--now", NOW + 40_000],
            ["finish", "1.0", "--exit-code", "1", "--at", NOW + 50_001, "--now", NOW + 90_000],
            ["userprio", "-resetusage", "anna@x", "--now", NOW + 90_001],
            ["negotiate", "--now", NOW + 90_002],
            ["userprio", "-setaccum", "physics.bert@x", "12345", "--now", NOW + 400_000],
            ["negotiate", "--now", NOW + 864_000],
        ):  # fmt: skip
            ended = run("--state", made, *words)
            assert ended.code == 0, ended.err

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended

    made_once(filled)
    return fairq


def report(fairq, *words):
    return json.loads(fairq("report", "--now", NOW + 864_000, "--since", "2026-10-01", *words, "--json").out)


def test_charges_and_edits_add_up_to_what_userprio_shows(fairq):
    shown = json.loads(fairq("userprio", "--all", "--allusers", "--json", "--now", NOW + 864_000).out)
    want = {ad["Name"]: ad["WeightedAccumulatedUsage"] for ad in shown if not ad["IsAccountingGroup"]}
    rows = report(fairq, "--by", "submitter")["rows"]
    got = {row["submitter"]: row["charged_seconds"] + row["edited_seconds"] for row in rows}
    assert got == pytest.approx(want, abs=1e-3)
    assert sum(row["weighted_seconds"] for row in rows) == sum(row["charged_seconds"] for row in rows)


@pytest.mark.parametrize("kind", ["hour", "day", "week", "month", "year", "group", "user", "group,day", "user,month"])
def test_every_division_has_the_same_sums(fairq, kind):
    whole, divided = report(fairq), report(fairq, "--by", kind)
    for name in ("jobs", "failed", "slot_seconds", "charged_seconds", "edited_seconds", "entitled_seconds"):
        assert sum(row[name] for row in divided["rows"]) == pytest.approx(whole["total"][name], abs=1e-3), name


def test_a_day_at_the_change_of_the_clocks_has_25_hours(fairq):
    days = {row["day"]: row["charged_seconds"] for row in report(fairq, "--by", "day")["rows"]}
    assert days["2026-10-27"] == 3 * 24 * 3600
    hours = [row["hour"] for row in report(fairq, "--by", "hour")["rows"]]
    assert len([hour for hour in hours if hour.startswith("2026-10-25T")]) == 25
    assert {"2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"} <= set(hours)


def test_months_are_cut_at_local_midnight(fairq):
    found = report(fairq, "--by", "month")["rows"]
    assert [row["month"] for row in found] == ["2026-10", "2026-11"]
    # 2026-11-01 00:00 in Berlin.
    assert found[1]["start_time"] == 1_793_487_600
    assert found[1]["charged_seconds"] == 3 * (NOW + 864_000 - 1_793_487_600)
    alone = json.loads(fairq("report", "--month", "2026-11", "--now", NOW + 864_000, "--json").out)
    assert alone["total"]["charged_seconds"] == found[1]["charged_seconds"]


def test_a_zone_with_half_hours_has_months_of_its_own(zone):
    zone("Asia/Kolkata")
    midnight = next(period.end for period in periods("month", NOW, NOW + 864_000))
    assert midnight % 3600 == 1800
    assert [start for start, _ in parts(midnight - 3600, midnight + 3600)] == [
        midnight - 5400, midnight - 1800, midnight, midnight + 1800,
    ]  # fmt: skip


def test_old_hours_become_days_and_the_sums_stay(fairq):
    before = report(fairq, "--by", "user,month", "--until", "2026-11-03")["rows"]
    for week in range(1, 13):
        fairq("negotiate", "--now", NOW + 864_000 + week * 7 * 86_400)
    after = report(fairq, "--by", "user,month", "--until", "2026-11-03")["rows"]
    for one, other in zip(before, after, strict=True):
        # What was charged later is another sum to have a share of.
        assert one | {"share": 0} == pytest.approx(other | {"share": 0})
    hours = report(fairq, "--by", "hour", "--until", "2026-11-01")["rows"]
    assert len([row for row in hours if row["charged_seconds"]]) == 7


def test_the_table_says_its_ends_with_their_offsets(fairq):
    lines = fairq("report", "--now", NOW + 864_000, "--since", "2026-10-01").out.splitlines()
    assert lines[0] == "From 2026-10-01 00:00+02:00 to 2026-11-03 23:13+01:00, local time"
    assert lines[2].split()[:6] == ["USER", "JOBS", "FAILED", "SLOT_HOURS", "CHARGED", "SHARE"]
    assert {line.split()[0] for line in lines[3:5]} == {"anna@x", "bert@x"}
    cut = fairq("report", "--now", NOW + 864_000, "--since", "2026-10-01", "--top", "1").out.splitlines()
    assert [line.split()[0] for line in cut[3:5]] == ["bert@x", "others"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "moon"], "'moon' is not known"),
        (["--by", "user,group,day"], "at most two"),
        (["--by", "day,month"], "at most one of them a time"),
        (["--month", "2026-10", "--since", "-1d"], "--month excludes"),
        (["--since", "2026-10-02", "--until", "2026-10-01"], "--since is not before --until"),
    ],
)
def test_wrong_use_is_told(run, words, said):
    ended = run("report", *words)
    assert ended.code == 2
    assert said in ended.err


@pytest.fixture
def unfair(run, state, monkeypatch):
    """Ten slots of two cores that alice has; bob takes four of them by priority, and none has carol's eight cores."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    Path(f"{state}.toml").write_text('[negotiator]\npreemption_requirements = "true"\n')

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended

    fairq("slots", "add", "node", "--count", 10, "--cpus", 2, "--memory", "4GB", "--now", NOW)
    for user, count, cpus, later in (
        ("alice", 20, 1, 0),
        ("bob", 4, 2, 3600),
        ("carol", 3, 8, 3600),
        ("carol", 1, 16, 3600),
    ):
        fairq("submit", "--count", count, "--accounting-group-user", user, "--request-cpus", cpus,
              "--request-memory", "3GB", "--now", NOW + later, "--", "/bin/true")  # fmt: skip
        if not later:
            fairq("negotiate", "--now", NOW)
    for later in (3600, 7200, 10_800):
        fairq("negotiate", "--now", NOW + later)
    return fairq


def fairness(fairq, *words):
    return json.loads(
        fairq("report", "--fairness", "--since", NOW - 86_400, "--now", NOW + 10_800, *words, "--json").out
    )


def test_fairness_has_the_work_lost_to_preemption_and_the_time_of_demand(unfair):
    rows = {row["user"]: row for row in fairness(unfair, "--by", "user")["rows"]}
    assert {name: row["lost_seconds"] for name, row in rows.items()} == {
        "alice@x": 4 * 2 * 3600, "bob@x": 0, "carol@x": 0,
    }  # fmt: skip
    assert (rows["alice@x"]["wanting_seconds"], rows["bob@x"]["wanting_seconds"]) == (10_800, 0)
    assert rows["alice@x"]["met"] == rows["alice@x"]["delivered_seconds"] / rows["alice@x"]["entitled_seconds"]


def test_fairness_names_who_is_blocked_and_its_smallest_job(unfair):
    (carol,) = fairness(unfair)["blocked"]
    assert (carol["submitter"], carol["job"], carol["cpus"], carol["memory"], carol["idle"]) == (
        "carol@x",
        "3.0",
        8,
        3072,
        4,
    )
    assert carol["stopped"] == "no slot matches the jobs left"
    assert fairness(unfair, "--user", "bob@x")["blocked"] == []


def test_fairness_is_by_day_and_user_unless_asked_otherwise(unfair):
    assert fairness(unfair)["by"] == ["day", "user"]
    assert fairness(unfair, "--by", "group")["by"] == ["group"]


def test_fairness_of_slots_is_refused(run, state):
    ended = run("--state", state, "report", "--fairness", "--by", "slot")
    assert ended.code == 2
    assert "leave out --by slot" in ended.err
