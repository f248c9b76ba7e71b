"""DIRAC's configuration is read as DIRAC reads it, and becomes the table ``[shares]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.settings.dirac.cfg import Section, is_cfg, parse_cfg
from fairq.settings.dirac.translate import translate
from fairq.settings.share_blocks import nested

REGISTRY = """
# who is who
Registry
{
  Users { alice { DN = /DC=ch/CN=alice } }
  Groups
  {
    lhcb_user { Users = alice, bob
      Properties = NormalUser, PrivateLimitedDelegation
      JobShare = 1000
    }
    lhcb_prod
    {
      # a group of its own
      Properties = NormalUser
      Properties += JobSharing
      JobShare = "3000"
      AllowBackgroundTQs = Yes
      VO = lhcb
    }
    lhcb_many { JobShare = many }
  }
}
"""

OPERATIONS = """
Operations
{
  Defaults { JobScheduling {
      EnableSharesCorrection = True
      CheckJobLimits = no
      taskQueueCPUTimeIntervals = 100, 200
      RunningLimit { LCG.CERN.cern { JobType { User = 10 } } }
      ShareCorrections { ShareCorrectorsToStart = WMSHistory, Mine } } }
  lhcb
  {
    JobScheduling { EnableSharesCorrection = False }
    JobDescription { DefaultCPUTime = 1000
      AllowedJobTypes = a, b }
  }
}
"""


def taken(text):
    shares: dict[str, Any] = translate(parse_cfg(text, "x.cfg")).document["shares"]
    return shares


def test_groups_have_their_shares_and_whether_they_share_jobs():
    imported = translate(parse_cfg(REGISTRY, "x.cfg"))
    assert imported.document["shares"] == {
        "rules": "dirac",
        "groups": {
            "lhcb_user": {"job_sharing": False, "job_share": 1000},
            "lhcb_prod": {"job_sharing": True, "job_share": 3000, "allow_background_tqs": True, "vo": "lhcb"},
        },
    }
    reported = [(entry.where, entry.name) for entry in imported.not_taken]
    assert reported == [("x.cfg:21", "lhcb_many/JobShare"), ("x.cfg:5", "/Registry/Users")]


@pytest.mark.parametrize(("properties", "shares"), [("JobSharing", True), ("X, JOB_SHARING", True), ("Job", False)])
def test_job_sharing_is_known_in_both_spellings(properties, shares):
    imported = taken(f"Registry {{ Groups {{ p {{ Properties = {properties} }} }} }}")
    assert imported["groups"]["p"]["job_sharing"] is shares


def test_what_a_virtual_organisation_says_goes_before_what_is_for_everybody():
    imported = translate(parse_cfg(OPERATIONS, "x.cfg"))
    assert imported.document["shares"] == {
        "rules": "dirac",
        "enable_shares_correction": False,
        "check_job_limits": False,
        "task_queue_cpu_time_intervals": "100, 200",
        "default_cpu_time": 1000,
        "RunningLimit": {"LCG.CERN.cern": {"JobType": {"User": 10}}},
        "ShareCorrections": {"ShareCorrectorsToStart": "WMSHistory, Mine"},
    }
    assert [entry.name for entry in imported.not_taken] == ["AllowedJobTypes", "enable_shares_correction"]


def test_the_bounds_of_what_jobs_that_state_nothing_get_are_taken():
    description = "DefaultPriority = 3\nMinPriority = 2\nMaxPriority = 7\nMinCPUTime = 500\nMaxCPUTime = 9e9\n"
    imported = translate(parse_cfg(f"Operations {{ Defaults {{ JobDescription {{ {description} }} }} }}", "x.cfg"))
    bounds = {"default_priority": 3, "min_priority": 2, "max_priority": 7, "min_cpu_time": 500}
    assert imported.document["shares"] == {"rules": "dirac", **bounds}
    assert [(entry.name, entry.why) for entry in imported.not_taken] == [("MaxCPUTime", "'9e9' is not a whole number")]


def test_a_block_that_stands_alone_is_put_to_work():
    assert taken("ShareCorrections { ShareCorrectorsToStart = WMSHistory }")["enable_shares_correction"] is True
    assert "enable_shares_correction" not in taken(
        "Operations { Defaults { JobScheduling { ShareCorrections { ShareCorrectorsToStart = X } } } }"
    )


def test_an_import_from_dirac_leaves_the_other_settings_alone(run, state, tmp_path):
    file = Path(f"{state}.toml")
    file.write_text('[accounting]\nuid_domain = "example.org"\n[shares]\nselection = "strict"\n')
    (tmp_path / "dirac.cfg").write_text(REGISTRY + OPERATIONS)
    assert run("--state", state, "config", "import", tmp_path / "dirac.cfg").code == 0
    assert run("--state", state, "config", "get", "uid_domain").out == "example.org\n"
    assert run("--state", state, "config", "get", "shares.selection").out == "dirac\n"
    assert run("--state", state, "config", "get", "shares.groups.lhcb_prod.job_share").out == "3000.0\n"
    assert run("--state", state, "config", "check").code == 0
    assert "strict" in Path(f"{file}.bak").read_text()


def test_both_kinds_of_configuration_are_taken_in_one_go(run, state, tmp_path):
    (tmp_path / "dirac.cfg").write_text(REGISTRY)
    (tmp_path / "pool.conf").write_text("PRIORITY_HALFLIFE = 60\n")
    assert run("--state", state, "config", "import", tmp_path / "pool.conf", tmp_path / "dirac.cfg").code == 0
    assert run("--state", state, "config", "get", "negotiator.rules").out == "htcondor\n"
    assert run("--state", state, "config", "get", "shares.rules").out == "dirac\n"


@pytest.mark.parametrize(
    ("text", "is_dirac"),
    [
        ("A { }", True),
        ("# x\n\nA\n{\n}", True),
        ("a = 1\nA\n{", True),
        ("NAME = value\n", False),
        ("NAME = { 1, 2 }\nOTHER = 1\n", False),
        ("use ROLE : Execute\n", False),
        ("JOB_TRANSFORM_x @=end\n{\n}\n@end\n", False),
        ("{}", False),
        ("", False),
    ],
)
def test_the_content_tells_whose_configuration_it_is(text, is_dirac):
    assert is_cfg(text) is is_dirac


def test_a_section_that_stands_there_twice_is_one_and_later_files_win():
    root = Section("")
    root.merge(parse_cfg("A { x = 1\n y = 1 }\nA { z = 1 }", "one"))
    root.merge(parse_cfg("A { x = 2 }", "two"))
    assert {name: option.value for name, option in root.sections["A"].options.items()} == {"x": "2", "y": "1", "z": "1"}


NAMES = st.text("abcXYZ_.-", min_size=1, max_size=6)
TREES = st.recursive(
    st.dictionaries(NAMES, st.text("abc ,/=.0123", max_size=9).map(str.strip), max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=9,
)


def written(tree, indent=""):
    lines = []
    for name, value in tree.items():
        if isinstance(value, dict):
            lines.append(f"{indent}{name}\n{indent}{{\n{written(value, indent + '  ')}{indent}}}\n")
        else:
            lines.append(f"{indent}{name} = {value}\n")
    return "".join(lines)


def read(section):
    options: dict[str, Any] = {name: option.value for name, option in section.options.items()}
    return options | {name: read(inner) for name, inner in section.sections.items()}


@given(TREES)
def test_whatever_is_written_is_read_back(tree):
    assert read(parse_cfg(written(tree), "x")) == tree


def test_a_block_of_the_settings_is_nested_as_dirac_nests_it():
    entries = {("shares", "X", "a", "b"): 1, ("shares", "X", "c"): ("d", "e"), ("shares", "Y", "z"): 2}
    assert nested(entries, "X") == {"a": {"b": 1}, "c": ["d", "e"]}
