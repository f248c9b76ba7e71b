"""Rejections read as they were made, packed or not."""

from __future__ import annotations

from collections import Counter

from fairq.packed_rejections import packed, reasons, unpacked

ONE = {"job": "7.0", "submitter": "b@x", "reason": "submitter limit exceeded", "group": "g", "quota_group": "g"}


def test_packed_rejections_are_unpacked_in_their_order() -> None:
    entry = packed("a@x", "<none>", None, [1, 0, 2, 5, 3, 0], ("no match found", "policy"), "010")
    shared = {"submitter": "a@x", "group": "<none>", "quota_group": None}
    assert unpacked([entry, ONE]) == [
        {"job": "1.0", "reason": "no match found", **shared},
        {"job": "2.5", "reason": "policy", **shared},
        {"job": "3.0", "reason": "no match found", **shared},
        ONE,
    ]


def test_reasons_are_counted_without_unpacking() -> None:
    entry = packed("a@x", "<none>", None, [1, 0, 2, 5, 3, 0], ("no match found", "policy"), "010")
    assert reasons([entry, ONE]) == Counter({"no match found": 2, "policy": 1, "submitter limit exceeded": 1})
    assert reasons([packed("a@x", "g", None, [1, 0], ("no match found", "policy"), "0")]) == {"no match found": 1}
