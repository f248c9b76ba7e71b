"""Generates docs/differences.md: differences between documents and programs, from the table of rule points."""

from __future__ import annotations

from collections.abc import Iterator

from fairq.cli.manual.settings_page import shown_default
from fairq.settings.key import DIRAC, HTCONDOR, PANDA, Key, Scheme
from fairq.settings.keys import KEYS

SCHEMES = ((HTCONDOR, "HTCondor"), (DIRAC, "DIRAC"), (PANDA, "PanDA"))

HEAD = """\
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
    parts = [HEAD]
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
