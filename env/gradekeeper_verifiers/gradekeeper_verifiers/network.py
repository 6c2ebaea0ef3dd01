"""Network rules of verifiers as NetworkPolicies. Pure: imports neither verifiers nor a client."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Any, Final

Manifest = dict[str, Any]
_RULE: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:]+)\]|(?P<net>[^\[\]]+?))(?::(?P<port>\d{1,5}))?"
)


def parse_rule(rule: str) -> tuple[str, int | None]:
    """Return CIDR and port (None: all) of `10.0.0.0/8`, `192.0.2.7:443`, `[2001:db8::1]:443`.

    Raises:
        ValueError: It is a host name, a URL or nonsense; the message says so.
    """
    found = _RULE.fullmatch(rule)
    bare_six = rule.count(":") > 1 and not rule.startswith("[")
    text = rule if bare_six else (found["six"] or found["net"]) if found else rule
    port = None if bare_six or found is None or found["port"] is None else int(found["port"])
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(
            f"network rule {rule!r}: a NetworkPolicy knows IP addresses and CIDRs, each maybe with"
            " a port, and no host names"
        ) from None
    if port is not None and not 0 < port < 65536:
        raise ValueError(f"network rule {rule!r}: no such port")
    return str(network), port


def build_network_policy(
    name: str,
    *,
    labels: dict[str, str],
    selector: dict[str, str],
    allow: Sequence[str],
    block: Sequence[str],
    owner: Manifest,
) -> Manifest:
    """Build the NetworkPolicy of one box.

    Args:
        name: Name of the policy.
        labels: Labels of the policy.
        selector: Labels that select exactly the box's Pod.
        allow: Rules as `parse_rule` takes them, or only `*`; empty denies everything.
        block: CIDRs taken out of `*`; empty otherwise.
        owner: Owner reference to the Pod, so that the policy goes with it.

    Returns:
        A policy without any ingress; with egress to what `allow` names.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "podSelector": {"matchLabels": selector},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": _egress(allow, block),
        },
    }


def _egress(allow: Sequence[str], block: Sequence[str]) -> list[Manifest]:
    if "*" in block:
        return []
    if "*" in allow:
        blocked = [parse_rule(rule)[0] for rule in block]
        peers: list[Manifest] = []
        for everything in ("0.0.0.0/0", "::/0"):
            excepted = [cidr for cidr in blocked if (":" in cidr) == (":" in everything)]
            peers.append(
                {"ipBlock": {"cidr": everything, **({"except": excepted} if excepted else {})}}
            )
        return [{"to": peers}]
    rules: list[Manifest] = []
    for rule in allow:
        cidr, port = parse_rule(rule)
        entry: Manifest = {"to": [{"ipBlock": {"cidr": cidr}}]}
        if port is not None:
            entry["ports"] = [{"protocol": p, "port": port} for p in ("TCP", "UDP")]
        rules.append(entry)
    return rules


# One connection attempt of a second with whatever the image has; status 0: connected, 1: not,
# 3: the image has nothing to try it with.
_CONNECT: Final = """
try() {
  if command -v python3 >/dev/null 2>&1; then
    python3 -I -S -c 'import socket,sys
s=socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET);s.settimeout(1)
sys.exit(1 if s.connect_ex((sys.argv[1],int(sys.argv[2]))) else 0)' "$1" "$2" 2>/dev/null
  elif command -v bash >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1; then
    timeout 1 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null || return 1
  elif command -v nc >/dev/null 2>&1; then
    nc -w 1 "$1" "$2" </dev/null >/dev/null 2>&1 || return 1
  else
    return 3
  fi
}
"""
_TARGET: Final = "a=${1:-$KUBERNETES_SERVICE_HOST} p=${2:-$KUBERNETES_SERVICE_PORT}\n"

REACHABLE_SCRIPT: Final = (
    _CONNECT
    + _TARGET
    + """[ -n "$a" ] || exit 4
for i in 1 2 3 4 5; do try "$a" "$p"; s=$?; [ $s = 1 ] || exit $s; done
exit 1
"""
)
"""Exits with 0 once a connection to address $1, port $2 (empty: the API server's Service) works; 1
after five failures; 3: nothing in the image can connect; 4: no address is known."""

CUT_OFF_SCRIPT: Final = (
    _CONNECT
    + _TARGET
    + """n=0 end=$(($(date +%s) + $3))
while [ "$(date +%s)" -lt $end ]; do
  if try "$a" "$p"; then n=0; sleep 0.1; else n=$((n + 1)); [ $n -lt 2 ] || exit 0; fi
done
exit 1
"""
)
"""Exits with 0 after two failed connections in a row; 1: that took longer than $3 seconds."""


def parse_probe(probe: str | None) -> tuple[str, str]:
    """Return address and port of `network_probe` as arguments for the scripts; empty for None."""
    if probe is None:
        return "", ""
    cidr, port = parse_rule(probe)
    if port is None:
        raise ValueError(f"network_probe {probe!r}: a port is needed, as in 192.0.2.7:443")
    return cidr.split("/", 1)[0], str(port)
