"""Read a configuration for ``quotas``: settings in TOML, or HTCondor's own configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.settings.collect import Collection, Report, parse_document, raise_first
from fairq.settings.model import settle
from fairq.steps.config import add_sets, configuration, translated

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.settings.htcondor.reader import NotTaken

_TABLE = re.compile(r"""^\s*\[\s*[\w"'.<> -]+\]\s*(#.*)?$""", re.MULTILINE)


class Source(Struct, frozen=True):
    """The *settings* of a configuration, and the parts of HTCondor's configuration that they do not contain.

    *is_htcondor*: it is HTCondor's, so messages name its settings by their macros.
    """

    settings: Settings
    not_taken: Sequence[NotTaken] = ()
    is_htcondor: bool = False


def read_settings(name: str, environ: Mapping[str, str], sets: Sequence[str] = ()) -> Settings:
    """Return the settings of the configuration in the file *name*, overridden by *sets* (``KEY=VALUE``).

    Raises the first error found.
    """
    return read_source(name, environ, sets=sets).settings


def read_source(
    name: str, environ: Mapping[str, str], report: Report = raise_first, sets: Sequence[str] = ()
) -> Source:
    """Read the file *name* (``-``: stdin) as TOML if it has a table, else as HTCondor's configuration.

    *report* is called with the errors of single settings; if it returns, reading continues without these settings.
    Raises the errors of settings for a file in neither format. *environ* is for ``$ENV(NAME)``.
    """
    text = configuration(name)
    collection = Collection(report)
    file = Path("stdin" if name == "-" else name)
    if not (file.suffix == ".toml" or _TABLE.search(text)):
        imported = translated([(name, text)], environ)
        collection.add_document(imported.document, file)
        add_sets(collection, sets)
        return Source(settle(collection), imported.not_taken, is_htcondor=True)
    collection.add_document(parse_document(text, file), file)
    add_sets(collection, sets)
    collection.check_parents()
    return Source(settle(collection))
