"""The charges that many claims stand for."""

from __future__ import annotations

from itertools import compress

from fairq.claim_table import ClaimTable
from fairq.engine.accounting.accountant import SlotCharge, SlotKey


def charges_in(claims: ClaimTable) -> dict[SlotKey, SlotCharge]:
    """Return the charges that stored *claims* stand for, as `charges_of`; claims that are alike share one."""
    each = [SlotCharge(one.submitter, one.slot_weight, one.start_time) for one in claims.alike]
    charged = [one.charged for one in claims.alike]
    terms = claims.terms.tolist()
    charges = zip(claims.slots, map(each.__getitem__, terms), strict=True)
    return dict(charges if all(charged) else compress(charges, map(charged.__getitem__, terms)))
