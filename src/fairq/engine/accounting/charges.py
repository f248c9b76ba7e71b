"""The charges that many claims stand for."""

from __future__ import annotations

from fairq.claim_table import ClaimTable
from fairq.engine.accounting.accountant import SlotCharge, SlotKey


def charges_in(claims: ClaimTable) -> dict[SlotKey, SlotCharge]:
    """Return the charges that stored *claims* stand for, as `charges_of`; claims that are alike share one."""
    each = [SlotCharge(one.submitter, one.slot_weight, one.start_time) for one in claims.alike]
    charged = [one.charged for one in claims.alike]
    uses = zip(claims.slots, claims.terms.tolist(), strict=True)
    if all(charged):
        return {slot: each[terms] for slot, terms in uses}
    return {slot: each[terms] for slot, terms in uses if charged[terms]}
