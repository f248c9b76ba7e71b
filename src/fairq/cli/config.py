"""``fairq config``: look at the settings, change them, take them over from HTCondor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli.command import App, SetCommand
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun
from fairq.cli.output import Column, Output, Report, Table, View, emit, write_text

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.settings.collect import Entry
    from fairq.steps.config import ImportedConfig

app = App(help="The settings: show, get, set, check, path, import.", default="show")


@app.command(
    "show",
    examples="""
        fairq config show                               # every setting
        fairq config show negotiator --origin           # one table of it, and where each value comes from
        fairq config show preempt_prio_delta --json
        fairq config show --differences                 # where manuals and programs differ
        fairq config show shares --differences --json
    """,
)
def show(
    invocation: Invocation,
    output: Output,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="A setting, a table, or a group.")
    ] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Show where each value comes from.")] = False,
    differences: Annotated[
        bool, typer.Option("--differences", help="List the rule points, with the values of both sets of rules.")
    ] = False,
) -> None:
    """Show the settings in force.

    A KEY is a setting's name, with its table or without (quota_model, PRIORITY_HALFLIFE), or a whole table
    (negotiator, groups.physics). Without one, all settings are shown.

    An origin is *default*, *rules* (the default of the chosen rules), the file and line, or the variable.

    --differences lists the rule points: where a scheme's texts and its program differ. negotiator.rules, shares.rules
    and broker.rules each choose one value for all points of their scheme; a point that is set itself wins. The
    table shows both values, the one in force, and its origin. JSON adds, where known, what the text says (text_says,
    text_source) and what the program does (program_does, program_function); docs/differences.md has the same as a page.
    """
    chosen = (
        list(invocation.settings) if not keys else [entry for key in keys for entry in _named(invocation, key)]
    )
    if differences:
        emit(_differences(invocation.settings, [entry for entry in chosen if entry.key.point]), output)
        return
    columns = [Column("Setting", "name"), Column("Value", "text", _shown)]
    if origin:
        columns.append(Column("Origin", "origin"))
    records = [_record(entry, origin) for entry in chosen]
    tables = [Table(columns=columns, records=records, empty="nothing of that kind is set")]
    fields = ["name", "value", *(["origin"] if origin else [])]
    emit(View(tables=tables, fields=fields), output)


@app.command("get", examples="fairq config get priority_halflife   # the bare value, for scripts")
def get(
    invocation: Invocation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A setting's name, with its table or without.")],
) -> None:
    """Print the value of one setting and nothing else; an empty line if it is unset."""
    from fairq.settings.values import to_text

    (entry,) = _named(invocation, key, single=True)
    write_text(to_text(entry.key, entry.value) or "\n")


@app.command(
    "set",
    cls=SetCommand,
    examples="""
        fairq config set priority_halflife 43200
        fairq config set groups.physics.quota 20
        fairq config set negotiator_slot_constraint ''        # unset it
    """,
)
def set_(
    invocation: Invocation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A setting's name, with its table or without.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its new value; '' unsets a text or expression.")],
    dry_run: DryRun = False,
) -> None:
    """Change one setting in its file.

    The file is that of --config or FAIRQ_CONFIG, else the one beside the state chosen by --state or FAIRQ_STATE,
    else your own (see fairq config path). The rest of the file stays as it is, comments included; nothing is
    written unless the settings are right afterwards.
    """
    from fairq.steps.config import set_setting

    file, kept = set_setting(invocation.place, key, value, dry_run=dry_run)
    if not kept:
        invocation.note(f"{file} {'would be' if dry_run else 'was'} written anew: its comments could not be kept")
    if dry_run:
        invocation.note(f"{file} would be changed")
    else:
        invocation.detail(f"changed {file}")


@app.command("check", examples="fairq config check pool.toml")
def check(
    invocation: Invocation,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Check this file alone, not the settings in force.")
    ] = None,
) -> None:
    """Tell everything that is wrong with the settings, a line for each, expressions included.

    The exit code is that of the last problem told; 0 if there is none. Settings that are right but have no effect
    in this version are told, too.
    """
    from fairq.cli.output.messages import tell_error
    from fairq.steps.config import check as step
    from fairq.steps.config import without_effect

    place = invocation.place
    problems = step(place, Path(file) if file is not None else None)
    for problem in problems[:-1]:
        tell_error(problem)
    if problems:
        raise problems[-1]
    for entry in without_effect(place, Path(file) if file is not None else None):
        invocation.note(f"{entry.origin}: {entry.name} has no effect in this version: {entry.key.without_effect}")
    files = [file] if file is not None else [str(layer.path) for layer in place.layers if layer.path.exists()]
    invocation.note(f"all is well in {', '.join(files)}" if files else "all is well: there is no settings file")


@app.command("path", examples="fairq config path   # which file do my changes go to?")
def path(invocation: Invocation, output: Output) -> None:
    """Show the files that are looked for, the later winning, and which one changes go to."""
    place = invocation.place
    records = [
        {
            "layer": layer.role,
            "path": str(layer.path),
            "exists": layer.path.exists(),
            "changes": layer.path == place.destination,
        }
        for layer in place.layers
    ]
    columns = [
        Column("Layer", "layer"),
        Column("File", "path"),
        Column("Exists", "exists", _yes_no, "left"),
        Column("Changes go there", "changes", _yes_no, "left"),
    ]
    emit(View(tables=[Table(columns=columns, records=records)]), output)


@app.command(
    "import",
    examples="""
        fairq config import /etc/condor/condor_config.local --dry-run
        condor_config_val -dump | fairq config import -
        fairq config import dirac.cfg                            # /Operations and /Registry of a DIRAC
    """,
)
def import_(
    invocation: Invocation,
    output: Report,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="HTCondor or DIRAC configuration, in order; - is stdin.")
    ],
    dry_run: DryRun = False,
) -> None:
    """Take the settings over from HTCondor's configuration, or from DIRAC's.

    The settings file is replaced (see fairq config set for which); the former one is kept with .bak behind its
    name. The rules become htcondor: what today's negotiator does. Macros, continued lines, conditions and
    $ENV are read as HTCondor reads them. Every line that has no place among the settings is told on stderr
    with the reason; includes are not followed, give those files too.

    A file in DIRAC's syntax, with sections in braces, is told by its content. Read are JobScheduling and
    JobDescription of /Operations (that of a virtual organisation before Defaults), the groups of /Registry, and a
    section ShareCorrections that stands alone; the table shares is replaced by them, with the rules dirac, and
    the other settings stay as they are.
    """
    from fairq.steps.config import import_config

    imported = import_config(invocation.place, files, dry_run=dry_run)
    for entry in imported.not_taken:
        invocation.note(f"{entry.where}: {entry.name} is not taken over: {entry.why}")
    for entry in imported.without_effect:
        invocation.note(f"{entry.where}: {entry.name} has no effect in this version: {entry.why}")
    emit(View(document=_summary(imported), text=_sentence(imported, dry_run)), output)


def _named(invocation: Invocation, text: str, single: bool = False) -> list[Entry]:
    """Return what is set under *text*: one setting, or (unless *single*) all of a table."""
    from fairq.settings.collect import Entry
    from fairq.settings.names import resolve, unknown
    from fairq.settings.origin import DEFAULT

    settings = invocation.settings
    if not single:
        inside = [entry for entry in settings if entry.name.lower().startswith(text.lower() + ".")]
        if inside or text.lower() in ("groups", "limits"):
            return inside
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
    """Return the rule points with the values of both sets of rules and the one in force."""
    columns = [
        Column("Program", "program"),
        Column("Setting", "name"),
        Column("documented", "documented"),
        Column("program", "program_value"),
        Column("in force", "text"),
        Column("Origin", "origin"),
    ]
    schemes = dict.fromkeys(point.key.scheme for point in points)
    chosen = ", ".join(f"{scheme.rules} = {settings[scheme.rules]}" for scheme in schemes)
    table = Table(columns=columns, records=[_difference(point) for point in points], empty="none of these is a point")
    fields = ("program", "name", "documented", "program_value", "value", "origin", "meaning")
    return View(text=f"{chosen}; {len(points)} rule points" if points else None, tables=[table], fields=fields)


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
    return sum(map(_leaves, value.values())) if isinstance(value, dict) else 1


def _shown(text: str) -> str:
    return text or "unset"


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _summary(imported: ImportedConfig) -> dict[str, Any]:
    tables = imported.document
    return {
        "file": str(imported.file),
        "former": str(imported.former) if imported.former else None,
        "settings": sum(_leaves(table) for name, table in tables.items() if name not in ("groups", "limits")),
        "groups": len(tables.get("groups", ())) + len(tables.get("shares", {}).get("groups", ())),
        "limits": len(tables.get("limits", ())),
        "lines": imported.taken,
        "not_taken": [
            {"where": entry.where, "name": entry.name, "reason": entry.why} for entry in imported.not_taken
        ],
        "without_effect": [
            {"where": entry.where, "name": entry.name, "reason": entry.why} for entry in imported.without_effect
        ],
        "document": imported.text,
    }


def _sentence(imported: ImportedConfig, dry_run: bool) -> str:
    summary = _summary(imported)
    counts = ", ".join(f"{summary[name]} {name.lower()}" for name in ("settings", "groups", "limits"))
    left = len(imported.not_taken)
    sentence = f"{counts} from {imported.taken} lines; {left} not taken over"
    if dry_run:
        return f"{imported.text}\n# would write this to {imported.file}: {sentence}"
    kept = f" (the former one is {imported.former})" if imported.former else ""
    return f"wrote {imported.file}{kept}: {sentence}"
