"""What the lint tells of queues: each oddity by its kind, and silence about what is in order."""

from __future__ import annotations

from typing import Any

import pytest

from fairq.cli.broker.sentences.findings import finding_texts
from fairq.engine.brokerage.lint import queues as lint_pool
from fairq.engine.brokerage.pool.world import Queue, Relation, ResourceType, Slots, Storage, World
from fairq.steps.broker.flows import preset

DOCUMENTED, PANDA = preset("documented"), preset("panda")
SOUND: dict[str, Any] = {
    "site": "S",
    "cloud": "DE",
    "status": "online",
    "type": "unified",
    "capability": "ucore",
    "corecount": 8,
    "maxrss": 16000,
    "minrss": 0,
    "maxwdir": 160000,
    "maxtime": 345600,
    "corepower": 10,
    "releases": ("AUTO",),
    "wnconnectivity": "full#IPv4",
}

SOFTWARE: dict[str, Any] = {
    "cmtconfigs": ["x86_64-el9-gcc13-opt"],
    "containers": ["any"],
    "cvmfs": ["atlas"],
    "architectures": [{"type": "cpu", "arch": ["x86_64"], "vendor": ["any"], "instr": ["any"]}],
    "tags": [],
}


def world(further=None, software=None, **fields):
    queue = Queue("Q", **{**SOUND, **fields})
    return World(queues={"Q": queue}, software={"Q": SOFTWARE if software is None else software}, **(further or {}))


def lint(pool, further=None):
    """What is told under the rules panda, which take most things amiss."""
    return lint_pool.lint(pool, PANDA, further)


def kinds(findings):
    return [f"{finding.field}: {finding.kind}" for finding in findings]


def cure_of(finding):
    return finding_texts(finding.problem, finding.facts)[1]


def policy(text):
    return lint(world(fairsharepolicy=text))


GOOD_POLICIES = [
    "",
    "type=evgen:100%,type=simul:100%,type=any:0%",
    "gshare=Express*:100%,gshare=any:0%",
    "type=any:group=AP_Higgs:0%",
    "type=evgen:0%",
    "gshare=User Analysis:100%,type=any:0%",
    "type=merge:100%,type=simul:group=AP_*:100%,type=any:0",
    "type=any:100%",
    "type=evgen:0%,type=any:100%",
    "group=(AP_Higgs|AP_Susy|AP_Exotics|Higgs):0%",
]


@pytest.mark.parametrize("text", GOOD_POLICIES)
def test_a_policy_that_means_what_it_seems_is_not_told(text):
    assert policy(text) == []


ODD_POLICIES = {
    # policy: kinds of findings
    "type=evgen:100%": ["no end"],
    "type=evgen:100%,type=simul:0%": ["no end"],
    "type=evgensimul:100%": ["unknown type", "no end"],
    "type=evgen:100%, type=any:0%": ["blank"],
    " type=evgen:0%": ["blank"],
    "type=evgen:0 %": ["blank"],
    "type=evgen:100%,type=any:0% ": ["blank"],
    "   ": ["blank"],
    "TYPE=evgen:0%": ["unknown field"],
    "typ=evgen:0%": ["unknown field"],
    "0%": ["no condition"],
    "type=evgen:00%": ["not zero", "no end"],
    "type=evgen:0.0%": ["not zero", "no end"],
    "type=evgen": ["no value", "no end"],
    "type=evgen:never": ["no value", "no end"],
    "type=evgen:100%,,type=any:0%": ["empty part", "never reached"],
    "type=evgen:0%,": ["empty part"],
    "type=any:0%,type=evgen:100%": ["never reached"],
    "type=evgen:100%,type=evgen:0%,type=any:0%": ["never reached"],
    "type=prod_test:0%": ["unknown type"],
    "group=(:0%": ["pattern"],
    "priority>400:0": ["merge"],
    "priority>500:0,type=simul:100%,type=any:0%": ["merge"],
    "type=evgen:100%,type=simul:100%,type=any:0%,priority>500:0%": ["never reached"],
    "type=evgen:100%,type=any:0%,gshare=Express:100%,gshare=any:100%": ["never reached", "never reached"],
    "type=evgen:100%,gshare=Express:100%,type=any:0%,gshare=any:100%": ["never reached"],
    "gshare=Express*:100%,gshare=any:100%": ["no end"],
    "priority>high:0": ["priority"],
}


@pytest.mark.parametrize("text", ODD_POLICIES)
def test_a_policy_that_means_something_else_is_told(text):
    assert [finding.kind for finding in policy(text)] == ODD_POLICIES[text]
    assert all(
        finding.field == "fairsharepolicy" and all(finding_texts(finding.problem, finding.facts))
        for finding in policy(text)
    )


def test_a_finding_names_the_queue_what_it_means_and_what_to_write():
    (finding,) = policy("TYPE=evgen:0%")
    assert finding.queue == "Q"
    assert finding.value == "TYPE=evgen:0%"
    meaning, cure = finding_texts(finding.problem, finding.facts)
    assert meaning == "'TYPE=evgen' is not a field: it sets no condition and applies to everybody"
    assert cure == "write type=evgen"
    (finding,) = policy("type=evgen:100%")
    assert cure_of(finding) == "end it with an any:0, for example type=evgen:100%,type=any:0%"
    (finding,) = policy("gshare=Express*:100%,gshare=any:100%")
    assert cure_of(finding) == "write gshare=any:0%, or leave the policy empty"


def test_a_sound_queue_is_not_told():
    assert lint(world()) == []
    assert lint(world(capability="score", corecount=1)) == []
    assert lint(world(capability="mcore", corecount=8)) == []
    assert lint(world(type="analysis", maxwdir=1000)) == []
    assert lint(world(status="offline")) == []
    assert lint(world(minrss=16000, mintime=345600)) == []  # what needs just as much fits


ODD_FIELDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"minrss": 20000}, ["minrss: memory"]),
    ({"minrss": 15999.5, "maxrss": 15999}, ["minrss: memory"]),
    ({"mintime": 400000}, ["mintime: walltime"]),
    ({"corepower": 0}, ["corepower: power"]),
    ({"maxwdir": 1000}, ["maxwdir: scratch"]),
    ({"maxwdir": 8000}, ["maxwdir: scratch"]),  # 1000 for each of 8 cores
    ({"capability": "mcore", "corecount": 1}, ["corecount: cores"]),
    ({"capability": "score", "corecount": 8}, ["corecount: cores"]),
    ({"corecount": 0}, ["corecount: cores"]),
    ({"maxrss": None}, ["maxrss: no limits"]),
    ({"maxrss": -1}, ["maxrss: negative"]),
    ({"status": "Online"}, ["status: status"]),
    ({"status": ""}, ["status: status"]),
    ({"type": "prod"}, ["type: type"]),
    ({"type": "production", "cloud": ""}, ["cloud: no cloud"]),
    ({"capability": "UCORE"}, ["capability: capability"]),
    ({"jobseed": "standard"}, ["jobseed: jobseed"]),
    ({"wnconnectivity": "fill"}, ["wnconnectivity: connectivity"]),
    ({"wnconnectivity": "full#ipv6"}, ["wnconnectivity: connectivity"]),
    ({"wnconnectivity": "full#IPv4#IPv6"}, ["wnconnectivity: connectivity"]),
    ({"releases": ()}, ["releases: no releases"]),
    ({"releases": ("ANY", "AUTO")}, ["releases: releases"]),
    ({"releases": ("auto",)}, ["releases: releases"]),
    ({"catchall": "disablereassign"}, ["catchall: unknown flag"]),
    ({"catchall": "a=1, disableReassign"}, ["catchall: blank"]),
    ({"catchall": "gpuless"}, ["catchall: flag set"]),
    ({"catchall": "gpu=false"}, ["catchall: flag set"]),
    ({"catchall": "nSimEvents=many"}, ["catchall: flag value"]),
    ({"catchall": "bareNucleus=yes"}, ["catchall: flag value"]),
    ({"catchall": "jobseed=all", "jobseed": "eshigh"}, ["catchall: not a flag"]),
    ({"params": {"gpu": False}}, ["params: flag set"]),
    ({"params": {"usejumbojobs": True}}, ["params: unknown flag"]),
]


@pytest.mark.parametrize(("fields", "expected"), ODD_FIELDS, ids=[str(fields) for fields, _ in ODD_FIELDS])
def test_an_odd_field_is_told(fields, expected):
    findings = lint(world(**fields))
    assert kinds(findings) == expected
    assert all(all(finding_texts(finding.problem, finding.facts)) for finding in findings)


def test_a_unified_queue_without_pseudo_queues_is_told():
    of_many = {"resource_types": (ResourceType("MCORE", 2),)}
    assert kinds(lint(world(of_many, corecount=1))) == ["corecount: no pseudo queues"]
    of_much = {"resource_types": (ResourceType("HIMEM", 1, None, 9000),)}
    assert kinds(lint(world(of_much))) == ["maxrss: empty pseudo queues"]


def test_values_that_are_not_understood_are_told():
    further = {"Q": {"status": "online", "corecount": "many", "maxrss": "16000", "direct_access_lan": "true"}}
    findings = lint(world(), further)
    assert [(finding.field, finding.kind, finding.value) for finding in findings] == [
        ("corecount", "value", "many"), ("direct_access_lan", "value", "true"),
    ]  # fmt: skip
    assert finding_texts(findings[1].problem, findings[1].facts)[0] == "it is invalid and is read as False"


def test_fields_that_nothing_reads_are_told_if_they_are_nearly_those_that_are_read():
    further = {"Q": {"max_rss": 1, "fairsharePolicy": "", "maxdiskio_data": {}, "localqueue": "x", "status": "online"}}
    findings = lint(world(), further)
    assert [(finding.field, finding.kind, cure_of(finding)) for finding in findings] == [
        ("max_rss", "misspelt", "rename it to maxrss"),
        ("fairsharePolicy", "misspelt", "rename it to fairsharepolicy"),
    ]


ODD_SOFTWARE: list[tuple[dict[str, Any], list[str]]] = [
    ({"architectures": [{"type": "cpu", "arch": [""]}]}, ["architectures[0].arch: empty text"]),
    ({"architectures": [{"type": "cpu", "arch": []}]}, ["architectures[0].arch: empty list"]),
    ({"architectures": [{"type": "cpu", "arch": "x86_64"}]}, ["architectures[0].arch: no list"]),
    ({"architectures": [{"type": "cpu", "arch": ["excl"]}]}, ["architectures[0].arch: excl alone"]),
    ({"architectures": [{"type": "cpu", "vendor": ["intel"]}]}, ["architectures[0]: no arch"]),
    ({"architectures": [{"type": "CPU"}]}, ["architectures[0]: architecture type"]),
    ({"architectures": [{"type": "gpu", "vendors": ["nvidia"]}]}, ["architectures[0].vendors: misspelt"]),
    ({"architectures": [{"type": "gpu"}, {"type": "gpu"}]}, ["architectures[1]: architecture twice"]),
    ({"architectures": [{"type": "cpu", "arch": ["x86_64", None]}]}, ["architectures[0].arch: no text"]),
    ({"architectures": [{"type": "cpu", "arch": 5}]}, ["architectures[0].arch: no list"]),
    ({"containers": ["any "]}, ["containers: blank"]),
    ({"cvmfs": "atlas"}, ["cvmfs: no list"]),
    ({"cmtconfigs": [], "containers": [], "cvmfs": []}, ["software: no software"]),
]


@pytest.mark.parametrize(("fields", "expected"), ODD_SOFTWARE, ids=[str(fields) for fields, _ in ODD_SOFTWARE])
def test_odd_software_is_told(fields, expected):
    findings = lint(world(software={**SOFTWARE, **fields}))
    assert kinds(findings) == expected
    assert all(all(finding_texts(finding.problem, finding.facts)) for finding in findings)


def test_a_queue_that_is_not_in_the_software_map_is_told():
    assert kinds(lint(World(queues={"Q": Queue("Q", **SOUND)}, software={"ALL": {}}))) == ["releases: no software"]
    assert lint(World(queues={"Q": Queue("Q", **SOUND)})) == []


def test_missing_storage_is_told_once_storage_is_known():
    disk = Storage("DISK", type="DATADISK")
    storage = {"storages": {"DISK": disk}, "relations": {"Q": (Relation("DISK"),)}}
    assert lint(world(storage)) == []
    assert kinds(lint(world(storage | {"relations": {"Q": (Relation("DISC"),)}}))) == [
        "relations: unknown endpoint", "relations: no storage", "relations: no storage", "relations: no default",
    ]  # fmt: skip
    unknown = {"relations": {"Q": tuple(Relation(rse) for rse in ("DISK", *"ABCDE"))}}
    assert lint(world(storage | unknown))[0].value == "A, B, C and 2 more"
    tape = {"storages": {"DISK": Storage("DISK", type="DATATAPE")}}
    assert kinds(lint(world(storage | tape, type="production"))) == ["relations: no datadisk"] * 2


def test_what_is_told_of_queues_that_are_not_there_is_told():
    slots = {"slots": (Slots("QQ", None, None, 5), Slots("Q", None, "MCOR", 5))}
    findings = lint(world(slots))
    assert kinds(findings) == ["slots: unknown queue", "slots: unknown type"]
    assert cure_of(findings[1]) == "write MCORE"


def test_findings_come_by_queue():
    queues = {name: Queue(name, **SOUND | {"minrss": 20000}) for name in ("B", "A", "C")}
    assert [finding.queue for finding in lint(World(queues=queues))] == ["A", "B", "C"]


ONLY_OF_PANDA: list[dict[str, Any]] = [
    {"fairsharepolicy": "type=evgen:100%"},
    {"fairsharepolicy": "type=evgensimul:100%"},
    {"type": "production", "cloud": ""},
    {"releases": ("ANY", "AUTO")},
    {"maxwdir": 8000},  # 1000 MiB for each of 8 cores
]


@pytest.mark.parametrize("fields", ONLY_OF_PANDA, ids=str)
def test_what_only_pandas_code_takes_amiss_is_not_told_under_the_rules_of_its_page(fields):
    assert lint_pool.lint(world(**fields), DOCUMENTED) == []
    assert lint(world(**fields)) != []


def test_an_empty_text_of_hardware_is_any_on_the_page():
    architectures = [{"type": "cpu", "arch": [""]}]
    assert lint_pool.lint(world(software={**SOFTWARE, "architectures": architectures}), DOCUMENTED) == []
    lists = {**SOFTWARE, "cmtconfigs": [""]}
    assert kinds(lint_pool.lint(world(software=lists), DOCUMENTED)) == ["cmtconfigs: empty text"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"maxwdir": 500}, ["maxwdir: scratch"]),
        ({"maxwdir": 501, "capability": "score", "corecount": 1}, []),
        ({"maxwdir": 4000}, ["maxwdir: scratch"]),
        ({"maxwdir": 4000, "capability": "mcore"}, ["maxwdir: scratch"]),
        ({"maxwdir": 4001, "capability": "mcore"}, []),
        ({"maxwdir": 300, "type": "analysis"}, ["maxwdir: scratch"]),
    ],
    ids=str,
)
def test_scratch_is_that_of_the_page_for_every_queue(fields, expected):
    findings = lint_pool.lint(world(**fields), DOCUMENTED)
    assert kinds(findings) == expected
    assert all(all(finding_texts(finding.problem, finding.facts)) for finding in findings)


def test_unknown_words_are_told_by_what_they_do_under_the_rules_in_force():
    fields = {"status": "Online", "type": "prod", "wnconnectivity": "full#ipv6"}
    findings = lint_pool.lint(world(**fields), DOCUMENTED)
    assert [finding_texts(finding.problem, finding.facts)[0] for finding in findings] == [
        "no task goes there unless the queue is given to it", "analysis does not use it",
        "tasks with an ipConnectivity never match",
    ]  # fmt: skip
