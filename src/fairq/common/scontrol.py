"""The lines of ``scontrol --oneliner show``: names and values.

Source: scontrol(1).
"""

from __future__ import annotations

import re

_FIELD = re.compile(r"(?:^|\s)([A-Z][\w/:]*)=")


def fields(line: str) -> dict[str, str]:
    """Return the fields of a line that have values; a value may contain blanks and extends to the next name."""
    names = list(_FIELD.finditer(line))
    ends = [match.start() for match in names[1:]] + [len(line)]
    values = {match[1]: line[match.end() : end].strip() for match, end in zip(names, ends, strict=True)}
    return {name: value for name, value in values.items() if value not in ("(null)", "N/A")}
