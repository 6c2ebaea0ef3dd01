"""The node's links, routes and kernel settings: made, put back, and looked for afterwards.

The packets of Pods stay on the machine: a routing rule lets a Pod's packet reach Pods (and the node
itself), and answers everything else with "unreachable", whatever the other tables say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .commands import run
from .errors import ClusterError
from .layout import (
    NODE_BRIDGE,
    NODE_IP,
    POD_BRIDGE,
    POD_CIDR,
    RULE_ELSEWHERE,
    RULE_PODS,
    SERVICE_CIDR,
    Layout,
)

# What the cluster needs.
_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/bridge/bridge-nf-call-iptables": "1",
}
# What kubelet, kube-proxy and kube-router change on their own: only recorded and put back.
_TOUCHED = (
    "net/ipv4/conf/all/route_localnet",
    "net/ipv4/conf/all/forwarding",
    "net/ipv4/conf/default/forwarding",
    "net/bridge/bridge-nf-call-ip6tables",
    "net/ipv4/vs/conntrack",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_SYSCTL = Path("/proc/sys")

# Chains that kube-proxy and kube-router make, and the sets of the latter.
_OWN_CHAIN = re.compile(r"^(KUBE-|KUBE$)")
_OWN_SET = re.compile(r"^(inet6:)?KUBE-")
_FAMILIES = ("iptables", "ip6tables")


def _read_setting(name: str) -> str | None:
    try:
        return (_SYSCTL / name).read_text().strip()
    except OSError:
        return None


def _write_setting(name: str, value: str) -> None:
    try:
        (_SYSCTL / name).write_text(value)
    except OSError as error:
        raise ClusterError(f"cannot set {name} to {value}: {error}") from error


def conflicting_routes(routes: str, own: Sequence[str]) -> list[str]:
    """Return the lines of `ip -4 route show` that lie in the cluster's ranges but are not its own.

    Args:
        routes: The command's output.
        own: Names of the cluster's links.
    """
    prefixes = tuple(
        cidr.split("/")[0].rsplit(".", 2)[0] + "." for cidr in (POD_CIDR, SERVICE_CIDR)
    )
    found = []
    for line in routes.splitlines():
        words = line.split()
        if not words or not (words[0].startswith(prefixes) or words[0] == NODE_IP):
            continue
        if not any(name in words for name in own):
            found.append(line.strip())
    return found


def own_rules(saved: str) -> list[str]:
    """Return the lines of an iptables-save that belong to kube-proxy or kube-router.

    Those are their chains, the rules in them, and the rules elsewhere that jump to them.
    """
    found = []
    for line in saved.splitlines():
        words = line.split()
        if line.startswith(":"):
            if _OWN_CHAIN.match(words[0][1:]):
                found.append(line)
        elif words and words[0] == "-A":
            jumps = [words[i + 1] for i in range(len(words) - 1) if words[i] in ("-j", "-g")]
            if any(_OWN_CHAIN.match(name) for name in [words[1], *jumps]):
                found.append(line)
    return found


def without_own_rules(saved: str) -> str:
    """Return an iptables-save text for `iptables-restore` that lacks what is the cluster's."""
    own = set(own_rules(saved))
    return "".join(f"{line}\n" for line in saved.splitlines() if line not in own)


def own_sets(names: Iterable[str]) -> list[str]:
    """Return those of the ipset names that kube-router made."""
    return [name for name in names if _OWN_SET.match(name)]


def present_rules() -> list[str]:
    """Return all own iptables lines of both families."""
    return [line for family in _FAMILIES for line in own_rules(run([f"{family}-save"]))]


def present_sets() -> list[str]:
    """Return all own ipsets."""
    return own_sets(run(["ipset", "list", "-n"]).split())


def ports_of(bridge: str) -> list[str]:
    """Return the links enslaved to a bridge."""
    folder = Path("/sys/class/net") / bridge / "brif"
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def present_links() -> list[str]:
    """Return the own bridges and their ports that exist."""
    bridges = [b for b in (POD_BRIDGE, NODE_BRIDGE) if (Path("/sys/class/net") / b).exists()]
    return bridges + ports_of(POD_BRIDGE)


def present_routes() -> list[str]:
    """Return the own routes and routing rules that exist."""
    routes = [
        line.strip()
        for line in run(["ip", "-4", "route", "show", "table", "all"]).splitlines()
        if POD_CIDR in line or SERVICE_CIDR in line or POD_BRIDGE in line or NODE_BRIDGE in line
    ]
    rules = [
        line.strip()
        for line in run(["ip", "-4", "rule", "show"]).splitlines()
        if line.startswith((f"{RULE_PODS}:", f"{RULE_ELSEWHERE}:"))
    ]
    return routes + rules


def set_up(layout: Layout) -> None:
    """Make the node's bridge, routes and rules; record the kernel settings of before.

    Raises:
        ClusterError: Another Kubernetes or another network uses the same names or ranges.
    """
    if not layout.host_record.exists():
        if foreign := present_rules() or present_sets():
            raise ClusterError(
                "another Kubernetes seems to run on this machine: these packet filter rules or "
                "sets are there already and are not this cluster's:\n"
                + "\n".join(f"    {line}" for line in foreign[:5])
            )
        routes = run(["ip", "-4", "route", "show", "table", "all"])
        if taken := conflicting_routes(routes, (POD_BRIDGE, NODE_BRIDGE)):
            raise ClusterError(
                f"the cluster needs {POD_CIDR}, {SERVICE_CIDR} and {NODE_IP}, but the machine "
                "routes in these ranges:\n" + "\n".join(f"    {line}" for line in taken[:5])
            )
        before = {name: _read_setting(name) for name in (*_SETTINGS, *_TOUCHED)}
        layout.host_record.parent.mkdir(parents=True, exist_ok=True)
        layout.host_record.write_text(json.dumps(before, indent=1))
    for name, value in _SETTINGS.items():
        if not (_SYSCTL / name).exists() and name.startswith("net/bridge/"):
            run(["modprobe", "br_netfilter"])
        _write_setting(name, value)
    run(["ip", "link", "add", NODE_BRIDGE, "type", "bridge"])
    run(["ip", "addr", "add", f"{NODE_IP}/32", "dev", NODE_BRIDGE])
    run(["ip", "link", "set", NODE_BRIDGE, "up"])
    # Processes on the node (the API server calling a webhook) connect to Service addresses: the
    # packet needs a route before kube-proxy's rules rewrite it. On the empty bridge a packet for a
    # Service that does not exist ends in nothing.
    run(["ip", "route", "add", SERVICE_CIDR, "dev", NODE_BRIDGE, "src", NODE_IP])
    run(["ip", "route", "add", "unreachable", POD_CIDR])
    pods = ["from", POD_CIDR]
    run(["ip", "rule", "add", "pref", str(RULE_PODS), *pods, "to", POD_CIDR, "lookup", "main"])
    run(["ip", "rule", "add", "pref", str(RULE_ELSEWHERE), *pods, "unreachable"])


def tear_down(layout: Layout) -> None:
    """Remove every own rule, set, route and link, and put the kernel settings back.

    Does nothing without the record that :func:`set_up` wrote: then nothing here is the cluster's.
    """
    if not layout.host_record.exists():
        return
    for family in _FAMILIES:
        saved = run([f"{family}-save"])
        if own_rules(saved):
            run([f"{family}-restore"], stdin=without_own_rules(saved))
    # A set that another set lists cannot go first.
    for _ in range(2):
        names = present_sets()
        for name in names:
            run(["ipset", "flush", name])
        for name in names:
            run(["ipset", "destroy", name])
    for preference in (RULE_PODS, RULE_ELSEWHERE):
        while any(line.startswith(f"{preference}:") for line in present_routes()):
            run(["ip", "-4", "rule", "del", "pref", str(preference)])
    if any(line.startswith(f"unreachable {POD_CIDR}") for line in present_routes()):
        run(["ip", "-4", "route", "del", "unreachable", POD_CIDR])
    for link in [*ports_of(POD_BRIDGE), *(b for b in present_links() if b.startswith("gk-"))]:
        if (Path("/sys/class/net") / link).exists():
            run(["ip", "link", "del", link])
    before = json.loads(layout.host_record.read_text())
    for name, value in before.items():
        if value is not None and _read_setting(name) not in (value, None):
            _write_setting(name, value)
    layout.host_record.unlink()
