"""A setting takes an amount with its unit, in a file and in a variable, and holds the plain number."""

import pytest

from fairq.settings import load


def of_file(folder, text):
    file = folder / "given.toml"
    file.write_text(text)
    return load(file, None, {})


@pytest.mark.parametrize(
    ("table", "name", "text", "want"),
    [
        ("accounting", "priority_halflife", "12h", 43200.0),
        ("accounting", "priority_halflife", "90", 90.0),
        ("negotiator", "negotiator_max_time_per_cycle", "20m", 1200),
        ("negotiator", "negotiator_trim_shutdown_threshold", "2h", "7200"),
        ("submit", "command_timeout", "1m30s", 90),
    ],
)
def test_seconds_may_be_written_as_durations(tmp_path, table, name, text, want):
    assert of_file(tmp_path, f"[{table}]\n{name} = '{text}'")[f"{table}.{name}"] == want
    assert load(None, None, {f"FAIRQ_{table}_{name}".upper(): text})[f"{table}.{name}"] == want


def test_a_dynamic_quota_may_be_a_percentage(tmp_path):
    assert of_file(tmp_path, "[groups.a]\nquota_dynamic = '12.5%'").groups["a"].quota_dynamic == 0.125
