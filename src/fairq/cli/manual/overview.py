"""fairq(1): the commands, the formats of the output, the exit codes, the environment and the files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairq.cli.app import CLOSED_PIPE
from fairq.cli.manual.roff import bold, examples, header, italic, listed, options, page, paragraphs, section, text
from fairq.cli.manual.walk import Documented, global_options
from fairq.errors import base, broker, pool, shares
from fairq.errors.base import FairqError
from fairq.interrupts import INTERRUPTED

DESCRIPTION = (
    "fairq decides whose jobs run next on shared machines. It takes HTCondor's rules for it: real and effective "
    "user priorities that decay with time, priority factors, ceilings and floors, and the negotiation cycle "
    "that deals the slots of a pool out. fairq taskqueues takes DIRAC's rules instead, by which pilots pull the "
    "work of groups with shares, and fairq broker those of PanDA, by which tasks are brokered among sites. All "
    "that they know is kept in one state file; nothing runs between the commands.",
    "A command reads one consistent snapshot of the state, decides, and stores what it decided in one "
    "transaction: killed at any moment, it leaves the state as before or as after. Cron runs fairq negotiate "
    "every minute or so.",
    "Data goes to stdout and everything else to stderr. A terminal gets a drawn table, a pipe the same table as "
    "aligned plain text, complete and unwrapped. No format lets a control character of the data through, nor an "
    "invisible one or one that changes the direction of writing: a job's name cannot steer a terminal. Tables and "
    "messages spell such a character as \\n, \\x1b or \\u202e; a message quotes at most 200 characters of one value.",
)

OUTPUT = (
    ("--json", "One document. Numbers have full precision; infinity and not-a-number, which JSON does not have, are "
     'the strings "Infinity", "-Infinity" and "NaN"; what is not known is null or left out. An expression is '
     'the string "/Expr(...)/", as in HTCondor\'s own JSON. Control characters are written as \\u001b.'),
    ("--ndjson", "The records alone, one JSON object per line."),
    ("--csv", "The columns of the table under their attributes' names, unrounded, quoted as RFC 4180 says. "
     "A newline or tab stays inside the quotes. Another control character becomes the text \\x1b, \\r or \\u202e. A "
     "backslash stays single, so only JSON and TSV give every value back exactly."),
    ("--tsv", "The same, between tabs; a tab, newline, carriage return or backslash in a value is written "
     "\\t, \\n, \\r or \\\\, other control characters \\x1b or \\u202e."),
    ("--af[:jlhVr,tng]", "HTCondor's autoformat. The words up to the next option are attributes or ClassAd "
     "expressions over a record; their values stand on one line, a space between them, undefined for what is "
     "missing. j puts the job's id first, l labels as Attr = value, h adds headings, V quotes strings, r leaves "
     "expressions as they are, a comma or t separates by it, n puts each value on its own line, g a blank line "
     "before each record."),
    ("--constraint", "A ClassAd expression over a record; only records for which it is true are shown."),
)  # fmt: skip

REPORTING = (
    "What is stored is never reported as failed. A command writes its report to stdout after its change is stored. If "
    "the report cannot be written then, for example to a full disk, the code is 73: the change is done, but not shown. "
    "If the reader of stdout went away, or stdout is closed, nothing is said and the code is 0: the change is done.",
    "A command that only shows something ends with 72 if stdout cannot be written, and with 141 if its reader went "
    "away. A message that cannot be written to stderr is lost; it changes no exit code.",
    "With every other code but 0 and 80, a command that changes something has changed nothing.",
)

VARIABLES = (
    ("FAIRQ_STATE", "The state file, if --state does not say."),
    ("FAIRQ_CONFIG", "The settings file, read alone, if --config does not say."),
    ("FAIRQ_SECTION_KEY", "One setting, as FAIRQ_NEGOTIATOR_RULES; it wins over all files. See fairq.toml(5)."),
    ("FAIRQ_DEBUG", "If not empty, errors show where in the program they came from."),
    ("NO_COLOR", "If not empty, no colour."),
    ("FORCE_COLOR", "If not empty, a pipe too gets the terminal's table, in colour."),
    ("COLUMNS", "The width of the terminal."),
    ("TERM", "dumb stands for a terminal that gets plain text."),
    ("XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_CONFIG_DIRS", "Where the files below are."),
)

FILES = (
    ("~/.local/state/fairq/state.db", "The state, if neither --state nor FAIRQ_STATE names another file. It is one "
     "SQLite database; with -journal it shows a write under way. It is created by the first command that writes."),
    ("STATE.toml", "The settings that belong to the state file STATE, if that was named."),
    ("STATE.cycle", "The lock by which one negotiation cycle keeps others out. It is empty and may stay."),
    ("STATE.broker", "The same for a brokerage run."),
    ("STATE.schemaN", "A copy of the state, made before a newer fairq upgraded it from schema N."),
    (".fairq-NUMBER.draft", "A directory that holds a file while it is written. If the command was killed, the next "
     "one that writes a file beside it removes it."),
    ("~/.config/fairq/fairq.toml", "The user's settings."),
    ("/etc/xdg/fairq/fairq.toml", "The site's settings."),
)  # fmt: skip

EXAMPLES = (
    "fairq slots detect                   # this machine is the pool",
    "fairq submit job.sub                 # queue jobs as with condor_submit",
    "fairq negotiate                      # match them with slots",
    "fairq queue                          # see what runs and what waits",
    "fairq userprio --allusers            # see who used how much",
    "* * * * * fairq -q negotiate         # for crontab",
)


def overview_page(commands: list[Documented]) -> str:
    """Return fairq(1)."""
    names = [(f"\\fBfairq\\-{text(one.name)}\\fR(1)", [one.summary]) for one in commands]
    others = [f"\\fBfairq\\-{text(one.name)}\\fR(1)" for one in commands]
    return page(
        header("fairq", 1),
        section("NAME", [text("fairq - fair share for shared computers")]),
        section("SYNOPSIS", [f"{bold('fairq')} [{italic('OPTION')}]... {italic('COMMAND')} [{italic('ARGUMENT')}]..."]),
        section("DESCRIPTION", paragraphs(DESCRIPTION)),
        section("COMMANDS", listed(names)),
        section("COMMON OPTIONS", [*paragraphs(["These stand before or behind the name of the command."]),
                                   *options(global_options())]),
        section("OUTPUT", listed((bold(name), [meaning]) for name, meaning in OUTPUT)),
        section("TIMES", paragraphs([
            "A time is given as seconds since 1970 or as ISO 8601, such as 2026-11-20T14:00 (local time) or "
            "2026-11-20T14:00Z. --now TIME takes the place of the clock everywhere."])),
        section("EXIT STATUS", [*paragraphs(REPORTING),
                                *listed((bold(str(code)), [meaning]) for code, meaning in exit_codes())]),
        section("ENVIRONMENT", listed((bold(name), [meaning]) for name, meaning in VARIABLES)),
        section("FILES", listed((italic(name), [meaning]) for name, meaning in FILES)),
        section("EXAMPLES", examples(EXAMPLES)),
        section("SEE ALSO", [", ".join([*others, "\\fBfairq.toml\\fR(5)"])]),
    )  # fmt: skip


def error_classes() -> set[type[FairqError]]:
    """Return every error class."""
    return {
        one
        for module in (base, pool, shares, broker)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, FairqError)
    }


def exit_codes() -> Iterator[tuple[int, str]]:
    """Yield each exit code and its meaning: those of the error classes from their templates."""
    yield 0, "All went well."
    yield 1, "Something went wrong that has no number of its own; the message tells."
    yield 2, "Wrong use of the command line."
    classes = {one.exit_code: one for one in error_classes() if one.exit_code > 2}
    for code in sorted(classes):
        yield code, f"{classes[code].__name__}: {_readable(classes[code].__doc__ or '')}"
    yield INTERRUPTED, "Interrupted from the keyboard."
    yield CLOSED_PIPE, "The reader of the output went away, as in fairq queue | head -1; no change was to be stored."


def _readable(template: str) -> str:
    """Return a message template as a sentence, its fields in capitals."""
    message = re.sub(r"\{(\w+)[^}]*\}", lambda found: found.group(1).upper(), " ".join(template.split()))
    return message + "."
