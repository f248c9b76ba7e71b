"""The table of published forms, and the choice of the form of a document."""

from __future__ import annotations

from typing import Any

from fairq.brokerdata.column import Kind
from fairq.brokerdata.machines import SOFTWARE
from fairq.formats.published.form import Form, entries_of, first_of, is_named
from fairq.formats.published.network import CRIC_MATRIX, METRICS_1, METRICS_2
from fairq.formats.published.places import CRIC_QUEUES, CRIC_SITES
from fairq.formats.published.storage import CRIC_ENDPOINTS, CRIC_STATES, RUCIO_USAGE


def _is_software(document: Any) -> bool:
    return is_named(document) and len({"cmtconfigs", "containers", "cvmfs", "tags"} & first_of(document).keys()) > 1


CRIC_SOFTWARE = Form("software of CRIC", SOFTWARE, _is_software, entries_of)

FORMS = (
    CRIC_QUEUES, CRIC_SITES, CRIC_ENDPOINTS, CRIC_STATES, RUCIO_USAGE, CRIC_MATRIX, METRICS_1, METRICS_2, CRIC_SOFTWARE
)  # fmt: skip


def form_of(document: Any, kind: Kind | None = None) -> Form | None:
    """Return the published form of a JSON document, among the forms with records of *kind* (None: any kind)."""
    return next((form for form in FORMS if kind in (None, form.kind) and form.fits(document)), None)
