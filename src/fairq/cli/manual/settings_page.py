"""fairq.toml(5): every setting, from the table of keys."""

from __future__ import annotations

from typing import Any

from fairq.cli.manual.roff import bold, examples, header, listed, page, paragraphs, section, text
from fairq.settings.key import Key, figure
from fairq.settings.keys import KEYS, SECTIONS

DESCRIPTION = (
    "Settings files are written in TOML. The keys are the names of HTCondor's configuration macros in lower case. "
    "fairq config import converts an HTCondor configuration.",
    "fairq reads the site's file, then the user's file, then the file beside the state file (its name with .toml) if "
    "--state or FAIRQ_STATE names the state. A later file overrides single keys of an earlier one. With --config or "
    "FAIRQ_CONFIG, fairq reads only that file. Environment variables override all files. fairq config show --origin "
    "shows where each value comes from; fairq config check finds errors.",
    "The manuals of a scheme and the real program differ at some points. One key per scheme decides which of the two "
    "fairq follows. negotiator.rules is documented (HTCondor's manuals) or htcondor (today's negotiator). shares.rules "
    "is documented or dirac, broker.rules is documented or panda. Each point also has its own key, which overrides the "
    "rules. The two defaults of each point are given below. fairq config show --differences lists all points. "
    "docs/differences.md describes what the text says and what the program does.",
)

ABOUT = {
    "groups": 'Accounting groups, one table each: [groups.group_physics], or [groups."group_physics.higgs"] for a '
    "subgroup. The parent of a subgroup needs its own table.",
    "submit.groups": 'Accounting groups of the members of Unix groups: phys = "group_physics".',
    "shares": "DIRAC's task queues and shares. The tables below use DIRAC's own names. fairq config import "
    "converts a DIRAC configuration.",
    "shares.groups": "Groups with shares, one table each: [shares.groups.lhcb_user]. The group of a job is its "
    "accounting_group. A group without a table has the values of an imported dump, otherwise the defaults.",
    "shares.ShareCorrections": "DIRAC's section of share correctors, with DIRAC's names and nesting: a table for each "
    "corrector contains a table for each instance, which contains a table for each time slice. Instances and slices "
    "may have any name. EXAMPLE shows one. A plugin provides a corrector as an entry point of the group "
    "fairq.share_correctors, under the name of the corrector. fairq calls it with that name, the name of the instance, "
    "its options and the rules. It returns an object with group, notes, update and correct, as described in the "
    "module fairq.engine.shares.corrector.",
    "shares.RunningLimit": "Maximum number of running jobs of one kind at a site.",
    "shares.MatchingDelay": "Minimum time between the starts of two jobs of one kind at a site.",
    "limits": "Concurrency limits: how many jobs that name a limit may run at the same time.",
}

EXAMPLE = """\
[accounting]
priority_halflife = 43200          # half a day
default_prio_factor = 1000.0

[negotiator]
rules = "documented"
negotiator_pre_job_rank = "-TARGET.Memory"

[groups.group_physics]
quota = 20
prio_factor = 100.0

[shares.groups.lhcb_user]
job_share = 1000
[shares.groups.lhcb_prod]
job_share = 3000
job_sharing = true

[shares.ShareCorrections]
ShareCorrectorsToStart = "WMSHistory"
[shares.ShareCorrections.WMSHistory.GroupsInstance]
MaxGlobalCorrectionFactor = 3
WeekSlice = { TimeSpan = 604800, Weight = 80, MaxCorrection = 2 }
HourSlice = { TimeSpan = 3600, Weight = 20, MaxCorrection = 5 }
[shares.ShareCorrections.WMSHistory.lhcb_userInstance]
Group = "lhcb_user"
MaxGlobalCorrectionFactor = 3
WeekSlice = { TimeSpan = 604800, Weight = 80, MaxCorrection = 2 }
HourSlice = { TimeSpan = 3600, Weight = 20, MaxCorrection = 5 }

[shares.RunningLimit."LCG.CERN.cern".JobType]
MCSimulation = 150
""".splitlines()

FILES = (
    ("/etc/xdg/fairq/fairq.toml", "The site's settings."),
    ("~/.config/fairq/fairq.toml", "The user's settings."),
    ("STATE.toml", "The settings beside the state file STATE."),
)


def settings_page() -> str:
    """Return fairq.toml(5)."""
    sections: list[str] = []
    for name in SECTIONS:
        keys = [key for key in KEYS if key.section == name]
        sections += [f".SS {text(f'[{name}]')}", *paragraphs([ABOUT[name]] if name in ABOUT else [])]
        sections += listed((bold(key.name), _details(key)) for key in keys)
    return page(
        header("fairq.toml", 5),
        section("NAME", [text("fairq.toml - the settings of fairq")]),
        section("DESCRIPTION", paragraphs(DESCRIPTION)),
        section("SETTINGS", sections),
        section("EXAMPLE", examples(EXAMPLE)),
        section("FILES", listed((f"\\fI{text(name)}\\fR", [meaning]) for name, meaning in FILES)),
        section("SEE ALSO", ["\\fBfairq\\fR(1), \\fBfairq\\-config\\fR(1)"]),
    )


def _details(key: Key) -> list[str]:
    facts = [f"Give {key.expected}{f' ({key.unit})' if key.unit and key.unit not in key.expected else ''}."]
    facts.append(f"Default: {shown_default(key, key.default)}{' under the rules documented,' if key.point else '.'}")
    if key.point:
        facts.append(f"{shown_default(key, key.real)} under {key.scheme.real}.")
    if key.macros:
        facts.append(f"Macro: {', '.join(key.macros)}.")
    if not key.is_pattern:
        facts.append(f"Variable: {key.variable}.")
    if key.without_effect:
        facts.append(f"It has no effect in this version: {key.without_effect}.")
    return [key.help, " ".join(facts)]


def shown_default(key: Key, value: Any) -> str:
    """Return a default of *key* in TOML; for None, the key's own word for it, or unset."""
    if value is None:
        return f'"{key.unset}"' if key.unset else "unset"
    return _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else figure(value)
