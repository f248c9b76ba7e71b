"""``fairq negotiate`` with accounting groups, through the command line."""

import json

import pytest

T = 1_795_000_000

CONFIG = """
[accounting]
uid_domain = "example.org"
[groups.physics]
quota = 2
[groups."physics.hep"]
quota = 1
accept_surplus = true
[groups.chemistry]
quota = 1
"""


@pytest.fixture
def pool(run, state, tmp_path, monkeypatch):
    """Four slots, and jobs of physics.hep and chemistry."""
    config = tmp_path / "groups.toml"
    config.write_text(CONFIG)
    monkeypatch.setenv("FAIRQ_CONFIG", str(config))

    def fairq(*words):
        return run(words[0], "--state", state, *words[1:])

    for number in range(4):
        fairq("slots", "add", f"n{number}", "--cpus", 1, "--now", T)
    for group, user in (("physics.hep", "higgs"), ("chemistry", "curie")):
        account = ("--accounting-group", group, "--accounting-group-user", user)
        fairq("submit", "--now", T, "--count", 9, *account, "--", "/bin/true")
    return fairq


def test_the_groups_are_shown_in_the_order_negotiated(pool):
    """Quota, allocation, surplus, limit and use, and whose quota stopped a submitter."""
    lines = pool("negotiate", "--now", T).out.splitlines()

    assert lines[0] == "Groups (1 allocation round)"
    assert lines[1].split() == ["Group", "Requested", "Quota", "Allocated", "Surplus", "Limit", "In", "Use", "After"]
    rows = [line.split() for line in lines[2:6]]
    assert [row[0] for row in rows] == ["chemistry", "physics", "physics.hep", "<none>"]
    assert rows[0][1:] == ["9", "1.00", "1.00", "0.00", "1.00", "0", "1"]
    assert rows[2][1:] == ["9", "1.00", "2.00", "1.00", "2.00", "0", "2"]
    stopped = {line.split()[0]: line[line.index("group quota") :] for line in lines if "group quota" in line}
    assert stopped == {
        "chemistry.curie@example.org": "group quota reached (chemistry)",
        "physics.hep.higgs@example.org": "group quota reached (physics)",
    }


def test_the_document_has_turns_figures_and_reasons(pool):
    """groups has every turn, quotas every group; matches and rejections name their group."""
    cycle = json.loads(pool("negotiate", "--now", T, "--json").out)

    assert [turn["group"] for turn in cycle["groups"]] == ["chemistry", "physics", "physics.hep", "<none>"]
    assert [turn["limit"] for turn in cycle["groups"]] == [1, None, 2, None]
    assert {match["group"] for match in cycle["matches"]} == {"chemistry", "physics.hep"}
    assert {(r["group"], r["quota_group"]) for r in cycle["rejections"]} == {
        ("chemistry", "chemistry"),
        ("physics.hep", "physics"),
    }
    physics = next(group for group in cycle["quotas"] if group["group"] == "physics")
    assert (physics["parent"], physics["quota"], physics["subtree_quota"]) == ("<none>", 1, 2)
    assert (physics["used_after"], physics["subtree_used"]) == (0, 2)


def test_matches_stay_the_table_for_scripts(pool):
    """--af and --csv show the matches, with groups as without."""
    assert pool("negotiate", "--now", T, "--af", "slot", "group").out.splitlines()[0].split()[1] == "chemistry"


def test_without_groups_there_is_no_such_table(pool, monkeypatch, tmp_path):
    """Nothing of groups is shown where none are configured."""
    config = tmp_path / "plain.toml"
    config.write_text('[accounting]\nuid_domain = "example.org"\n')
    monkeypatch.setenv("FAIRQ_CONFIG", str(config))

    shown = pool("negotiate", "--now", T).out
    assert shown.startswith("Cycle 1: 4 matches")
    assert json.loads(pool("negotiate", "--now", T, "--dry-run", "--json").out)["groups"] == []


def test_odd_groups_are_told_on_request(pool, monkeypatch, tmp_path):
    """-v says which groups the flat model leaves out; without it a cron job stays quiet."""
    config = tmp_path / "flat.toml"
    config.write_text(CONFIG + '[negotiator]\nquota_model = "flat"\n')
    monkeypatch.setenv("FAIRQ_CONFIG", str(config))

    assert pool("negotiate", "--now", T, "--dry-run").err == ""
    told = pool("negotiate", "-v", "--now", T).err
    assert "group physics.hep: the flat model has only one level of groups; the group is ignored" in told
