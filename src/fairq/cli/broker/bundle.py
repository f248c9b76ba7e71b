"""``fairq broker import``: every kind of data at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairq.cli.broker.imports import Lenient, print_remarks
from fairq.cli.command import App, Context
from fairq.cli.figures import counted
from fairq.cli.options import Now
from fairq.cli.output import Column, Table, View, emit

if TYPE_CHECKING:
    from fairq.steps.broker.imports import Bundle
    from fairq.steps.broker.reader import FileRecords

app = App()


@app.listing(
    "import",
    examples="""
        fairq broker import grid/ --check            # what each file would do
        fairq broker import grid.tar.gz --replace    # the grid as it is now
        fairq broker import cric/ --lenient
    """,
)
def import_(
    context: Context,
    source: Annotated[str, Argument(metavar="DIRECTORY|ARCHIVE", help="Directory, tar or zip archive; - is stdin.")],
    replace: Annotated[bool, Option("--replace", help="Remove records that are not in the files.")] = False,
    lenient: Lenient = False,
    now: Now = None,
    check: Annotated[bool, Option("--check", "--dry-run", help="Show what each file would do; store nothing.")] = False,
) -> None:
    """Import all kinds of data from the files of a directory or archive, in one transaction.

    A brokerage run sees either the former data or all of the new data.

    The first word of a file's name is its kind: queues.json, links-2026-11-22.csv.gz. config is PanDA's gdpconfig.
    Other files are identified by their shape. These published forms are accepted: queues, sites, storage endpoints and
    their states (blacklists), site matrix and software of CRIC; storage usage of Rucio; network metrics, as a list of
    links or by SOURCE:DESTINATION. Any other file needs the columns of one kind. If a file cannot be identified,
    nothing is imported; --lenient leaves it out. Hidden files are left out.

    Endpoint states and usage are added to the known storage endpoints. An endpoint without a state in these files is
    up; without usage, it has no space. --replace removes the other records of every kind that has a file.

    If some records are invalid, the command reports them by name, imports the others, and exits with 80. If a value is
    not valid, for example corecount eight, and is read as another one, the exit code is 117; --lenient accepts it.

    A record has file, kind, form (the published form), records, added, removed, refused, softened and left_out (for
    example disabled sites).
    """
    from fairq.errors.broker import RecordsRefusedError
    from fairq.steps.broker.imports import import_bundle, more, soften

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now))
    bundle = import_bundle(invocation.state_path, source, actor, replace=replace, dry_run=check, lenient=lenient)
    refused = bundle.texts("refused")
    print_remarks(invocation, refused[1:], bundle.texts("remarks"))
    for name in bundle.unknown:
        invocation.note(f"{name}: left out, it cannot be identified")
    emit(_view(bundle, check), output)
    if check:
        invocation.note("dry run: nothing was changed")
    if refused:
        fate = f"{counted(bundle.number, 'other record')} {'would be taken' if check else 'taken'}"
        raise RecordsRefusedError(source=source, refused=refused[0], others=more(refused), fate=fate)
    if not lenient:
        soften(bundle.texts("softened"), source, dry_run=check)


def _view(bundle: Bundle, check: bool) -> View:
    columns = [
        Column("File", "file"),
        Column("Kind", "kind", level=1),
        Column("Read as", "form", level=2),
        Column("Records", "records"),
        Column("New", "added", level=3),
        Column("Removed", "removed", level=4),
        Column("Refused", "refused"),
        Column("Softened", "softened", level=5),
        Column("Left out", "left_out", level=6),
    ]
    records = [_record(part) for part in bundle.parts]
    count = f"{counted(bundle.number, 'record')} of {counted(len(records), 'file')}"
    text = f"Dry run: {count} would be imported" if check else f"{count} imported"
    return View(tables=[Table(columns, records, key="files")], document={"unknown": bundle.unknown}, text=text)


def _record(records: FileRecords) -> dict[str, Any]:
    return {
        "file": records.source,
        "kind": records.kind.name,
        "form": records.form.name if records.form else "",
        "records": records.number,
        "added": records.added,
        "removed": records.removed,
        "refused": len(records.refused),
        "softened": len(records.softened),
        "left_out": records.left_out,
    }
