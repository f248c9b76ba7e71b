"""Lives of a pool at random: dumps that agree with nothing, and what people do in between."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NOW = 1_795_000_000

Ad = dict[str, Any]
Step = tuple[str, ...]
"""A command line without its time; a word that begins with ``[`` is the content of a dump."""

RENAMED: Step = ("slots", "renamed")
"""The pool's own slots are imported anew, the hosts a and b by each other's names."""

AGAIN: Step = ("state", "again")
"""The whole state is exported and imported again."""

REFUSALS = (30, 34, 35, 37, 40, 42, 56)
"""Exit codes of what may well be impossible: no job, none in the right status, no slot, no time
for it, the slot is there, no user."""

_NAMES = ("slot1@a", "slot1_1@a", "slot1_2@a", "slot1@b", "slot1_1@b", "slot2@a")
_ADDRESSES = ("<1>", "<1>", "<1>", "<2>", "")
_USERS = ("alice@x", "bob@x", "group_a.carol@x")
_JOBS = ("1.0", "1.1", "2.0", "2.1")
_SCHEDDS = ("near", "near", "near", "far", "")
_MACHINES = ("m", "a", "b")

_WORTH: Ad = {"Arch": "X86_64", "OpSys": "LINUX", "Disk": 10**9, "Requirements": True, "MyType": "Machine"}
_PARTS: Ad = {"PartitionableSlot": True, "SlotType": "Partitionable", "SlotID": 1}
_PART: Ad = {"DynamicSlot": True, "SlotType": "Dynamic", "SlotID": 1}


@st.composite
def _slot(draw: st.DrawFn) -> Ad:
    name, address = draw(st.sampled_from(_NAMES)), draw(st.sampled_from(_ADDRESSES))
    ad: Ad = {"Name": name, **_WORTH, "Cpus": draw(st.integers(1, 4)), "Memory": draw(st.sampled_from([4096, 4096, 0]))}
    if address:
        ad["MyAddress"] = address
    ad |= draw(st.sampled_from([{}, {}, _PARTS, _PART]))
    if draw(st.integers(0, 9)) == 0:
        ad["Draining"] = True
    if draw(st.sampled_from([False, False, True])):
        job, schedd, user = (draw(st.sampled_from(words)) for words in (_JOBS, _SCHEDDS, _USERS))
        ad |= {"State": draw(st.sampled_from(["Claimed", "Claimed", "Preempting"])), "RemoteUser": user}
        ad |= {"JobId": job, "AccountingGroup": user}
        ad["Activity"] = draw(st.sampled_from(["Busy", "Busy", "Suspended", "Retiring"]))
        if draw(st.booleans()):
            ad["JobStart"] = NOW + draw(st.integers(-1000, 6000))
        if schedd:
            ad["GlobalJobId"] = f"{schedd}#{job}#5"
    else:
        ad |= {"State": "Unclaimed", "Activity": "Idle"}
    return ad


@st.composite
def _job(draw: st.DrawFn) -> Ad:
    cluster, proc = map(int, draw(st.sampled_from(_JOBS)).split("."))
    user = draw(st.sampled_from(_USERS))
    ad: Ad = {"ClusterId": cluster, "ProcId": proc, "Owner": user.partition("@")[0], "User": user, "QDate": NOW - 60}
    ad |= {"JobStatus": draw(st.sampled_from([1, 1, 1, 2, 2, 5, 6, 7, 4])), "Requirements": True}
    ad |= {"RequestCpus": draw(st.integers(0, 2)), "RequestMemory": draw(st.sampled_from([0, 100, 1000]))}
    schedd = draw(st.sampled_from(_SCHEDDS))
    if schedd:
        ad["GlobalJobId"] = f"{schedd}#{cluster}.{proc}#5"
    return ad


def _place(ad: Ad) -> tuple[Any, Any]:
    return ad["Name"], ad.get("MyAddress", "")


def _number(ad: Ad) -> tuple[Any, ...]:
    return ad["ClusterId"], ad["ProcId"], ad.get("GlobalJobId", "")


_SLOTS = st.lists(_slot(), min_size=1, max_size=6, unique_by=_place).map(json.dumps)
_QUEUE = st.lists(_job(), min_size=1, max_size=6, unique_by=_number).map(json.dumps)
_ACCOUNTS = st.lists(
    st.fixed_dictionaries({"Name": st.sampled_from(_USERS), "Priority": st.floats(0.5, 100)}),
    max_size=3,
    unique_by=lambda ad: ad["Name"],
).map(json.dumps)

_ALL_JOBS = ("1", "2", "3", *_JOBS)
_ON_SLOTS = st.sampled_from([*_NAMES, "slot1@m", "slot1_1@m", *_MACHINES])

_STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("import"), st.just("--slots"), _SLOTS),
    st.tuples(st.just("import"), st.just("--slots"), _SLOTS),
    st.tuples(st.just("import"), st.just("--jobs"), _QUEUE),
    st.tuples(st.just("import"), st.just("--slots"), _SLOTS, st.just("--jobs"), _QUEUE),
    st.tuples(st.just("import"), st.just("--jobs"), _QUEUE, st.just("--accounting"), _ACCOUNTS),
    *[st.just(RENAMED)] * 2,
    *[st.just(("submit", "--count", "2", "--", "/bin/sleep"))] * 2,
    *[st.just(("negotiate",))] * 4,
    *[st.tuples(st.sampled_from(["finish", "remove", "hold", "release"]), st.sampled_from(_ALL_JOBS))] * 2,
    st.tuples(st.just("slots"), st.just("remove"), st.just("--force"), _ON_SLOTS),
    st.tuples(st.just("slots"), st.just("drain"), _ON_SLOTS),
    st.tuples(st.just("slots"), st.just("add"), st.just("--partitionable"), st.sampled_from(_MACHINES)),
    st.just(("taskqueues", "match", "--site", "S", "--cputime", "100000")),
    st.tuples(st.just("userprio"), st.just("--delete"), st.sampled_from(_USERS), st.just("--force")),
    st.just(AGAIN),
)  # fmt: skip

_BOOLEANS = ("true", "false")
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "negotiator": {
        "rules": ('"documented"', '"htcondor"'),
        "preemption_requirements": ('"true"', '"false"'),
        "allow_pslot_preemption": _BOOLEANS,
        "partitionable_slots": ('"carve"', '"whole"'),
        "negotiator_use_slot_weights": _BOOLEANS,
    },
    "accounting": {"negotiator_discount_suspended_resources": _BOOLEANS},
    "groups.group_a": {"quota": ("2",)},
}
"""What decides about claims, by table, with the values in TOML."""


@st.composite
def settings_files(draw: st.DrawFn) -> str:
    """Draw a settings file."""
    return "".join(
        f"[{table}]\n" + "".join(f"{key} = {draw(st.sampled_from(values))}\n" for key, values in keys.items())
        for table, keys in _SETTINGS.items()
    )


lives = st.lists(st.tuples(_STEPS, st.sampled_from([0, 60, 60, 600, -60])), min_size=8, max_size=16)
"""Steps, each with how much later it is than the former one (seconds)."""
