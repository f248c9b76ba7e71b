"""The effect of each finding of ``fairq broker lint``, and how to fix it.

Names in braces are placeholders for the facts of the finding. The first cure whose facts are all known is used.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any, NamedTuple


class Words(NamedTuple):
    """The effect of the misconfiguration, and its cures."""

    meaning: str
    cures: tuple[str, ...]


def _words(meaning: str, *cures: str) -> Words:
    return Words(meaning, cures)


_NO_CONDITION = "it sets no condition and applies to everybody"
_ONLY_ANY_OR_AUTO = "every task that asks for software is refused: only [ANY] and [AUTO] count"
_IGNORED = "nothing reads it"
_MEANT = ("write {meant}", "write {known}")
_NOT_THERE = ("write {meant}", "add it, or remove this")

WORDS: dict[str, Words] = {
    # fairshare policies
    "blank policy": _words("a blank is a part that accepts everybody", "leave it empty"),
    "no end": _words(
        "PanDA accepts every task that no part names, so {accepting!r} excludes nobody",
        "end it with an any:0, for example {policy},type=any:0%",
    ),
    "end accepts all": _words(
        "{accepting!r} accepts all others, so nobody is excluded", "write {conditions}:0%, or leave the policy empty"
    ),
    "empty part": _words("an empty part accepts everybody, and no later part counts", "remove the comma"),
    "blank in a field": _words(f"{{field!r}} is not a field because of its blank: {_NO_CONDITION}", "write {meant}"),
    "blank in a zero": _words("{field!r} is not 0 because of its blank: it accepts every such task", "write {meant}"),
    "blank in a word": _words("the blank is read as part of the word", "write {meant}"),
    "unknown field": _words(
        f"{{field!r}} is not a field: {_NO_CONDITION}",
        "write {meant}",
        "remove it, or begin it with type=, group= or gshare=",
    ),
    "no condition": _words(_NO_CONDITION, "put a condition before it, for example type=any:0%"),
    "priority": _words(f"it does not compare with a number: {_NO_CONDITION}", "write a number"),
    "merge": _words(
        "priorities do not count for merge jobs: all of them are refused",
        "accept them before it, for example with type=merge:100%",
    ),
    "no value": _words("{value!r} is not a share, and every value but 0 accepts", "end the part with :100% or :0%"),
    "not zero": _words("{value} accepts: only 0 and 0% refuse", "write 0%"),
    "pattern": _words(
        "{pattern!r} is not a valid pattern ({error}): every task that reaches this part is accepted",
        "write a name, any, or a name with *",
    ),
    "unknown group": _words(
        "there is no process group {group}: this part applies to nobody",
        "write type={meant}",
        "write one of the groups {known}",
    ),
    "never reached": _words("{part!r} before it decides for everybody", "move it before that part, or remove it"),
    "part repeated": _words("{part!r} before it decides for the same tasks", "remove one of the two"),
    # limits
    "memory": _words("no job needs at least minrss and at most maxrss", "swap minrss and maxrss, or correct one"),
    "walltime": _words("no job takes at least mintime and at most maxtime", "swap mintime and maxtime, or correct one"),
    "power": _words(
        "with a maxtime, the queue refuses every task whose CPU time is in HS06",
        "set the HS06 of a core, about 10",
    ),
    "negative": _words("a negative number is not a limit", "set a positive number, or 0 for no limit"),
    "no pseudo queues": _words(
        "no resource type fits its cores, so no task goes to it", "set the number of cores of its slots"
    ),
    "no limits": _words(
        "PanDA's code fails on this queue and splits none that follow; fairq reads it as no limit", "set {absent}"
    ),
    "empty pseudo queues": _words(
        "in each pseudo queue the minimum memory exceeds the maximum: none accepts a job",
        "raise maxrss (of the whole slot) or corecount",
    ),
    "no cores": _words("it counts as one core: multi-core jobs never match", "set the number of cores of its slots"),
    "mcore with one core": _words(
        "multi-core jobs need more than 1: it takes single-core jobs only",
        "set the number of cores of its slots, or capability score",
    ),
    "score with several cores": _words(
        "single-core jobs need 0 or 1: it takes multi-core jobs only", "write 1, or capability mcore"
    ),
    "scratch": _words(
        "every production job is assumed to need at least {least} MiB: none matches",
        "set the scratch of a whole slot in MiB; 0 is no limit",
    ),
    "scratch of a core": _words(
        "divided by {cores} cores it is too little for {least} MiB, which every {jobs} is assumed to need",
        "set the scratch of a whole slot in MiB",
    ),
    # words
    "status": _words(
        "production takes only online and standby; analysis refuses only offline, brokeroff and test", *_MEANT
    ),
    "status not online": _words("no task goes there unless the queue is given to it", *_MEANT),
    "type": _words("neither production nor analysis uses it", *_MEANT),
    "type not for analysis": _words("analysis does not use it", *_MEANT),
    "no cloud": _words("PanDA drops a production queue that has no cloud", "set its cloud"),
    "capability": _words("it is not unified: it takes single-core jobs or multi-core jobs, not both", "write ucore"),
    "jobseed": _words("it counts as all: every kind of job", *_MEANT),
    "unknown network": _words("tasks that need a network never match", *_MEANT),
    "unknown ip stack": _words("tasks that need IPv4 or IPv6 never match", "write {network}#IPv4 or {network}#IPv6"),
    "unused ip stack": _words(
        "tasks with an ipConnectivity never match", "write {network}#IPv4, {network}#IPv6 or {network}"
    ),
    "value not understood": _words("it is invalid and is read as {taken}", "write a value that CRIC's field takes"),
    "misspelt field": _words("nothing reads {name}", "rename it to {meant}"),
    # flags
    "flag set in params": _words(
        "{name} is set: a name in params counts whatever its value", "remove {name} from params"
    ),
    "unknown flag": _words("nothing reads {name}", "write {meant}"),
    "flag behind a blank": _words("{name} is not read because of the blank before it", "remove the blank"),
    "flag set by prefix": _words("it sets {name}, because it begins with that name", "write {name}, or another word"),
    "flag set to no": _words("{name} is set whatever follows it", "remove {item}"),
    "flag without number": _words(
        "{name} is ignored: {value!r} is not a whole number", "write a number, for example {name}=1000"
    ),
    "nucleus mode": _words("it is ignored", "write bareNucleus=only or bareNucleus=allow"),
    "not a flag": _words(
        "nothing reads {name} here: the field counts, which is {value}", "set the field {name}, or remove this"
    ),
    # software
    "no software published": _words(
        "the software map does not have the queue: every task that asks for software is refused",
        "publish its software, or write ANY",
    ),
    "no releases": _words(_ONLY_ANY_OR_AUTO, "write AUTO and publish the software, or write ANY"),
    "releases": _words(_ONLY_ANY_OR_AUTO, "write {meant} alone", "write AUTO or ANY alone"),
    "architecture type": _words(_IGNORED, *_MEANT),
    "architecture twice": _words("of two entries of the same type only one is read", "merge them"),
    "empty software": _words(
        "it has no platforms, containers, releases or tags: only tasks that ask for hardware alone match",
        "publish what the queue has",
    ),
    "misspelt attribute": _words(_IGNORED, "rename it to {meant}", "write {known}"),
    "empty list": _words(
        "it holds no {name}: every task that asks for one is refused", 'write ["any"], or what the queue has'
    ),
    "excl alone": _words(
        "tasks that ask for nothing are refused, and no task can ask for what is there",
        'add "any", or what the queue has',
    ),
    "no arch": _words("every task with a CPU specification is refused", 'add for example "arch": ["x86_64"]'),
    "text for a list": _words("a text is read letter by letter", 'write ["{value}"]'),
    "no list": _words("no task can ask for it", 'write ["{value}"]'),
    "no text": _words("no task can ask for it", "write only texts"),
    "blank in a list": _words("no task asks for it, because of the blank", "write {meant}"),
    "empty text": _words('no task asks for "": it is not any', 'write "any", or remove it'),
    # storage, and references to missing objects
    "unknown endpoint": _words("this storage does not exist, so it is ignored", *_NOT_THERE),
    "no storage to read_lan": _words(
        "it has no endpoint to read input from: every production task is refused",
        "relate it to an endpoint with the role {role}",
    ),
    "no storage to write_lan": _words(
        "it has no endpoint to write output to: every production task is refused",
        "relate it to an endpoint with the role {role}",
    ),
    "no datadisk to read_lan": _words(
        "production uses only endpoints of type {type}, and the queue has none to read input from",
        "relate it to a {type}",
    ),
    "no datadisk to write_lan": _words(
        "production uses only endpoints of type {type}, and the queue has none to write output to",
        "relate it to a {type}",
    ),
    "no default": _words(
        "it has no default endpoint for output: links and free space cannot be checked",
        "set default_write for one of its endpoints",
    ),
    "unknown queue": _words("the queue does not exist, so this is ignored", *_NOT_THERE),
    "unknown resource type": _words("no task is of that resource type", *_NOT_THERE),
}
"""By the problem."""


def finding_texts(problem: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the meaning of a finding, and its cure."""
    values = {name: _listed(value) if name == "known" else value for name, value in facts.items() if value is not None}
    meaning, cures = WORDS[problem]
    if problem == "value not understood" and "taken" not in values:
        meaning = "it is invalid and counts as not set"
    cure = next(cure for cure in cures if _names(cure) <= values.keys())
    return meaning.format(**values), cure.format(**values)


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _listed(words: Any) -> str:
    if isinstance(words, str):
        return words
    *others, last = words
    return f"{', '.join(others)} or {last}"
