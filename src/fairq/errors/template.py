"""Fill the templates of messages; loaded only when an error is raised."""

from __future__ import annotations

import string
from typing import Any

from fairq.common.excerpt import shortened, shortened_sentence


class _Sentence(str):
    """A text that is one of fairq's own sentences, with values in it."""

    __slots__ = ()


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec)
        return text if isinstance(value, _Sentence) else shortened(text)


def filled(template: str, fields: dict[str, Any], sentences: frozenset[str]) -> str:
    """Return *template* filled from *fields* as ``str.format`` does, with every value shortened.

    The fields named in *sentences* contain sentences: in these, only the quoted values are shortened.
    """
    values = {
        name: _Sentence(shortened_sentence(str(value))) if name in sentences else value
        for name, value in fields.items()
    }
    return _Formatter().vformat(template, (), values)
