"""``fairq broker config``: PanDA's own settings."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from fairq.cli.broker.imports import Lenient, run_import
from fairq.cli.broker.sentences.settings import meaning_of
from fairq.cli.command import App, Context
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Table, View, emit, write_text
from fairq.columns.broker.work import CONFIG

app = App(
    help="Manage PanDA's own settings (gdpconfig).\n\nTheir defaults are PanDA's. They are stored in the state file. "
    "Some settings take a suffix, such as NQUEUELIMITSITE_Express for the share Express.",
    default="list",
)

Setting = Annotated[str, Argument(metavar="SETTING", help="Setting, such as jobbroker.NQUEUED_SAT_CAP.")]


@app.listing(
    "list",
    examples="""
        fairq broker config                                # all settings
        fairq broker config list --constraint 'set =!= undefined'
    """,
)
def list_(
    context: Context,
    settings: Annotated[list[str] | None, Argument(metavar="SETTING...", help="Only these settings.")] = None,
) -> None:
    """Show the settings: value in use, set value and default."""
    from fairq.steps.broker.config import look

    invocation, output = context.obj, context.obj.output
    columns = [
        Column("Name", "name", narrow="keep"),
        Column("Value", "value", _value_text),
        Column("Set", "set", _value_text, level=3),
        Column("Default", "default", _value_text, level=2),
        Column("Unit", "unit", level=1),
        Column("Meaning", "help"),
    ]
    rows = look(invocation.state_path, settings or [])
    records = [{**record, "help": meaning_of(record["name"])} for record in rows]
    emit(View(tables=[Table(columns=columns, records=records)]), output)


@app.command("set", value_last=True, examples="fairq broker config set NW_ACTIVE true")
def set_(
    context: Context,
    setting: Setting,
    value: Annotated[str, Argument(metavar="VALUE", help="Number, true or false.")],
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Set the value of a setting."""
    from fairq.steps.broker.config import put

    invocation = context.obj
    actor = invocation.actor(invocation.now(now))
    name, _ = put(invocation.state_path, setting, value, actor, dry_run=dry_run)
    if not invocation.quiet:
        write_text(f"{name} {'would be' if dry_run else 'is'} {value.strip()}")


@app.command("unset", examples="fairq broker config unset jobbroker.NW_ACTIVE")
def unset(
    context: Context,
    settings: Annotated[list[str], Argument(metavar="SETTING...", help="Settings to unset.")],
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Restore the default of settings."""
    from fairq.steps.broker.config import unset as step

    invocation = context.obj
    actor = invocation.actor(invocation.now(now))
    for name in step(invocation.state_path, settings, actor, dry_run=dry_run):
        if not invocation.quiet:
            write_text(f"{name} {'would be' if dry_run else 'is'} unset")


@app.command("import", examples="fairq broker config import gdpconfig.json --replace")
def import_(
    context: Context,
    file: Annotated[str, Argument(metavar="FILE", help="JSON or CSV file, optionally gzip; - is stdin.")],
    replace: Annotated[bool, Option("--replace", help="Unset settings that are not in the file.")] = False,
    lenient: Lenient = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Import settings from JSON or CSV with the columns of gdpconfig: component, key, value.

    Settings that the brokerage does not use are kept unchanged.
    """
    invocation = context.obj
    run_import(CONFIG, invocation, file, replace=replace, now=now, dry_run=dry_run, lenient=lenient)


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
