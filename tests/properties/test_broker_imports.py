"""Whatever CRIC publishes of one queue, the others are taken, and everything that reads them goes on working."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker_rules import RULES

from fairq.cli.broker.sentences.findings import finding_texts
from fairq.columns.broker.column import Kind
from fairq.columns.broker.counts import PILOTS
from fairq.columns.broker.places import QUEUES, SOFTWARE, STORAGES
from fairq.columns.broker.work import TASKS
from fairq.common.records import Actor
from fairq.settings import load
from fairq.state.connection import reading
from fairq.steps.broker.flows import preset
from fairq.steps.broker.imports import import_records
from fairq.steps.broker.lists import find_misconfigurations
from fairq.steps.broker.run import run
from fairq.steps.broker.timeouts import clean
from fairq.steps.broker.world import load_queues

ACTOR = Actor("somebody", "a test", 1_800_000_000)

SOUND: dict[str, Any] = {
    "status": "online", "type": "unified", "cloud": "WORLD", "atlas_site": "S", "capability": "ucore", "corecount": 8,
    "maxrss": 16000, "minrss": 0, "maxwdir": 160000, "maxtime": 345600, "corepower": 10, "releases": ["ANY"],
    "catchall": "", "params": {}, "wnconnectivity": "full#IPv4", "fairsharepolicy": "type=any:100%",
    "jobseed": "all", "direct_access_lan": True, "pledgedcpu": 0, "transferringlimit": None, "workflow": "pull_ups",
    "astorages": {"read_lan": ["DISK"], "write_lan": ["DISK"]}, "maxinputsize": -1, "mintime": 0, "maxdiskio": None,
}  # fmt: skip
"""A queue with everything that is read."""

POOL: list[tuple[Kind, list[dict[str, Any]]]] = [
    (STORAGES, [{"rse": "DISK", "site": "S", "space_free": 1000}]),
    (PILOTS, [{"queue": name, "getJob": 5} for name in ("A_GOOD", "ODD", "Z_GOOD")]),
    (TASKS, [
        {"jediTaskID": 1, "gshare": "MC", "walltime": 1, "coreCount": 1},
        {"jediTaskID": 2, "gshare": "MC", "prodSourceLabel": "user", "userName": "jane", "coreCount": 1, "walltime": 1},
    ]),
]  # fmt: skip

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", " ", "0", "-1", "8.0", "1e400", "NaN", "ONLINE", "ucore", "full#", "##", ":", ",", "0%", "(",
                     "type=(:0%", "priority>>1:0", "gpu= ,useJumboJobs=x", "[]", "{}", "null"]),
    st.lists(st.none() | st.integers() | st.text(max_size=4), max_size=3),
    st.dictionaries(st.sampled_from(["gpu", "nSimEvents", "read_lan", "x"]), st.none() | st.integers() | st.text()),
)  # fmt: skip
MUTATIONS = st.dictionaries(st.sampled_from(sorted(SOUND)), JUNK, min_size=1, max_size=6)


@settings(max_examples=25)
@given(MUTATIONS | JUNK, st.sampled_from(["documented", "panda"]))
def test_a_bad_queue_is_handled_or_refused_by_name_and_breaks_nothing(odd, rules):
    queue = {**SOUND, **odd} if isinstance(odd, dict) else odd
    with TemporaryDirectory() as folder:
        state, file = Path(folder) / "state.db", Path(folder) / "records.json"
        for kind, records in POOL:
            file.write_text(json.dumps(records))
            import_records(state, kind, str(file), ACTOR)
        file.write_text(json.dumps({"A_GOOD": SOUND, "ODD": queue, "Z_GOOD": SOUND}))
        imported = import_records(state, QUEUES, str(file), ACTOR)
        with reading(state) as opened:
            queues = load_queues(opened)
        assert {"A_GOOD", "Z_GOOD"} <= set(queues), "no other queue is dropped"
        assert ("ODD" in queues) != any("ODD" in refused for refused in imported.refused)
        findings, number = find_misconfigurations(state, preset("documented"), [], ACTOR.time)
        assert number == len(queues)
        assert all(all(finding_texts(one.problem, one.facts)) for one in findings)
        clean(state, load(None, None, {}), ACTOR, rules=rules, apply=True)
        done = run(state, RULES[rules], ACTOR, [], every=True)
        assert [one.status for one in done.decided] == ["assigned", "assigned"]


LISTS = st.one_of(JUNK, st.lists(st.sampled_from(["any", "excl", "", "x86_64", "nvidia", "("]), max_size=2))
ARCHITECTURES = st.dictionaries(
    st.sampled_from(["arch", "vendor", "instr", "model", "version"]), LISTS, max_size=3
).flatmap(lambda listed: st.sampled_from(["cpu", "gpu", "CPU", None, 5]).map(lambda kind: {**listed, "type": kind}))
MAPS = st.fixed_dictionaries(
    {},
    optional={
        "cmtconfigs": LISTS,
        "containers": LISTS,
        "cvmfs": LISTS,
        "architectures": st.lists(ARCHITECTURES, max_size=2) | JUNK,
        "tags": st.lists(st.dictionaries(st.sampled_from(["cmtconfig", "project", "release", "sources"]), JUNK)) | JUNK,
    },
)


@settings(max_examples=25)
@given(MAPS, st.sampled_from(["x86_64-el9-gcc13-opt", "#x86_64", "&nvidia-a100", "(a|b)-el9#aarch64"]))
def test_a_bad_software_map_is_handled_or_refused_by_name_and_breaks_nothing(odd, architecture):
    asked = {"architecture": architecture, "transHome": "Athena-24.0.1", "container_name": None}
    with TemporaryDirectory() as folder:
        state, file = Path(folder) / "state.db", Path(folder) / "records.json"
        queues = {name: {**SOUND, "releases": ["AUTO"]} for name in ("GOOD", "ODD", "LISTED")}
        file.write_text(json.dumps(queues))
        import_records(state, QUEUES, str(file), ACTOR)
        for kind, records in POOL:
            file.write_text(json.dumps([{**record, **(asked if kind is TASKS else {})} for record in records]))
            import_records(state, kind, str(file), ACTOR)
        sound = {"cmtconfigs": ["x86_64-el9-gcc13-opt"], "containers": ["any"], "cvmfs": ["any"]}
        file.write_text(json.dumps({"GOOD": sound, "ODD": odd}))
        imported = import_records(state, SOFTWARE, str(file), ACTOR)
        assert imported.number == 2 or any("ODD" in refused for refused in imported.refused)
        find_misconfigurations(state, preset("documented"), [], ACTOR.time)
        assert len(run(state, RULES["documented"], ACTOR, [], every=True).decided) == 2
