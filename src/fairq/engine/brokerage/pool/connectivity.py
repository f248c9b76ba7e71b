"""The network access of worker nodes, and the needs of tasks (docs/panda.md, Connectivity)."""

from __future__ import annotations

from typing import NamedTuple

FULL = "full"
HTTP = "http"
NONE = "none"

NETWORK_RULES = {FULL: "1", HTTP: "2"}
IP_RULES = {"IPv4": "4", "IPv6": "6"}
"""The values of the two-letter rules ``IP`` and ``IK`` of a task, by word; PanDA stores no other word."""

NO_NETWORK = "0"
"""The value of ``IP`` that stands for the network none in fairq; PanDA reads it as no request."""


class Connectivity(NamedTuple):
    """Network and IP stack that a queue offers or a task requests; None is unspecified."""

    network: str | None = None
    ip_stack: str | None = None

    def __str__(self) -> str:
        """Return ``network#ip``, as in CRIC and tasks."""
        return f"{self.network or ''}#{self.ip_stack}" if self.ip_stack else self.network or ""


def read_queue_connectivity(wnconnectivity: str | None) -> Connectivity:
    """Return the offer in a queue's ``network[#ip]``; with more than one ``#`` there is no IP stack."""
    parts = (wnconnectivity or "").split("#")
    return Connectivity(parts[0] or None, (parts[1] or None) if len(parts) == 2 else None)


def read_task_connectivity(ip_connectivity: str | None) -> Connectivity:
    """Return the request in a task's ``network[#ip]``: full or http, IPv4 or IPv6; other words request nothing."""
    parts = (ip_connectivity or "").split("#")
    network = parts[0] if parts[0] in NETWORK_RULES else None
    return Connectivity(network, parts[1] if len(parts) > 1 and parts[1] in IP_RULES else None)


def connectivity_rules(request: Connectivity) -> dict[str, str]:
    """Return the two-letter rules that store a task's request."""
    rules = {}
    if request.network in NETWORK_RULES:
        rules["IP"] = NETWORK_RULES[request.network]
    if request.ip_stack in IP_RULES:
        rules["IK"] = IP_RULES[request.ip_stack]
    return rules


def names_no_network(ip_connectivity: str | None) -> bool:
    """Return whether a task's ``network[#ip]`` names the network none."""
    return (ip_connectivity or "").partition("#")[0] == NONE


def connectivity_of_rules(
    network_rule: str | None, ip_rule: str | None, *, ip_stack_of_queue: bool = False
) -> Connectivity:
    """Return the request in a task's rules ``IP`` and ``IK``, the inverse of `connectivity_rules`.

    With *ip_stack_of_queue*, the network none is a request as well (see `NO_NETWORK`).
    """
    network = next((word for word, code in NETWORK_RULES.items() if code == network_rule), None)
    if ip_stack_of_queue and network_rule == NO_NETWORK:
        network = NONE
    return Connectivity(network, next((word for word, code in IP_RULES.items() if code == ip_rule), None))


def has_network(offered: Connectivity, request: Connectivity) -> bool:
    """Return whether the network of a queue suffices: full for any request, http for http."""
    return (
        request.network in (None, NONE) or offered.network == FULL or (offered.network, request.network) == (HTTP, HTTP)
    )


def is_connected(offered: Connectivity, request: Connectivity, *, ip_stack_of_queue: bool) -> bool:
    """Return whether a queue's offer meets a task's request; an empty request is always met.

    With *ip_stack_of_queue*, the IP stack of any request must be that of the queue, also if both have none.
    """
    if not has_network(offered, request):
        return False
    if ip_stack_of_queue and request != Connectivity():
        return offered.ip_stack == request.ip_stack
    return not request.ip_stack or offered.ip_stack == request.ip_stack
