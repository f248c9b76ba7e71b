"""The reasons why a macro is not imported."""

from __future__ import annotations

import re

from fairq.settings.keys import BY_MACRO

_TIMING = "no daemon: a cycle runs when fairq negotiate is called"
_NETWORK = "no daemon: fairq uses no network"
_REPORTING = "no daemon: fairq userprio and fairq negotiate report"
_STATE = "no daemon: all data is in the state file"
_STARTD = "no daemon: slot ads contain what a startd decides"

_REASONS: tuple[tuple[str, str], ...] = (
    (r"NEGOTIATOR_(INTERVAL|MIN_INTERVAL|CYCLE_DELAY)|NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE", _TIMING),
    (r"NEGOTIATOR_(UPDATE_.*|ADVERTISE_ACCOUNTING)|NEGOTIATION_CYCLE_STATS_LENGTH|STATISTICS_.*", _REPORTING),
    (r"USERPRIO_USE_NEGOTIATOR_MODULAR_QUERY|NEGOTIATOR_NAME", _REPORTING),
    (r"(MAX_)?ACCOUNTANT_DATABASE_(FILE|SIZE)|NEGOTIATOR_STATE_FILE|SPOOL|LOCK|EXECUTE|.*HISTORY.*", _STATE),
    (r"NEGOTIATOR_(PREFETCH_REQUESTS.*|NUM_THREADS|TIMEOUT|SOCKET_CACHE_SIZE)", _NETWORK),
    (r"NEGOTIATOR_INFORM_STARTD|STARTD_AD_REEVAL_EXPR|NEGOTIATOR_USE_NONBLOCKING_.*", _NETWORK),
    (r"CONSUMPTION_.*|CLAIM_PARTITIONABLE_LEFTOVERS|NUM_SLOTS.*|SLOT_TYPE_.*|NUM_CPUS|MEMORY|DISK", _STARTD),
    (r"START|SUSPEND|CONTINUE|PREEMPT|KILL|WANT_(SUSPEND|VACATE|HOLD)|RANK|MAXJOBRETIREMENTTIME", _STARTD),
    (r"NEGOTIATOR_MATCH_EXPRS", "fairq adds no attributes to matches"),
    (r"NEGOTIATOR_CLASSAD_USER_MAP_NAMES|CLASSAD_USER_MAP.*", "fairq has no user maps"),
    (r"(DETECTED_CPUS|ARC_GAHP_COMMAND)_LIMIT", "no daemon"),
    (
        r"(NEGOTIATOR|SCHEDD|STARTD|COLLECTOR|MASTER|SHADOW|STARTER|GRIDMANAGER|DAEMON|SEC|ALLOW|DENY|HOSTALLOW"
        r"|AUTH|SSL|GSI|SCITOKENS|CCB|PROCD|JOB_ROUTER|CREDD|DAGMAN|TOOL|SUBMIT|MAX|ALL|DEFAULT|CONDOR)(_.*)?"
        r"|.*_(LOG|DEBUG|HOST|ADDRESS|ADDRESS_FILE|TIMEOUT|INTERVAL|ATTRS|EXPRS|DIR|DIRECTORY|PORT|ARGS)"
        r"|LOCAL_DIR|LOG|BIN|SBIN|LIB|RELEASE_DIR|LOCAL_CONFIG_.*|REQUIRE_LOCAL_CONFIG_FILE|FILESYSTEM_DOMAIN"
        r"|USE_.*|ENABLE_.*|SYSTEM_.*|JOB_DEFAULT_.*",
        "no daemon: no part of fairq reads it",
    ),
)
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in _REASONS]

_UNKNOWN = "unknown macro"

_DAEMONS = frozenset(
    ("STARTD", "COLLECTOR", "MASTER", "SHADOW", "STARTER", "TOOL", "SUBMIT", "GRIDMANAGER", "SCHEDD", "NEGOTIATOR")
)


_LOCAL_NEGOTIATOR = re.compile(r"(NEGOTIATOR(?:_|\d)\w*)\.", re.IGNORECASE)

_GROUP_MACRO = re.compile(r"GROUP_(NAMES|(QUOTA_DYNAMIC|QUOTA|PRIO_FACTOR|ACCEPT_SURPLUS|AUTOREGROUP)_.+)")


def local_negotiator(name: str) -> str | None:
    """Return the local name of the only negotiator for which *name* is defined; None if it is for all.

    With several negotiators, ``NEGOTIATOR_GPU.NAME`` is for the one called NEGOTIATOR_GPU in DAEMON_LIST.
    """
    match = _LOCAL_NEGOTIATOR.match(name)
    return None if match is None else match[1]


def _is_known(bare: str) -> bool:
    return bare in BY_MACRO or _GROUP_MACRO.fullmatch(bare) is not None


def _nearest_macro(bare: str) -> str | None:
    """Return the macro of which *bare* is a misspelling; a name with an additional word is not one."""
    import difflib

    close = difflib.get_close_matches(bare, (*BY_MACRO, "GROUP_NAMES"), 1, 0.88)
    if not close or bare == close[0] or re.search(rf"(^|_){close[0]}(_|\d|$)", bare):
        return None
    return close[0]


def reason(name: str) -> str:
    """Return the reason why the unused macro *name* is not imported."""
    prefix, _, bare = name.upper().rpartition(".")
    if (negotiator := local_negotiator(name)) is not None:
        return f"it applies only to the negotiator with the local name {negotiator}"
    if prefix in _DAEMONS and _is_known(bare):
        return f"it applies to the {prefix.lower()} only"
    if prefix and _is_known(bare):
        return f"it applies only to the daemon with the local name {prefix}"
    for pattern, words in _PATTERNS[:-1]:
        if pattern.fullmatch(bare):
            return words
    if not prefix and (meant := _nearest_macro(bare)) is not None:
        return f"unknown macro; did you mean {meant}?"
    pattern, words = _PATTERNS[-1]
    return words if pattern.fullmatch(bare) else _UNKNOWN


_NEGOTIATION_MACRO = re.compile(
    r"(NEGOTIATOR\.|SCHEDD\.)?(NEGOTIAT.*|GROUP_.*|ACCOUNT.*|PRIORITY_.*|PREEMPTION_.*|CONCURRENCY_.*|.*_PRIO_FACTOR.*"
    r"|.*SLOT_WEIGHT|.*SIGNIFICANT_ATTRIBUTES.*)",
    re.IGNORECASE,
)


def concerns_negotiation(name: str, why: str) -> bool:
    """Return whether negotiation, accounting or quotas may differ without *name*, not imported for the reason *why*."""
    if why.startswith("no daemon"):
        return False
    return why != _UNKNOWN or _NEGOTIATION_MACRO.fullmatch(name) is not None
