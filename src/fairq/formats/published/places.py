"""CRIC's queues and sites (``pandaqueue/query``, ``site/query``)."""

from __future__ import annotations

from typing import Any

from fairq.brokerdata.places import QUEUES, SITES
from fairq.formats.published.form import Entries, Form, LeftOut, entries_of, first_of, is_named, is_plain
from fairq.formats.table import NAME

_QUEUE = frozenset({"nickname", "panda_resource", "atlas_site", "astorages"})
"""Fields that only queues have in CRIC; two of them identify a queue."""

_NUCLEUS = "Nucleus"
"""The data policy of a site that makes it a nucleus (PanDA Configurator.get_site_info)."""


def is_queue(fields: Any) -> bool:
    """Return whether an object is a queue of CRIC."""
    return isinstance(fields, dict) and len(_QUEUE & {name.lower() for name in fields}) > 1


def _are_queues(document: Any) -> bool:
    return is_queue(document) or is_queue(first_of(document))


def _queues(document: Any) -> Entries:
    return iter([("record 1", document)]) if is_queue(document) else entries_of(document)


def _are_sites(document: Any) -> bool:
    return is_named(document) and {"datapolicies", "state"} <= first_of(document).keys()


def _sites(document: Any) -> Entries:
    for where, entry in entries_of(document):
        if not is_plain(entry):
            yield where, entry
        elif entry.get("state", "ACTIVE") != "ACTIVE":
            yield where, LeftOut(f"the site is {entry['state']}")
        else:
            policies = entry.get("datapolicies")
            is_nucleus = isinstance(policies, (list, str)) and _NUCLEUS in policies
            yield where, {"name": entry.get(NAME), "role": "nucleus" if is_nucleus else "satellite"}


CRIC_QUEUES = Form("queues of CRIC", QUEUES, _are_queues, _queues)
CRIC_SITES = Form("sites of CRIC", SITES, _are_sites, _sites)
