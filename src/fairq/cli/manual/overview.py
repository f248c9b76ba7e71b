"""fairq(1): the commands, terms, output formats, exit codes, environment and files."""

from __future__ import annotations

from collections.abc import Iterator

from fairq.cli.app import CLOSED_PIPE
from fairq.cli.manual.roff import bold, examples, header, italic, listed, options, page, paragraphs, section, text
from fairq.cli.manual.walk import Documented, global_options
from fairq.common.interrupts import INTERRUPTED
from fairq.errors.codes import error_classes

DESCRIPTION = (
    "fairq decides whose jobs run next on shared machines. It implements three schemes. The negotiation cycle of "
    "HTCondor matches jobs with slots by the priorities and quotas of their submitters (fairq negotiate). The task "
    "queues of DIRAC hand jobs to pilots by the shares of groups (fairq taskqueues). The brokerage of PanDA assigns "
    "tasks to queues at many sites (fairq broker).",
    "All data is in one state file. There is no daemon: cron runs fairq negotiate about once a minute, or fairq run "
    "stays in the foreground. Each command reads a consistent snapshot of the state and stores its changes in one "
    "transaction. If a command is killed, the state has all of its changes or none.",
    "fairq starts the matched jobs as processes of this machine if the slots have a launcher (see launch.kind in "
    "fairq.toml(5)). Otherwise it only records the matches, and fairq finish records the ends.",
    "Data goes to stdout, all other messages to stderr. On a terminal that is too narrow for a table, its columns "
    "shorten: a time loses its year, a name its middle, and text continues on the next line. Then columns are left "
    "out, always in the same order; a line below the table names them. In a pipe, tables are complete and not wrapped.",
    "Control characters, invisible characters and characters that change the direction of writing never reach the "
    "terminal. Tables and messages show them as \\n, \\x1b or \\u202e. A message quotes at most 200 characters of a "
    "value.",
)

TERMS = (
    ("pie", "The total weight of the slots that a cycle divides among the submitters. With accounting groups, each "
     "group has a pie of its own. The weight of a slot is its SlotWeight, else negotiator.slot_weight, "
     "by default its number of cores."),
    ("slice", "The part of the pie that a submitter is entitled to, also called its share. Slices are inversely "
     "proportional to the effective priorities: a submitter with half the priority value has twice the slice."),
    ("spin", "One pass over all submitters, the best priority first. In its turn, a submitter may take slots up to its "
     "limit. If a part of the pie is left and jobs still wait, the cycle divides it again in another spin."),
    ("autocluster", "Idle jobs of one submitter that are equal in every attribute that matters for matching. The "
     "cycle tests one of them against the slots; the result holds for all."),
    ("carve", "To cut a dynamic slot with the cores, memory, disk and GPUs that a job requests out of a partitionable "
     "slot. When the job ends, the dynamic slot is merged back."),
    ("launcher", "What starts the jobs of a slot and reports their ends. The launcher local starts them as processes "
     "of this machine; plugins can add others."),
    ("rules", "Where the manuals of a scheme and the real program differ, the rules documented follow the manuals. The "
     "rules htcondor, dirac and panda follow the program."),
)  # fmt: skip

OUTPUT = (
    ("--json", "One JSON document. Numbers have full precision. Infinity and not-a-number, which JSON lacks, are "
     'the strings "Infinity", "-Infinity" and "NaN". Unknown values are null or left out. An expression is '
     'the string "/Expr(...)/", as in HTCondor\'s JSON. Control characters are escaped: \\u001b.'),
    ("--ndjson", "Only the records, one JSON object per line."),
    ("--csv", "Comma-separated values, quoted as in RFC 4180. The headings are the attribute names; numbers are "
     "not rounded. Newlines and tabs stay inside the quotes. Other control characters become \\x1b, \\r or \\u202e. "
     "Backslashes are not escaped; use JSON or TSV to get every value back exactly."),
    ("--tsv", "Tab-separated values with the same columns. In a value, tab, newline, carriage return and backslash are "
     "written as \\t, \\n, \\r and \\\\, other control characters as \\x1b or \\u202e."),
    ("--af[:jlhVr,tng]", "HTCondor's autoformat. The words up to the next option are attributes or ClassAd "
     "expressions. Each record is one line with their values, separated by spaces; a missing value is undefined. "
     "j prints the job id first, l labels values as Attr = value, h adds headings, V quotes strings, r prints "
     "expressions unevaluated. A comma or t separates values by comma or tab, n by newline. g prints a blank line "
     "before each record."),
    ("--constraint", "Show only records for which this ClassAd expression is true."),
)  # fmt: skip

REPORTING = (
    "A command stores its change first and then writes its report to stdout. If the report cannot be written, for "
    "example because the disk is full, the exit code is 73: the change is stored, but not shown. If the reader of "
    "stdout has gone, or stdout is closed, the command prints no message and exits with 0.",
    "A command that only shows data exits with 72 if it cannot write to stdout, and with 141 if the reader has gone. "
    "A failure to write to stderr does not change the exit code.",
    "If a command exits with any code other than 0, 73, 80 and 117, it has changed nothing. The exceptions are "
    "fairq run and fairq wait: what they stored before remains.",
)

COMMON = (
    "Give these before or after the name of the command.",
    "Every option also works with one dash, and may be abbreviated then: -constraint, -const. queue, history, "
    "userprio, slots, status, submit, remove, hold, release, prio, tail and wait also know the options of condor_q, "
    "condor_history and so on; one that fairq does not have names what to use.",
)

VARIABLES = (
    ("FAIRQ_STATE", "State file; --state overrides it."),
    ("FAIRQ_CONFIG", "The only settings file to use; --config overrides it."),
    ("FAIRQ_SECTION_KEY", "Value of one setting, for example FAIRQ_NEGOTIATOR_RULES. It overrides all files. See "
     "fairq.toml(5)."),
    ("FAIRQ_DEBUG", "If not empty, print a traceback with each error."),
    ("NO_COLOR", "If not empty, print no colours."),
    ("FORCE_COLOR", "If not empty, print the terminal's table in colour in a pipe as well."),
    ("COLUMNS", "Width of the terminal."),
    ("TERM", "If dumb, print plain text."),
    ("XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_CONFIG_DIRS", "Directories of the files below."),
)  # fmt: skip

FILES = (
    ("~/.local/state/fairq/state.db", "The default state file, an SQLite database. The first command that writes "
     "creates it. During a write, a file with the suffix -journal is beside it; do not remove it."),
    ("STATE.toml", "Settings of the state file STATE, used if --state or FAIRQ_STATE names STATE."),
    ("STATE.cycle", "Lock of the negotiation cycle. It is empty; leave it there."),
    ("STATE.errors", "Numbers of failed cycles by kind of error, and the last error."),
    ("STATE.troubles", "What fairq pool check --mail has reported, and the way to mail."),
    ("STATE.broker", "Lock of the brokerage run. It is empty; leave it there."),
    ("STATE.runs", "Directories of the jobs that fairq started: their end, and the output of jobs without an output "
     "file. launch.keep_history says how long they are kept."),
    ("STATE.schemaN", "Copy of the state file, made before a newer fairq upgraded it from schema N."),
    (".fairq-NUMBER.draft", "Temporary directory for a file that is being written. If a command was killed, the next "
     "command that writes to the same place removes its directory."),
    ("~/.config/fairq/fairq.toml", "Settings of the user."),
    ("/etc/xdg/fairq/fairq.toml", "Settings of the site."),
    ("share/doc/fairq", "Below the directory of the installation, for example .venv: the README, and docs/ with the "
     "documents that these pages name."),
)  # fmt: skip

EXAMPLES = (
    "fairq slots detect --add             # add this machine to the pool",
    "fairq submit job.sub                 # queue jobs, as with condor_submit",
    "fairq negotiate                      # match jobs with slots",
    "fairq queue                          # show the jobs",
    "fairq userprio --allusers            # show priorities and usage",
    "* * * * * fairq -q negotiate         # in a crontab",
)


QUANTITIES = (
    ("Time", "2026-11-20T14:00 is local time, 2026-11-20T14:00Z is UTC. 10:30 is today; yesterday, today and tomorrow "
        "are the beginning of that day; yesterday 10:30 is possible as well. -1h, +30m and now+2hours are relative to "
        "now. A number is seconds since 1970. --now TIME replaces the clock in every command that has it."),
    ("Duration", "90 or 90s, 15m, 12h, 7d, 2w, or several: 1h30m; 2 days; 01:30:00 or 1-12:00:00. A bare number is "
        "seconds. Settings in seconds take durations as well."),
    ("Size", "512M, 32GB, 1.5GiB. K, M, G and T are powers of 1024, with or without B or iB. The unit of a bare number "
        "is that of the option."),
)  # fmt: skip
"""How values are written, for all options and settings."""


def overview_page(commands: list[Documented]) -> str:
    """Return fairq(1)."""
    names = [(f"\\fBfairq\\-{text(command.name)}\\fR(1)", [command.summary]) for command in commands]
    others = [f"\\fBfairq\\-{text(command.name)}\\fR(1)" for command in commands]
    return page(
        header("fairq", 1),
        section("NAME", [text("fairq - fair share for shared computers")]),
        section("SYNOPSIS", [f"{bold('fairq')} [{italic('OPTION')}]... {italic('COMMAND')} [{italic('ARGUMENT')}]..."]),
        section("DESCRIPTION", paragraphs(DESCRIPTION)),
        section("COMMANDS", listed(names)),
        section("COMMON OPTIONS", [*paragraphs(COMMON), *options(global_options())]),
        section("TERMS", listed((bold(name), [meaning]) for name, meaning in TERMS)),
        section("OUTPUT", listed((bold(name), [meaning]) for name, meaning in OUTPUT)),
        section("TIMES, DURATIONS AND SIZES", listed((bold(name), [meaning]) for name, meaning in QUANTITIES)),
        section("EXIT STATUS", [*paragraphs(REPORTING),
                                *listed((bold(str(code)), [meaning]) for code, meaning in exit_codes())]),
        section("ENVIRONMENT", listed((bold(name), [meaning]) for name, meaning in VARIABLES)),
        section("FILES", listed((italic(name), [meaning]) for name, meaning in FILES)),
        section("EXAMPLES", examples(EXAMPLES)),
        section("CRON AND SYSTEMD", _schedule()),
        section("SEE ALSO", [", ".join([*others, "\\fBfairq.toml\\fR(5)"])]),
    )  # fmt: skip


def _schedule() -> Iterator[str]:
    """Yield the texts to paste, each after its description."""
    for number, (description, lines) in enumerate(TEXTS):
        if number:
            yield ".PP"
        yield from paragraphs([description])
        yield from examples(lines)


def exit_codes() -> Iterator[tuple[int, str]]:
    """Yield each exit code and its meaning; for error classes, their summaries."""
    yield 0, "Success."
    yield 1, "An error without a code of its own; the message explains it."
    yield 2, "Wrong use of the command line."
    classes = {error.exit_code: error for error in error_classes() if error.exit_code > 2}
    for code in sorted(classes):
        yield code, f"{classes[code].summary} ({classes[code].__name__})."
    yield INTERRUPTED, "Interrupted from the keyboard."
    yield CLOSED_PIPE, "The reader of the output has gone, as in fairq queue | head -1."


CRON = (
    "FAIRQ_STATE=/var/lib/fairq/pool.db",
    "PATH=/opt/fairq/bin:/usr/bin:/bin",
    "* * * * *    fairq -q negotiate",
    "*/5 * * * *  fairq -q pool check --mail",
    "* * * * * fairq metrics --out /var/lib/prometheus/node-exporter/fairq.prom",
)

SERVICE = """\
[Unit]
Description=One cycle of the fairq pool
Documentation=man:fairq(1)

[Service]
Type=oneshot
User=fairq
StateDirectory=fairq
Environment=FAIRQ_STATE=/var/lib/fairq/pool.db
ExecStart=/opt/fairq/bin/fairq -q negotiate
SuccessExitStatus=75
# Jobs and their supervisors outlive the cycle that started them.
KillMode=process
Delegate=yes
"""

TIMER = """\
[Unit]
Description=A cycle of the fairq pool every minute

[Timer]
OnCalendar=*:0/1
AccuracySec=5s

[Install]
WantedBy=timers.target
"""

LOGROTATE = """\
/var/log/fairq/*.log {
    monthly
    rotate 12
    compress
    missingok
    notifempty
    copytruncate
}
"""

TEXTS = (
    ("Lines for crontab(5). They print nothing on success. 'pool check' mails each fault once, by mail.command:",
     CRON),
    ("/etc/systemd/system/fairq.service, which runs a cycle:", SERVICE.splitlines()),
    ("/etc/systemd/system/fairq.timer, to enable with 'systemctl enable --now fairq.timer':",
     TIMER.splitlines()),
    ("/etc/logrotate.d/fairq, for event logs of jobs in one directory:", LOGROTATE.splitlines()),
)  # fmt: skip
"""The description of each text, and its lines."""
