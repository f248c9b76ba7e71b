"""Accounting: identities and groups, priority factors, real and effective priority, usage and leases."""

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotCharge, charges_of
from fairq.engine.accounting.factors import AccountingPolicy, resolve_factor
from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, submitter_name
from fairq.engine.accounting.leases import expire_leases
from fairq.engine.accounting.removal import idle_since, removable

__all__ = [
    "ROOT_GROUP",
    "Accountant",
    "AccountingPolicy",
    "SlotCharge",
    "assigned_group",
    "charges_of",
    "expire_leases",
    "idle_since",
    "removable",
    "resolve_factor",
    "submitter_name",
]
