"""Reading a configuration for ``quotas``: settings in TOML, or HTCondor's own configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairq.errors.base import FairqError
from fairq.settings.collect import Collection, Report, parse_document
from fairq.settings.model import settle
from fairq.steps.config import add_sets, configuration, translated

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.settings.htcondor.reader import NotTaken

_TABLE = re.compile(r"""^\s*\[\s*[\w"'.<> -]+\]\s*(#.*)?$""", re.MULTILINE)


class Source(NamedTuple):
    """The *settings* of a configuration, and what of HTCondor's configuration they do not hold.

    *is_htcondor*: it is HTCondor's, so that people know its settings by their macros.
    """

    settings: Settings
    not_taken: Sequence[NotTaken] = ()
    is_htcondor: bool = False


def read_settings(name: str, environ: Mapping[str, str], sets: Sequence[str] = ()) -> Settings:
    """Return the settings of the configuration in the file *name*, with *sets* (``KEY=VALUE``) over them.

    Raises the first thing that is wrong.
    """
    return read_source(name, environ, _raise, sets).settings


def read_source(name: str, environ: Mapping[str, str], report: Report, sets: Sequence[str] = ()) -> Source:
    """Read the file *name* (``-``: stdin), which is TOML if it has a table, else HTCondor's configuration.

    What is wrong with single settings goes to *report*; if that returns, reading goes on without them. Raises
    the errors of settings for a file that is neither. *environ* is for ``$ENV(NAME)``.
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


def _raise(error: FairqError) -> None:
    raise error
