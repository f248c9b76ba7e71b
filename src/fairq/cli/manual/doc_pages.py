"""Generates pages of docs: submit.md from the table of submit commands, differences.md from the rule points."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from fairq.cli.manual.settings_page import shown_default
from fairq.settings.key import DIRAC, HTCONDOR, PANDA, Key, Scheme
from fairq.settings.keys import KEYS
from fairq.steps.jobs.submit import TABLE, Command, Standing

_SUBMIT_HEAD = """\
# Submit commands

Written by `python -m fairq.cli.manual`; do not edit.

`fairq submit` reads the submit descriptions of condor_submit. This page lists all submit commands of HTCondor's manual
and of its program, and what becomes of each:

- **honoured**: it does what HTCondor's manual says.
- **without effect**: `fairq submit` takes it and does not do it. One note names all such commands of a description,
  except those that ask for what happens in any case, such as `should_transfer_files = NO`. Most of them set an
  attribute of the job, which expressions can read.
- **refused**: without it, another job would run than the one asked for. Nothing is queued (exit code 32).

The universes are vanilla, docker and container; all others need a daemon of HTCondor and are refused. fairq starts no
containers: it matches a job in a container with a slot that has HasContainer or HasDocker. If such a slot has a
launcher, the job is held, because its program would run outside of its container.

`$(YEAR)`, `$(MONTH)`, `$(DAY)` and `$(SUBMIT_TIME)` are the local time of the submission, or that of `--now`;
`$(MINUTE)` and `$(HOUR)` are 60 and 3600, as in HTCondor's configuration. A block `NAME @=TAG`, with its end `@TAG` on
a line of its own, is a value of several lines. A variable of a queue statement with the name of a command is that
command, as in `queue arguments from list`. `+Attribute = value` sets an attribute.

`output` and `error` go to the directory `output_directory`, which is made if it is missing. When the job has ended, the
files that `transfer_output_files` names are moved there; others stay where the job writes them. HTCondor moves the
whole sandbox of a job, and fairq's jobs have none.

`x509userproxy` must be there at submit, and the job gets its name in X509_USER_PROXY. fairq does not read, copy or
renew the proxy.

A name below that ends with `_` stands for all that begin so, such as `request_` for `request_licences`, and one that
begins with `_` for all that contain it, such as `_oauth_permissions` for `box_oauth_permissions_work`. Attributes of
jobs are commands, too: `RequestCpus` is `request_cpus`.
"""

_TITLES = {
    Standing.HONOURED: "Honoured",
    Standing.NO_EFFECT: "Without effect",
    Standing.REFUSED: "Refused",
}
_REASON_HEADINGS = {
    Standing.HONOURED: "what it is about",
    Standing.NO_EFFECT: "why",
    Standing.REFUSED: "what would happen without it",
}


def submit_page() -> str:
    """Return docs/submit.md."""
    return _SUBMIT_HEAD + "".join("\n" + "\n".join(_part(standing)) + "\n" for standing in Standing)


def _part(standing: Standing) -> Iterator[str]:
    yield f"## {_TITLES[standing]}\n"
    yield f"| {_REASON_HEADINGS[standing]} | commands (other names) |"
    yield "| --- | --- |"
    for why, commands in groupby((command for command in TABLE if command.standing is standing), attrgetter("why")):
        yield f"| {why} | {', '.join(map(_shown, commands))} |"


def _shown(command: Command) -> str:
    others = ", ".join(f"`{name}`" for name in command.others)
    return f"`{command.name}`" + (f" ({others})" if others else "")


SCHEMES = ((HTCONDOR, "HTCondor"), (DIRAC, "DIRAC"), (PANDA, "PanDA"))

_DIFFERENCES_HEAD = """\
# Where texts and programs differ

Written by `python -m fairq.cli.manual`; do not edit.

fairq implements what HTCondor's manuals, DIRAC's priority schema and PanDA's brokerage page say, and also what the real
programs do. At each point below the two differ. One setting per scheme chooses for all of its points: `documented`
follows the texts, the other value follows the program. Each point is also a setting of its own, which
overrides the rules. `fairq config show --differences` shows the values in use. [conformance.md](conformance.md) lists
the tests per sentence.
"""


def differences_page() -> str:
    """Return docs/differences.md."""
    parts = [_DIFFERENCES_HEAD]
    for scheme, title in SCHEMES:
        points = [key for key in KEYS if key.point and key.scheme == scheme]
        parts.append(f"## {title}\n\n`{scheme.rules}` decides {len(points)} points: `documented` or `{scheme.real}`.\n")
        parts += ["\n".join(_point(key, scheme)) + "\n" for key in points]
    return "\n".join(parts)


def _point(key: Key, scheme: Scheme) -> Iterator[str]:
    yield f"### {key.full_name}\n"
    yield f"{key.help}\n"
    if key.difference is not None:
        text, source, program, function = key.difference
        yield f"- Text: {text} ({source})"
        yield f"- Program: {program} (`{function}`)"
    documented, real = (shown_default(key, value) for value in (key.default, key.real))
    yield f"- Value: `{documented}` with `documented`, `{real}` with `{scheme.real}`"
