"""What worker nodes reach of the network, and what a task needs of it (docs/panda.md, Connectivity)."""

from __future__ import annotations

from typing import NamedTuple

FULL = "full"
HTTP = "http"

NETWORK_RULES = {FULL: "1", HTTP: "2"}
IP_RULES = {"IPv4": "4", "IPv6": "6"}
"""What the two-letter rules ``IP`` and ``IK`` of a task store for each word; no other word is stored."""


class Connectivity(NamedTuple):
    """Network and IP stack, as a queue offers them or a task asks for them; None is nothing said."""

    network: str | None = None
    ip_stack: str | None = None

    def __str__(self) -> str:
        """Write it as CRIC and tasks do: ``network#ip``."""
        return f"{self.network or ''}#{self.ip_stack}" if self.ip_stack else self.network or ""


def read_queue_connectivity(wnconnectivity: str | None) -> Connectivity:
    """Return what a queue's ``network[#ip]`` offers; more than one ``#`` hides the IP stack."""
    parts = (wnconnectivity or "").split("#")
    return Connectivity(parts[0] or None, (parts[1] or None) if len(parts) == 2 else None)


def read_task_connectivity(ip_connectivity: str | None) -> Connectivity:
    """Return what a task's ``network[#ip]`` asks for: full or http, IPv4 or IPv6; any other word asks for nothing."""
    parts = (ip_connectivity or "").split("#")
    network = parts[0] if parts[0] in NETWORK_RULES else None
    return Connectivity(network, parts[1] if len(parts) > 1 and parts[1] in IP_RULES else None)


def connectivity_rules(asked: Connectivity) -> dict[str, str]:
    """Return the two-letter rules in which a task keeps what it asked for."""
    stored = {}
    if asked.network in NETWORK_RULES:
        stored["IP"] = NETWORK_RULES[asked.network]
    if asked.ip_stack in IP_RULES:
        stored["IK"] = IP_RULES[asked.ip_stack]
    return stored


def connectivity_of_rules(network_rule: str | None, ip_rule: str | None) -> Connectivity:
    """Return what a task asks for by its rules ``IP`` and ``IK``: the way back from `connectivity_rules`."""
    return Connectivity(
        next((word for word, code in NETWORK_RULES.items() if code == network_rule), None),
        next((word for word, code in IP_RULES.items() if code == ip_rule), None),
    )


def is_connected(offered: Connectivity, asked: Connectivity, *, ip_stack_of_queue: bool) -> bool:
    """Return whether a queue that has *offered* serves a task that has *asked*; nothing asked is always served.

    With *ip_stack_of_queue* a queue that names an IP stack serves tasks that ask for it, and no others.
    """
    if asked.network and offered.network != FULL and (offered.network, asked.network) != (HTTP, HTTP):
        return False
    if ip_stack_of_queue and asked != Connectivity():
        return offered.ip_stack == asked.ip_stack
    return not asked.ip_stack or offered.ip_stack == asked.ip_stack
