"""``fairq page``: one file that a browser shows, valid, readable, and safe whatever the pool's names are."""

import hashlib
import json
import re
from base64 import b64encode
from itertools import pairwise
from pathlib import Path

import html5lib
import pytest

NOW = 1_795_200_000
HTML = "{http://www.w3.org/1999/xhtml}"
HOSTILE = "<script>alert(1)</script>\"'&amp;<img src=x onerror=alert(2)>"


@pytest.fixture
def pool(run, state, made_once, monkeypatch):
    """A machine that is divided, one of two slots; two groups, and a job that no machine has room for."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def filled(folder):
        made = folder / state.name
        Path(f"{made}.toml").write_text("[groups.physics]\nquota = 4\n[groups.bio]\nquota = 2\n")
        for words in (
            ["slots", "add", "big", "--partitionable", "--cpus", 8, "--memory", "16GB", "--gpus", 2],
            ["slots", "add", "node", "--count", 2, "--memory", "2GB"],
            ["submit", "--count", 3, "--request-cpus", 2, "--request-gpus", 1, "--accounting-group", "physics",
             "--accounting-group-user", "ann", "--", "/bin/sleep", "SECRET-ARGUMENT"],
            ["submit", "--accounting-group", "bio", "--accounting-group-user", "bob", "--request-memory", "900GB", "--",
             "/bin/echo", "SECRET-TOO"],
            ["negotiate"],
        ):  # fmt: skip
            ended = run("--state", made, *words, "--now", NOW)
            assert ended.code == 0, ended.err
        assert run("--state", made, "negotiate", "--now", NOW + 3600).code == 0

    made_once(filled)
    return state


def written(run, pool, folder, *words):
    ended = run("--state", pool, "page", folder, *words, "--now", NOW + 3600)
    assert ended.code == 0, ended.err
    return (folder / "index.html").read_text(), json.loads((folder / "pool.json").read_text())


def parsed(text):
    """The tree of a page; html5lib raises at the first error in it."""
    return html5lib.HTMLParser(strict=True).parse(text)


def cells(tree, label):
    """The texts of a table's rows."""
    (table,) = [table for table in tree.iter(f"{HTML}table") if table.get("data-label") == label]
    (body,) = table.iter(f"{HTML}tbody")
    return [["".join(cell.itertext()).strip() for cell in row] for row in body]


def test_the_page_is_valid_and_shows_machines_shares_and_who_waits(run, pool, tmp_path):
    text, _ = written(run, pool, tmp_path / "new" / "pool", "--title", "The lab")
    tree = parsed(text)
    assert "".join(next(tree.iter(f"{HTML}title")).itertext()) == "The lab: the pool"
    big, node = cells(tree, "Machines")
    assert big[:3] + big[7:8] == ["big", "4", "8", "2"]
    assert big[-1] == "physics.ann@x 4"
    assert node[:3] == ["node", "0", "2"]
    for name in ("node10", "node9"):
        run("--state", pool, "slots", "add", name, "--now", NOW)
    machines = cells(parsed(written(run, pool, tmp_path)[0]), "Machines")
    assert [row[0] for row in machines] == ["big", "node", "node9", "node10"]
    assert [row[0] for row in cells(tree, "Shares of groups and users")][:2] == ["bio", "bio.bob@x"]
    assert sorted((row[0] for row in cells(tree, "Who waits, and why")), reverse=True) == ["physics.ann@x", "bio.bob@x"]
    starts = {row[1]: row[-1] for row in cells(tree, "When jobs start")}
    assert starts["bio.bob@x"] == "not within the forecast"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", starts["physics.ann@x"])


def test_the_data_are_those_of_the_page(run, pool, tmp_path):
    _, data = written(run, pool, tmp_path)
    machines = [
        (machine["name"], machine["cpus_in_use"], machine["cpus"], machine["gpus"]) for machine in data["machines"]
    ]
    assert machines == [("big", 4, 8, 2), ("node", 0, 2, 0)]
    assert (data["idle"], data["running"], data["weight_in_use"]) == (2, 2, 4)
    use = data["use_24_hours"]
    lengths = [end - start for start, end in pairwise(use["edges"])]
    charged = sum(
        value * length for line in use["lines"] for value, length in zip(line["values"], lengths, strict=True)
    )
    assert charged == pytest.approx(4 * 3600)
    assert {user["user"]: user["charged_seconds"] for user in data["users_30_days"]}["ann@x"] == 4 * 3600


def test_nothing_that_is_private_is_on_it(run, pool, tmp_path):
    written(run, pool, tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["index.html", "pool.json"]
    assert not [file for file in files if "SECRET" in file.read_text()]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o644}


def test_hostile_names_stay_text(run, state, tmp_path):
    slots = [{"Name": f"slot1@{HOSTILE}", "Machine": HOSTILE, "Cpus": 1, "Memory": 1000, "State": "Claimed",
              "Activity": "Busy", "RemoteUser": f"{HOSTILE}@x", "Requirements": True}]  # fmt: skip
    who = HOSTILE.replace(" ", "\x1b[31m")
    jobs = [{"ClusterId": 1, "ProcId": 0, "JobStatus": 1, "Owner": "eve", "User": f"{who}@x",
             "QDate": NOW, "RequestCpus": 1}]  # fmt: skip
    for name, ads in (("slots", slots), ("jobs", jobs)):
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    assert run("--state", state, "import", "--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json",
               "--now", NOW).code == 0  # fmt: skip
    run("--state", state, "negotiate", "--now", NOW + 1)
    text, _ = written(run, state, tmp_path / "out", "--title", HOSTILE)
    tree = parsed(text)
    assert len(list(tree.iter(f"{HTML}script"))) == 1
    assert not list(tree.iter(f"{HTML}img"))
    assert cells(tree, "Machines")[0][0] == HOSTILE
    assert "\x1b" not in text


def test_its_policy_permits_its_own_style_and_script_alone(run, pool, tmp_path):
    text, _ = written(run, pool, tmp_path)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    for name in ("style", "script"):
        (inline,) = re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        digest = b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    tree = parsed(text)
    attributes = [(name, value) for element in tree.iter() for name, value in element.attrib.items()]
    assert not [name for name, _ in attributes if name == "style" or name.startswith("on")]
    links = {value for name, value in attributes if name in ("href", "src")}
    assert {link for link in links if not link.startswith("#")} == {"pool.json"}
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text


def luminance(colour):
    """The relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(run, pool, tmp_path, scheme):
    text, _ = written(run, pool, tmp_path)
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    colours = dict(re.findall(r"--(\S+): (#[0-9a-f]{6})", light if scheme == "light" else light + dark))

    def contrast(colour, other_colour):
        high, low = sorted((luminance(colours[colour]), luminance(colours[other_colour])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for ink in ("ink", "faint", "link", "over", "under"):
        assert contrast(ink, "paper") >= 4.5, ink
    assert min(contrast("ink", "soft"), contrast("faint", "soft"), contrast("alert-ink", "alert")) >= 4.5
    assert min(contrast("part", "whole"), *(contrast(f"line{line}", "paper") for line in range(9))) >= 2


def test_everything_has_its_text_alternative(run, pool, tmp_path):
    tree = parsed(written(run, pool, tmp_path)[0])
    drawings = [
        drawing for drawing in tree.iter("{http://www.w3.org/2000/svg}svg") if drawing.get("aria-hidden") != "true"
    ]
    assert drawings
    assert all(drawing.get("role") == "img" for drawing in drawings)
    assert all(drawing.get("aria-label") or drawing.get("aria-labelledby") for drawing in drawings)
    assert all(element.get("scope") for element in tree.iter(f"{HTML}th"))
    known = {element.get("id") for element in tree.iter() if element.get("id")}
    assert {link.get("href")[1:] for link in tree.iter(f"{HTML}a") if link.get("href")[0] == "#"} <= known


def test_an_empty_pool_has_a_page(run, state, tmp_path):
    run("--state", state, "config", "set", "accounting.uid_domain", "x")
    run("--state", state, "slots", "add", "a", "--now", NOW)
    run("--state", state, "slots", "remove", "a", "--now", NOW)
    text, data = written(run, state, tmp_path)
    parsed(text)
    for words in ("The pool has no slots.", "Nobody waits.", "No job waits.", "none yet"):
        assert words in text
    assert (data["machines"], data["waiting"], data["cycle"]) == ([], [], None)


def test_a_pause_is_told(run, pool, tmp_path):
    run("--state", pool, "pool", "pause", "--reason", "new disks", "--now", NOW + 60)
    text, data = written(run, pool, tmp_path)
    assert "(new disks): nothing new is matched" in text
    assert data["paused"]["reason"] == "new disks"


def test_reservations_are_told(run, pool, tmp_path):
    run("--state", pool, "slots", "reserve", "slot1@node", "--for", "bob@x", "--until", NOW + 90_000, "--reason",
        "class", "--now", NOW + 60)  # fmt: skip
    text, data = written(run, pool, tmp_path)
    (row,) = cells(parsed(text), "Reservations")
    assert (row[0], row[3], row[4]) == ("bob@x", "slot1@node", "class")
    assert data["reservations"][0]["slots"] == ["slot1@node"]


def test_a_page_says_from_which_age_it_is_old(run, pool, tmp_path):
    text, _ = written(run, pool, tmp_path, "--old-after", "15m")
    assert 'data-old-after="900"' in text
    assert "If that is more than 15m ago, nothing writes this page any more." in text


def test_what_cannot_be_written_is_one_line_and_leaves_the_former_page(run, pool, tmp_path):
    (tmp_path / "file").write_text("")
    ended = run("--state", pool, "page", tmp_path / "file", "--now", NOW + 3600)
    assert ended.code == 112
    assert ended.err.count("\n") == 1
    former, _ = written(run, pool, tmp_path / "out")
    (tmp_path / "out" / "pool.json").unlink()
    (tmp_path / "out" / "pool.json").mkdir()
    assert run("--state", pool, "page", tmp_path / "out", "--now", NOW + 7200).code == 112
    assert (tmp_path / "out" / "index.html").read_text() == former
