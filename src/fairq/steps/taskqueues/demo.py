"""The demo of ``fairq taskqueues demo``: the task queues of two groups, and pilots that request work."""

from __future__ import annotations

import json

from fairq.steps.demo_scene import Demo, scene

_AT = "2026-01-05T"

_GROUPS = {
    "lhcb_user": {"JobShare": 1000, "Properties": "NormalUser"},
    "lhcb_prod": {"JobShare": 3000, "Properties": "NormalUser, JobSharing"},
}

_FILES = {
    "dirac/groups.json": json.dumps(_GROUPS, indent=1),
    "dirac/task_queues.csv": (
        "TQId,Owner,OwnerGroup,CPUTime,Sites,Tags,Jobs\n11,ann,lhcb_user,86400,,,3\n"
        '12,bob,lhcb_user,86400,"LCG.CERN.cern,LCG.RAL.uk",,9\n13,mc,lhcb_prod,86400,,,4\n'
        '14,mc,lhcb_prod,345600,,"8Processors,MultiProcessor",2\n'
    ),
    "dirac/history.csv": (
        "Group,TimeSpan,Entity,Average\n,604800,lhcb_user,100\n,604800,lhcb_prod,700\n"
        "lhcb_user,604800,ann,75\nlhcb_user,604800,bob,25\n"
    ),
}

_SETTINGS = """[shares.ShareCorrections]
ShareCorrectorsToStart = "WMSHistory"
[shares.ShareCorrections.WMSHistory.GroupsInstance]
MaxGlobalCorrection = 3
WeekSlice = { TimeSpan = 604800, Weight = 100, MaxCorrection = 2 }
"""

_PILOT = "--site LCG.CERN.cern --cputime 100000"

DEMO = Demo(
    scenes=(
        scene(
            "A directory holds the task queues of a DIRAC, its groups, and what ran in the last week.",
            f"taskqueues import dirac --now {_AT}12:00Z",
        ),
        scene("The queues and their priorities. lhcb_prod shares its priority among its queues.",
              f"taskqueues list --now {_AT}12:00Z"),
        scene(
            "How they come about: lhcb_prod ran more than its share last week, so that its share is corrected down.",
            f"taskqueues shares --now {_AT}12:00Z",
        ),
        scene(
            "Four pilots at CERN ask for work. The highest priority comes first here; usually queues are drawn.",
            f"taskqueues match {_PILOT} --count 4 --selection strict --now {_AT}12:05Z",
        ),
        scene("Why is queue 14 not offered to them?", f"taskqueues why 14 {_PILOT} --now {_AT}12:05Z"),
        scene("A pilot with eight cores for a longer time takes it.",
              "taskqueues match --site LCG.CERN.cern --cputime 400000 --processors 8 --required-tag MultiProcessor "
              f"--selection strict --now {_AT}12:06Z"),
        scene("The queues that are left.", f"taskqueues list --now {_AT}12:10Z"),
        scene("The history has every change.", "state history --limit 3 --af Time Subject"),
    ),
    look="taskqueues",
    settings=_SETTINGS,
    files=_FILES,
)  # fmt: skip
