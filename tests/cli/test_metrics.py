"""``fairq metrics``: what Prometheus' own rules ask of a file for node_exporter."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NOW = 1_795_000_000
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)+)\})? (\S+)')


@pytest.fixture
def fairq(run, state, monkeypatch):
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    Path(f"{state}.toml").write_text("[groups.physics]\nquota = 1\n[metrics]\nsubmitters = 2\n")

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended

    fairq("slots", "add", "node", "--count", "6", "--now", NOW)
    for name in ("anna", "bert", "carl", "physics.dora"):
        group = ["--accounting-group", "physics"] if "." in name else []
        user = name.rpartition(".")[2]
        fairq("submit", "--count", "3", *group, "--accounting-group-user", user, "--now", NOW, "--", "/bin/true")
    fairq("negotiate", "--now", NOW + 60)
    fairq("finish", "1.0", "--exit-code", "2", "--now", NOW + 90)
    return fairq


def values(text):
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            whole = SAMPLE.fullmatch(line)
            assert whole, line
            assert line.rpartition(" ")[0] not in found
            found[line.rpartition(" ")[0]] = float(whole[3])
    return found


def test_the_text_is_what_prometheus_reads(fairq):
    text = fairq("metrics", "--now", NOW + 100).out
    assert text.endswith("\n")
    described: list[str] = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            described.append(line.split()[2])
            assert line.endswith(".")
        elif line.startswith("# TYPE "):
            assert line.split()[2] == described[-1]
            assert (line.split()[3] == "counter") == described[-1].endswith("_total")
        else:
            name = re.match(r"[a-z_]+", line)[0]  # type: ignore[index]
            assert name == described[-1] or re.sub("_(bucket|sum|count)$", "", name) == described[-1]
    assert len(set(described)) == len(described)
    assert all(name.startswith("fairq_") for name in described)


def test_what_is_told_is_what_the_pool_has(fairq):
    found = values(fairq("metrics", "--now", NOW + 100).out)
    assert found["fairq_slots"] == 6
    assert found["fairq_in_use_slot_weight"] == 5
    assert found['fairq_jobs{state="idle"}'] == 6
    assert found['fairq_runs_ended_total{outcome="failed"}'] == 1
    assert found["fairq_cycle_last_timestamp_seconds"] == NOW + 60
    assert found["fairq_cycles_total"] == 1
    assert found['fairq_group_quota_slot_weight{group="physics"}'] == 1
    assert found['fairq_group_in_use_slot_weight{group="physics"}'] == 1


@pytest.mark.parametrize(("words", "told"), [([], 2), (["--users", "0"], 0), (["--users", "9"], 4)])
def test_the_number_of_submitters_is_bounded_and_the_sums_stay(fairq, words, told):
    found = values(fairq("metrics", *words).out)
    used = {name: value for name, value in found.items() if name.startswith("fairq_submitter_in_use")}
    assert sum(used.values()) == 5
    assert len([name for name in used if '"other"' not in name]) == told
    assert len([name for name in found if name.startswith("fairq_submitter_priority{")]) == told


def test_waits_of_jobs_and_cycles_are_histograms(fairq):
    """Jobs of two groups end: each waited 60 seconds from submission to the cycle; counters outlive the next cycle."""
    fairq("finish", "--all", "--now", NOW + 120)
    for later in (0, 130):
        if later:
            fairq("negotiate", "--now", NOW + later)
        found = values(fairq("metrics", "--now", NOW + 200).out)
        buckets = [found[f'fairq_job_wait_seconds_bucket{{group="physics",le="{le}"}}'] for le in ("10", "60", "+Inf")]
        assert buckets == [0, 1, 1]
        assert found['fairq_job_wait_seconds_sum{group="physics"}'] == 60
        assert found['fairq_job_wait_seconds_count{group="<none>"}'] == 5
        assert found['fairq_runs_ended_total{outcome="finished"}'] == 5
        cycles = found["fairq_cycles_total"]
        assert found["fairq_cycle_duration_seconds_count"] == cycles == 1 + bool(later)
        assert found['fairq_cycle_duration_seconds_bucket{le="+Inf"}'] == cycles


def test_failed_cycles_are_counted_by_kind(fairq, run, state):
    settings = Path(f"{state}.toml")
    right = settings.read_text()
    assert values(fairq("metrics").out)['fairq_cycle_errors_total{kind="none"}'] == 0
    settings.write_text(f"{right}[negotiator]\nrules = 7\n")
    for _ in range(2):
        assert run("--state", state, "negotiate", "--now", NOW + 300).code == 16
    settings.write_text(right)
    assert values(fairq("metrics").out)['fairq_cycle_errors_total{kind="SettingValue"}'] == 2
    errors = Path(f"{state}.errors")
    for damaged in (b"", b"[]", b"{", b'{"counts": 7}', b'{"counts": {"a": "b"}}', b"\xff"):
        errors.write_bytes(damaged)
        assert values(fairq("metrics").out)['fairq_cycle_errors_total{kind="none"}'] == 0


def test_counters_go_on_after_export_and_import(fairq, run, state, tmp_path):
    before = values(fairq("metrics", "--now", NOW + 100).out)
    document = tmp_path / "state.json"
    document.write_text(fairq("export").out)
    other = tmp_path / "other.db"
    assert run("--state", other, "import", document).code == 0
    after = values(run("--state", other, "metrics", "--now", NOW + 100).out)
    counters = [name for name in before if re.match("fairq_(runs_ended_total|cycles_total|job_wait|cycle_dur)", name)]
    assert {name: after.get(name) for name in counters} == {name: before[name] for name in counters}


def test_a_file_is_replaced_whole_and_readable_for_all(fairq, run, state, tmp_path):
    file = tmp_path / "fairq.prom"
    fairq("metrics", "--out", file)
    assert file.stat().st_mode & 0o777 == 0o644
    assert values(file.read_text())["fairq_slots"] == 6
    assert sorted(place.name for place in tmp_path.iterdir() if "prom" in place.name) == ["fairq.prom"]
    failed = run("--state", state, "metrics", "--out", tmp_path / "none" / "fairq.prom")
    assert failed.code == 112
    assert "no such file or directory; name another file with --out" in failed.err.lower()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_has_nothing_to_say(fairq):
    text = fairq("metrics").out
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
