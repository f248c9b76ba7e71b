"""``fairq config``: show, change, check and import settings."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.config_import import import_notes
from fairq.cli.figures import yes_or_no
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Reason
from fairq.cli.output import Column, Table, View, emit, write_text
from fairq.common.quantities import counted
from fairq.errors.base import FairqError, UsageError

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.settings.collect import Entry
    from fairq.steps.config import ImportedConfig

app = App(help="Show, change, check and import settings.", default="show")


@app.listing(
    "show",
    examples="""
        fairq config show                               # every setting
        fairq config show negotiator --origin           # one table, with the origin of each value
        fairq config show preempt_prio_delta --json
        fairq config show --differences                 # where manuals and programs differ
        fairq config show shares --differences --json
    """,
)
def show(
    context: Context,
    keys: Annotated[list[str] | None, Argument(metavar="[KEY]...", help="Setting, table or group.")] = None,
    origin: Annotated[bool, Option("--origin", help="Show where each value comes from.")] = False,
    differences: Annotated[bool, Option("--differences", help="List where manuals and programs differ.")] = False,
) -> None:
    """Show the settings in use.

    A KEY is the name of a setting, with or without its table (quota_model, PRIORITY_HALFLIFE), or a table (negotiator,
    groups.physics). Without a KEY, all settings are shown.

    An origin is 'default', 'rules' (the default of the chosen rules), the file and line, or the variable.

    --differences lists the rule points: where the manuals of a scheme and its program differ. negotiator.rules,
    shares.rules and broker.rules set all points of their scheme; the setting of a single point overrides them. The
    table shows both values, the value in use, and its origin. The JSON document also quotes manual and program, as
    docs/differences.md does.
    """
    invocation, output = context.obj, context.obj.output
    chosen = list(invocation.settings) if not keys else [entry for key in keys for entry in _named(invocation, key)]
    if differences:
        emit(_differences(invocation.settings, [entry for entry in chosen if entry.key.point]), output)
        return
    columns = [Column("Setting", "name", narrow="keep"), Column("Value", "text", _shown)]
    if origin:
        columns.append(Column("Origin", "origin"))
    records = [_record(entry, origin) for entry in chosen]
    tables = [Table(columns=columns, records=records, empty="no groups or limits are configured")]
    fields = ["name", "value", *(["origin"] if origin else [])]
    emit(View(tables=tables, fields=fields), output)


@app.command("get", examples="fairq config get priority_halflife   # the bare value, for scripts")
def get(
    context: Context,
    key: Annotated[str, Argument(metavar="KEY", help="Setting, with or without its table.")],
) -> None:
    """Print only the value of one setting, or an empty line if it is unset."""
    from fairq.settings.values import to_text

    invocation = context.obj
    (entry,) = _named(invocation, key, single=True)
    write_text(to_text(entry.key, entry.value) or "\n")


def _two_words(words: list[str]) -> list[str]:
    """Return *words*; raises UsageError for a setting and its value in one word."""
    key, equals, value = words[0].partition("=") if len(words) == 1 else ("", "", "")
    if equals and not key.startswith("-"):
        import shlex

        raise UsageError(message=f"a value is a word of its own: fairq config set {shlex.join([key, value])}")
    return words


@app.command(
    "set",
    value_last=True,
    rewrite=_two_words,
    examples="""
        fairq config set priority_halflife 12h
        fairq config set groups.physics.quota 20
        fairq config set groups.physics.hep.quota_dynamic 50%
        fairq config set negotiator_slot_constraint ''        # no constraint
    """,
)
def set_(
    context: Context,
    key: Annotated[str, Argument(metavar="KEY", help="Setting, with or without its table.")],
    value: Annotated[str, Argument(metavar="VALUE", help="New value, such as 12h, 50%, true or an expression.")],
    reason: Reason = None,
    dry_run: DryRun = False,
) -> None:
    """Change one setting in its file.

    The file is the one named by --config or FAIRQ_CONFIG, otherwise the one beside the state file named by --state or
    FAIRQ_STATE, otherwise the user's file (see fairq config path). The rest of the file, comments included, stays
    unchanged. Nothing is written if the settings would be invalid.

    A number may have a unit where it fits: 12h or 7d for seconds, 50% for a dynamic quota, 2GB for MiB. The value ''
    stands for no text or no expression. To restore the default, use fairq config unset.

    If the pool has a state, the change is in fairq state history, with the former value, and fairq undo takes it back.
    A file that is edited by hand is noted there at the next cycle.
    """
    from fairq.steps.setting_edits import set_setting

    invocation = context.obj
    chosen, recorder = invocation.settings_files, None if dry_run else invocation.recorder(reason)
    file, comments_kept = set_setting(chosen, key, value, recorder=recorder, dry_run=dry_run)
    tell_change(invocation, file, comments_kept, dry_run)


@app.command(
    "unset",
    examples="""
        fairq config unset priority_halflife       # back to the default
        fairq config unset groups.physics.quota
        fairq config unset groups.physics          # remove a group with all its settings
    """,
)
def unset(
    context: Context,
    key: Annotated[str, Argument(metavar="KEY", help="Setting, with or without its table, or groups.NAME.")],
    reason: Reason = None,
    dry_run: DryRun = False,
) -> None:
    """Remove one setting, or one accounting group, from its file.

    The file is the one that config set changes. The setting then has the value of another file or variable, or its
    default. A group that has subgroups is not removed. Nothing is written if the settings would be invalid.
    """
    from fairq.settings.values import to_text
    from fairq.steps.setting_edits import unset_setting

    invocation = context.obj
    recorder = None if dry_run else invocation.recorder(reason)
    edited = unset_setting(invocation.settings_files, key, recorder=recorder, dry_run=dry_run)
    if edited is None:
        invocation.note(f"no changes: {invocation.settings_files.destination} does not set {key}")
        return
    tell_change(invocation, edited.file, edited.kept, dry_run)
    if edited.left is not None:
        value, verb = to_text(edited.left.key, edited.left.value), "would still be" if dry_run else "is still"
        invocation.note(f"{edited.left.name} {verb} {value or 'unset'}, set by {edited.left.origin}")


@app.command("check", examples="fairq config check pool.toml")
def check(
    context: Context,
    file: Annotated[str | None, Argument(metavar="[FILE]", help="Check only this file.")] = None,
) -> None:
    """List all errors in the settings, expressions included, one per line.

    The exit code is that of the last error, or 0 if there is none. Valid settings that have no effect in this version
    are listed as well, and so are groups whose quota is too small for any slot, and resources that no slot has.
    """
    from fairq.cli.output.messages import tell_error
    from fairq.steps.config import check as step
    from fairq.steps.config import without_effect
    from fairq.steps.cycle.missing_resources import missing_resources
    from fairq.steps.quotas.check import never_starting

    invocation = context.obj
    chosen = invocation.settings_files
    problems = step(chosen, Path(file) if file is not None else None)
    for problem in problems[:-1]:
        tell_error(problem)
    if problems:
        raise problems[-1]
    for entry in without_effect(chosen, Path(file) if file is not None else None):
        invocation.note(f"{entry.origin}: {entry.name} has no effect in this version: {entry.key.without_effect}")
    for group in never_starting(invocation.state_path, chosen, file, invocation.now(None)):
        invocation.note(f"group {group.group}: {group.problem}; {group.cure}")
    if file is None:
        for name in missing_resources(invocation.state_path, invocation.settings, invocation.now(None)):
            invocation.note(f"no slot has the resource {name}; correct or remove it where the settings name it")
    files = [file] if file is not None else [str(layer.path) for layer in chosen.layers if layer.path.exists()]
    invocation.note(f"no errors in {', '.join(files)}" if files else "no errors: there is no settings file")


@app.listing("path", examples="fairq config path   # which file do my changes go to?")
def path(context: Context) -> None:
    """Show the settings files, and which of them config set changes; a later file overrides an earlier one."""
    invocation, output = context.obj, context.obj.output
    chosen = invocation.settings_files
    records = [
        {
            "layer": layer.role,
            "path": str(layer.path),
            "exists": layer.path.exists(),
            "changes": layer.path == chosen.destination,
        }
        for layer in chosen.layers
    ]
    columns = [
        Column("Layer", "layer"),
        Column("File", "path"),
        Column("Exists", "exists", yes_or_no, "left", level=1),
        Column("Changes go there", "changes", yes_or_no, "left"),
    ]
    emit(View(tables=[Table(columns=columns, records=records)]), output)


@app.report(
    "import",
    examples="""
        fairq config import /etc/condor/condor_config.local --dry-run
        condor_config_val -dump | fairq config import -
        fairq config import dirac.cfg                            # /Operations and /Registry of DIRAC
    """,
)
def import_(
    context: Context,
    files: Annotated[list[str], Argument(metavar="FILE...", help="HTCondor or DIRAC configuration files; - is stdin.")],
    reason: Reason = None,
    dry_run: DryRun = False,
) -> None:
    """Import settings from an HTCondor or DIRAC configuration.

    The import replaces the settings file (see fairq config set) and keeps the former one with the suffix .bak, or
    .bak.1 and so on if there is one. It sets negotiator.rules to htcondor, and condor_version to CONDOR_VERSION if the
    files define it. Macros, continued lines, conditions, $ENV, $INT and $REAL work as in HTCondor. Of $RANDOM_INTEGER
    the least value is taken, of $RANDOM_CHOICE the first. Includes are not followed; give those files as well.

    Lines that cannot be imported are listed on stderr with the reason. From a whole configuration, only lines about
    negotiation, accounting or quotas are listed, unless --verbose is given.

    A file in DIRAC's syntax, with sections in braces, is recognised by its content. The import reads JobScheduling and
    JobDescription of /Operations (the section of a virtual organisation overrides Defaults), the groups of /Registry,
    and a top-level section ShareCorrections. They replace the table shares, and shares.rules becomes dirac. Other
    settings stay unchanged.
    """
    from fairq.steps.config import import_config
    from fairq.steps.pool.assumptions import whole_slots_at

    invocation, output = context.obj, context.obj.output
    former = []
    with suppress(FairqError):  # An import replaces settings that are missing or wrong.
        former.append(invocation.settings)
    recorder = None if dry_run else invocation.recorder(reason)
    imported = import_config(invocation.settings_files, files, recorder=recorder, dry_run=dry_run)
    import_notes(invocation, imported)
    for note in whole_slots_at(invocation.state_path, imported.settings, *former):
        invocation.note(note)
    emit(View(document=_summary(imported), text=_sentence(imported, dry_run)), output)


def tell_change(invocation: Invocation, file: Path, comments_kept: bool, dry_run: bool) -> None:
    """Print the change of a settings *file*; *comments_kept* tells whether its comments and order were kept."""
    if not comments_kept:
        lost = "would be rewritten; its comments would be lost" if dry_run else "was rewritten; its comments were lost"
        invocation.note(f"{file} {lost}")
    if dry_run:
        invocation.note(f"{file} would be changed")
    else:
        invocation.detail(f"changed {file}")


def _named(invocation: Invocation, text: str, single: bool = False) -> list[Entry]:
    """Return the settings named by *text*: one setting, or (unless *single*) all of a table."""
    from fairq.settings.collect import Entry
    from fairq.settings.names import resolve, unknown, without_quotes
    from fairq.settings.origin import DEFAULT

    text = without_quotes(text, "config")

    settings = invocation.settings
    if not single:
        in_table = [entry for entry in settings if entry.name.lower().startswith(text.lower() + ".")]
        if in_table or text.lower() in ("groups", "limits"):
            return in_table
    key, path = resolve(text, "config")
    name = ".".join(path)
    for entry in settings:
        if entry.name.lower() == name.lower():
            return [entry]
    if key.section == "groups" and path[1].lower() in (group.lower() for group in settings.groups):
        return [Entry(path, key, key.default, DEFAULT)]
    raise unknown(text, "config")


def _record(entry: Entry, origin: bool) -> dict[str, Any]:
    from fairq.settings.values import to_text

    key = entry.key
    value = list(entry.value) if isinstance(entry.value, tuple) else entry.value
    record: dict[str, Any] = {"name": entry.name, "value": value, "text": to_text(key, entry.value)}
    if origin:
        record["origin"] = str(entry.origin)
    if key.point:
        record |= {"documented": to_text(key, key.default), "program_value": to_text(key, key.real)}
    return record


def _differences(settings: Settings, points: list[Entry]) -> View:
    """Return the rule points with the values of both sets of rules and the value in use."""
    columns = [
        Column("Program", "program", level=3),
        Column("Setting", "name", narrow="keep"),
        Column("documented", "documented"),
        Column("program", "program_value"),
        Column("in use", "text", level=1),
        Column("Origin", "origin", level=2),
    ]
    schemes = dict.fromkeys(point.key.scheme for point in points)
    chosen = ", ".join(f"{scheme.rules} = {settings[scheme.rules]}" for scheme in schemes)
    table = Table(columns=columns, records=[_difference(point) for point in points], empty="no rule points")
    fields = ("program", "name", "documented", "program_value", "value", "origin", "meaning")
    text = f"{chosen}; {counted(len(points), 'rule point')}" if points else None
    return View(text=text, tables=[table], fields=fields)


def _difference(entry: Entry) -> dict[str, Any]:
    from fairq.settings.values import to_text

    key = entry.key
    text, source, program, function = key.difference or (None,) * 4
    record = _record(entry, origin=True)
    return {
        "program": key.scheme.real,
        "name": record["name"],
        "documented": to_text(key, key.default),
        "program_value": to_text(key, key.real),
        "value": record["value"],
        "text": record["text"],
        "origin": record["origin"],
        "meaning": key.help,
        "text_says": text,
        "text_source": source,
        "program_does": program,
        "program_function": function,
    }


def _leaves(value: Any) -> int:
    """Return the number of single values in a table."""
    return sum(map(_leaves, value.values())) if isinstance(value, dict) else 1


def _shown(text: str) -> str:
    return text or "unset"


def _summary(imported: ImportedConfig) -> dict[str, Any]:
    """Return the counts of an import, and its lines that were not taken, as plain data."""
    tables = imported.document
    shares = tables.get("shares", {})
    limits, delays = _leaves(shares.get("RunningLimit", {})), _leaves(shares.get("MatchingDelay", {}))
    return {
        "file": str(imported.file),
        "former": str(imported.former) if imported.former else None,
        "settings": sum(_leaves(table) for name, table in tables.items() if name not in ("groups", "limits"))
        - limits
        - delays,
        "groups": len(tables.get("groups", ())) + len(shares.get("groups", ())),
        "limits": len(tables.get("limits", ())) + limits,
        "delays": delays,
        "lines": imported.taken,
        "not_taken": [{"where": entry.where, "name": entry.name, "reason": entry.why} for entry in imported.not_taken],
        "without_effect": [
            {"where": entry.where, "name": entry.name, "reason": entry.why} for entry in imported.without_effect
        ],
        "document": imported.text,
    }


def _sentence(imported: ImportedConfig, dry_run: bool) -> str:
    """Return the sentence on an import; with *dry_run*, the text of the file as well."""
    summary = _summary(imported)
    kinds = ("settings", "groups", "limits", *(["delays"] if summary["delays"] else []))
    counts = ", ".join(counted(summary[name], name.removesuffix("s")) for name in kinds)
    not_taken = len(imported.not_taken)
    sentence = f"{counts} from {counted(imported.taken, 'line')}; {not_taken} not imported"
    if dry_run:
        return f"{imported.text}\n# would write this to {imported.file}: {sentence}"
    former = f" (the former one is {imported.former})" if imported.former else ""
    return f"wrote {imported.file}{former}: {sentence}"
