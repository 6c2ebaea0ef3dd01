"""Network rules as NetworkPolicies."""

from typing import Any

import pytest

from gradekeeper_verifiers.network import build_network_policy, parse_probe, parse_rule

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "box-1", "uid": "u-1"}


def _policy(allow: list[str], block: list[str] | None = None) -> dict[str, Any]:
    return build_network_policy(
        "box-1",
        labels={"a": "b"},
        selector={"gradekeeper.dev/box": "box-1"},
        allow=allow,
        block=block or [],
        owner=OWNER,
    )


def test_a_box_without_rules_is_cut_off_both_ways() -> None:
    assert _policy([], ["*"]) == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "box-1", "labels": {"a": "b"}, "ownerReferences": [OWNER]},
        "spec": {
            "podSelector": {"matchLabels": {"gradekeeper.dev/box": "box-1"}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [],
        },
    }
    assert _policy([])["spec"]["egress"] == []


def test_what_is_allowed_is_all_there_is() -> None:
    assert _policy(["10.1.0.0/16", "192.0.2.7:443", "[2001:db8::1]:53"])["spec"]["egress"] == [
        {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}]},
        {
            "to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}],
            "ports": [{"protocol": "TCP", "port": 443}, {"protocol": "UDP", "port": 443}],
        },
        {
            "to": [{"ipBlock": {"cidr": "2001:db8::1/128"}}],
            "ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}],
        },
    ]


def test_what_is_blocked_is_taken_out_of_its_own_kind_of_address() -> None:
    assert _policy(["*"], ["10.0.0.0/8", "2001:db8::/32"])["spec"]["egress"] == [
        {
            "to": [
                {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}},
                {"ipBlock": {"cidr": "::/0", "except": ["2001:db8::/32"]}},
            ]
        }
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("10.0.0.0/8", ("10.0.0.0/8", None)),
        ("10.1.2.3/8", ("10.0.0.0/8", None)),
        ("192.0.2.7", ("192.0.2.7/32", None)),
        ("10.0.0.0/8:443", ("10.0.0.0/8", 443)),
        ("2001:db8::1", ("2001:db8::1/128", None)),
        ("2001:db8::/32", ("2001:db8::/32", None)),
        ("[2001:db8::1]:443", ("2001:db8::1/128", 443)),
    ],
)
def test_rules(rule: str, expected: tuple[str, int | None]) -> None:
    assert parse_rule(rule) == expected


@pytest.mark.parametrize(
    "rule",
    ["example.org", "*.example.org", "https://192.0.2.7", "", "10.0.0.0/33", "1.2.3.4:0", ":443",
     "1.2.3.4:65536", "1.2.3.4:443:1", "[10.0.0.1"],
)  # fmt: skip
def test_what_no_policy_can_say_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="network rule"):
        parse_rule(rule)


def test_where_the_proof_connects_to() -> None:
    assert parse_probe(None) == ("", "")
    assert parse_probe("192.0.2.7:443") == ("192.0.2.7", "443")
    assert parse_probe("[2001:db8::1]:53") == ("2001:db8::1", "53")
    with pytest.raises(ValueError, match="a port is needed"):
        parse_probe("192.0.2.7")
