"""fairq.toml(5): every setting, from the table of keys."""

from __future__ import annotations

from typing import Any

from fairq.cli.manual.roff import bold, examples, header, listed, page, paragraphs, section, text
from fairq.settings.key import Key
from fairq.settings.keys import KEYS, SECTIONS

DESCRIPTION = (
    "The settings of fairq are TOML. The names are those of HTCondor's configuration macros in lower case, so "
    "that whoever knows these knows them; fairq config import reads an HTCondor configuration as it is.",
    "Several files are read, each later one wins, key by key: the site's, the user's and, if the state file was "
    "named by --state or FAIRQ_STATE, the one beside it (its name with .toml). With --config or FAIRQ_CONFIG that "
    "file alone is read. Environment variables win over all files. fairq config show --origin tells where each "
    "value came from, fairq config check whether all is well.",
    "Where a scheme's texts and its program differ, its rules decide: negotiator.rules chooses between documented, "
    "what HTCondor's manuals promise, and htcondor, what today's negotiator does, so that a pool can be compared "
    "with a live one; shares.rules between documented and dirac, broker.rules between documented and panda. Each "
    "such point has a key of its own besides, which wins; its two defaults are given below. fairq config show "
    "--differences lists the points; docs/differences.md in fairq's source says what text and program do.",
)

ABOUT = {
    "groups": "Accounting groups, each a table of its own: [groups.group_physics] or, with its parent's name "
    'before a dot, [groups."group_physics.higgs"]. The parent must be there too.',
    "shares": "DIRAC's task queues and shares. Points are named as in fairq's rules; the tables below carry DIRAC's "
    "own names. fairq config import reads them from a DIRAC configuration.",
    "shares.groups": "The groups that own shares, each a table of its own: [shares.groups.lhcb_user]. A job's group is "
    "its accounting_group. One that is not named here has the values of an imported dump, else the defaults.",
    "shares.ShareCorrections": "DIRAC's block of share correctors, its names and nesting as they are: a table for each "
    "corrector, in it one for each instance, in it one for each time slice, all called as you like. The schema's own "
    "example stands below, under EXAMPLE. A plugin brings a corrector along as an entry point of the group "
    "fairq.share_correctors, under the corrector's name: what is called with that name, the instance's name, its "
    "options and the rules, and returns an object with group, notes, update and correct, as fairq's module "
    "fairq.engine.shares.corrector describes them.",
    "shares.RunningLimit": "How much of what a site takes at once.",
    "shares.MatchingDelay": "How soon the next job of a kind may start at a site.",
    "limits": "Concurrency limits: how many jobs that name a limit may run at once.",
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
    facts.append(f"Default: {shown_value(key.default)}{'.' if not key.point else ' under the rules documented,'}")
    if key.point:
        facts.append(f"{shown_value(key.real)} under {key.scheme.real}.")
    if key.macros:
        facts.append(f"Macro: {', '.join(key.macros)}.")
    if not key.is_pattern:
        facts.append(f"Variable: {key.variable}.")
    if key.without_effect:
        facts.append(f"It has no effect in this version: {key.without_effect}.")
    return [key.help, " ".join(facts)]


def shown_value(value: Any) -> str:
    """Return a setting's value as TOML has it; None is unset."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(shown_value(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
