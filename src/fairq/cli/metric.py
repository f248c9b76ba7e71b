"""The form of a metric."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Metric(Struct, frozen=True):
    """One metric: name, type, help, label names, and for each sample its label values and its value.

    The name of a histogram's sample ends in *suffixes* of the same place, and its buckets have one more label, ``le``.
    """

    name: str
    kind: str
    help: str
    labels: Sequence[str]
    samples: Sequence[tuple[Sequence[str], float]]
    suffixes: Sequence[str] = ()
