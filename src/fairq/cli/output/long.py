"""Complete ads, attribute by attribute, with a blank line after each."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.common.records import Ad


def long_texts(ads: Iterable[Ad]) -> Iterator[str]:
    """Yield the text of each of *ads*, its attributes in the order of their names."""
    from fairq.formats.long_form import write

    for ad in ads:
        stream = io.StringIO()
        write([dict(sorted(ad.items(), key=lambda item: item[0].lower()))], stream, _name)
        yield stream.getvalue()


def _name(ad: Ad) -> str:
    return str(ad.get("Name", "the ad"))
