"""The lines of ``scontrol --oneliner show``: names and values.

Source: scontrol(1).
"""

from __future__ import annotations

import re

_FIELD = re.compile(r"(?:^|\s)([A-Z][\w/:]*)=")


def fields(line: str) -> dict[str, str]:
    """Return the fields of a line, without those that have no value; a value with blanks goes on to the next name."""
    found = list(_FIELD.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    values = {match[1]: line[match.end() : end].strip() for match, end in zip(found, ends, strict=True)}
    return {name: value for name, value in values.items() if value not in ("(null)", "N/A")}
