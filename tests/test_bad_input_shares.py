"""Wrong input of every kind to DIRAC's scheme: one line that names the culprit and the cure, and nothing changed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.test_bad_input import contents, pool, template

__all__ = ["pool", "template"]


FILES: dict[str, bytes] = {
    "open.cfg": b"Registry\n{\n  Groups\n  {\n",
    "close.cfg": b"Registry\n{\n}\n}\n",
    "word.cfg": b"Registry\n{\n  Groups\n  JobShare = 3\n}\n",
    "other.cfg": b"WebApp\n{\n  Port = 80\n}\n",
    "weights.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n"
    b"[shares.ShareCorrections.WMSHistory.I.S]\nTimeSpan = 60\nWeight = 0\n",
    "bound.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n"
    b"[shares.ShareCorrections.WMSHistory.I]\nMaxGlobalCorrection = 0.5\nS = { TimeSpan = 60 }\n",
    "slice.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n"
    b"[shares.ShareCorrections.WMSHistory.I.S]\nTimeSpan = 60\nMaxCorrection = -2\n",
    "span.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n"
    b"[shares.ShareCorrections.WMSHistory.I.WeekSlice]\nWeight = 3\n",
    "names.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n"
    b"[shares.ShareCorrections.WMSHistory.I]\nMaxGlobalCorrection = 3\nMaxGlobalCorrectionFactor = 3\n",
    "corrector.toml": b"[shares.ShareCorrections]\nShareCorrectorsToStart = 'WMSHistroy'\n",
    "share.toml": b"[shares.groups.lhcb_user]\njob_share = -1\n",
    "site.toml": b"[shares.RunningLimit.LCG.CERN.cern.JobType]\nMC = 5\n",
    "limit.toml": b"[shares.RunningLimit.S.JobType]\nMC = 'many'\n",
    "intervals.toml": b"[shares]\ntask_queue_cpu_time_intervals = '100, 50'\n",
    "alone.toml": b"[ShareCorrections]\nShareCorrectorsToStart = 'WMSHistory'\n",
    "no_owner.json": b'[{"TQId": 1, "OwnerGroup": "g", "CPUTime": 360}]',
    "twice_queue.json": b'[{"TQId": 1, "Owner": "a", "OwnerGroup": "g", "CPUTime": 360}, {"TQId": 1, "Owner": "a", '
    b'"OwnerGroup": "g", "CPUTime": 360}]',
    "lost_job.json": b'{"task_queues": [], "jobs": [{"JobId": 1, "TQId": 9}]}',
    "bad_history.json": b'{"task_queues": [], "history": {"": {"3600": {"g": -1}}}}',
    "bad_member.json": b'{"task_queues": [], "history_": {}}',
    "twice_group.json": b'{"task_queues": [],\n"groups": {"g": {"JobShare": 1}, "g": {"JobShare": 2}}}',
    "constant.json": b'[{"name": "a NaN"},\n{"name": "b", "maxtime": NaN}]',
    "share.json": b'{"task_queues": [], "groups": {"g": {"JobShare": "many"}}}',
    "columns.csv": b"a,b\n1,2\n",
    "bad_cpu.csv": b"TQId,Owner,OwnerGroup,CPUTime\n1,a,g,long\n",
    "no_owner.csv": b"TQId,OwnerGroup\n1,g\n",
    "twice.csv": b"TQId,Owner,Owner\n1,a,b\n",
    "more.csv": b"TQId,Owner,OwnerGroup,CPUTime\n\n1,a,g,100,Sites\n",
    "semicolons.csv": b"TQId;Owner;OwnerGroup;CPUTime\n1;a;g;100\n",
    "large_cpu.csv": b"TQId,Owner,OwnerGroup,CPUTime\n1,a,g,1e30\n",
    "open.csv": b'TQId,Owner,OwnerGroup,CPUTime\n1,"a,g,100\n2,b,g,100\n',
}

CASES: list[tuple[str, int, str]] = [
    ("taskqueues match --cputime 5", 2, "missing option '--site'"),
    ("taskqueues match --site S", 2, "missing option '--cputime'"),
    ("taskqueues match --site S --cputime long", 25,
        "'long' is not a valid number for --cputime; give a number of at least 0"),
    ("taskqueues match --site S --cputime -1", 25,
        "'-1' is not a valid number for --cputime; give a number of at least 0"),
    ("taskqueues match --site 'a b' --cputime 1", 26, "'a b' is not a valid name for the site"),
    ("taskqueues match --site '' --cputime 1", 26, "'' is not a valid name for the site; give its name, such as"),
    ("taskqueues match --site S --cputime 1 --count 0", 25, "'0' is not a valid number for --count; give a whole"),
    ("taskqueues match --site S --cputime 1 --seed 1.5", 25, "'1.5' is not a valid number for --seed; give a whole"),
    ("taskqueues match --site S --cputime 1 --selection best", 2,
        "--selection best: give dirac, proportional or strict"),
    ("taskqueues why 99 --site S --cputime 1", 69, "there is no task queue 99; list the queues with 'fairq taskqueues"),
    ("taskqueues why 9.9 --site S --cputime 1", 30, "there is no job 9.9 in the queue"),
    ("taskqueues why 99 --site S --cputime 1", 69, "; a job is written as 99.0"),
    ("taskqueues why what --site S --cputime 1", 36, "'what' is not a job"),
    ("taskqueues shares --rules best", 2, "--rules best: give documented or dirac"),
    ("--config weights.toml taskqueues shares", 64, "WMSHistory I: the weights of all slices are 0; give at least"),
    ("--config bound.toml taskqueues shares", 64, "MaxGlobalCorrection is 0.5; a bound is 1 or more"),
    ("--config slice.toml taskqueues", 64, "slice S: MaxCorrection is -2; a bound is 1 or more"),
    ("--config span.toml taskqueues match --site S --cputime 1", 64, "slice WeekSlice: it has no TimeSpan; set it"),
    ("--config names.toml config check", 64, "are two names of one bound; keep one of them"),
    ("--config corrector.toml taskqueues shares", 64, "WMSHistroy; known are: WMSHistory"),
    ("--config share.toml taskqueues", 16, "share.toml:2: shares.groups.lhcb_user.job_share = -1 is not valid"),
    ("--config site.toml taskqueues", 15, "names with dots need quotes"),
    ("--config limit.toml taskqueues", 16, "shares.RunningLimit.S.JobType.MC = 'many' is not valid"),
    ("--config intervals.toml taskqueues", 16, "task_queue_cpu_time_intervals = '100, 50' is not valid"),
    ("--config alone.toml taskqueues", 15, "[ShareCorrections] is not a setting; write [shares.ShareCorrections]"),
    ("config import open.cfg", 77, "open.cfg:3: the } that closes this section is missing"),
    ("config import close.cfg", 77, "close.cfg:4: this } closes no section"),
    ("config import word.cfg", 77, "word.cfg:3: 'Groups' is neither an option, NAME = value, nor a section"),
    ("config import other.cfg", 77, "other.cfg: holds nothing about task queues and shares"),
    ("taskqueues import nowhere.json", 46, "nowhere.json cannot be read"),
    ("taskqueues import empty.json", 39, "empty.json is empty, or holds comments only; nothing was changed"),
    ("taskqueues import open.json", 78, "open.json, line 1, column 14: not JSON"),
    ("taskqueues import numbers.json", 78, "queue 1: 1 is not an object"),
    ("taskqueues import no_owner.json", 78, "queue 1.Owner: None is not a name; give a text"),
    ("taskqueues import twice_group.json", 78, "member 'g': it occurs twice in one object; remove one"),
    ("broker queues import constant.json", 47, "constant.json, line 2: not JSON: NaN is not a number of JSON"),
    ("taskqueues import twice_queue.json", 78, "duplicate task queue 1, first at queue 1; remove one"),
    ("taskqueues import lost_job.json", 78, "jobs[0]: there is no task queue 9; add it to task_queues"),
    ("taskqueues import bad_history.json", 78, "history.''.3600.g: -1 is not a number of 0 or more"),
    ("taskqueues import bad_member.json", 78, "member 'history_': it is unknown"),
    ("taskqueues import semicolons.csv", 78,
        "line 1: the columns are separated by ';'; separate them by commas or tabs"),
    ("taskqueues import large_cpu.csv", 78,
        "line 2.CPUTime: '1e30' is too large a number; give at most 9007199254740992"),
    ("taskqueues import share.json", 64, "group g: JobShare = 'many' is not a number of 0 or more"),
    ("taskqueues import columns.csv", 78, "line 1: neither JSON nor CSV of this kind: no heading is known"),
    ("taskqueues import no_owner.csv", 78, "line 1: neither JSON nor CSV with the columns of task queues"),
    ("taskqueues import twice.csv", 78, "line 1: the heading 'Owner' occurs twice"),
    ("taskqueues import more.csv", 78, "line 3: 5 values under 4 headings; put values that hold a comma"),
    ("taskqueues import open.csv", 78, "line 3: not CSV: unexpected end of data"),
    ("taskqueues import bad_cpu.csv", 78, "line 2.CPUTime: 'long' is not a number of 0 or more"),
    ("taskqueues shares --check text.json", 78, "text.json, line 1"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "message"), CASES, ids=[line[:60] for line, _, _ in CASES])
def test_wrong_input_is_refused_in_one_line_and_changes_nothing(line, code, message, run, pool, tmp_path):
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    before = contents(tmp_path)

    ended = run(*shlex.split(line))

    assert (ended.code, ended.out) == (code, ""), ended.err
    assert ended.err.startswith("fairq: ")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err and "internal error" not in ended.err
    assert contents(tmp_path) == before
