"""Attacks that name parts of the kit attack something: what they name is there.

An overlay that reaches for a member that has been renamed throws, fails its tests for that, and so
would look like an attack that was withstood.
"""

from __future__ import annotations

import re

import pytest

from guide import ROOT

KIT = ROOT / "lanes/java17/src/gradekeeper/kit"
DRIVERS = ROOT / "assets/suites/billing-payment-debug/lane/drivers"
SCENARIOS = ROOT / "assets/suites/billing-payment-debug/submissions/scenarios"
SERVICE = "src/main/java/com/acme/billing/service/RefundService.java"

_TAKEN = re.compile(r'\btake\((?:take\()?(\w+), "(\w+)"\)(?:, "(\w+)"\))?')
_DECLARED = re.compile(r'(\w+)\.getClass\(\)\.getDeclaredMethod\("(\w+)"((?:, [\w.]+\.class)*)\)')
_NAMED = re.compile(r'\.getName\(\)\.equals\("(\w+)"\)')
_CALLED = re.compile(r'\bcall\(desk, "(\w+)"')

EXPECTED = {
    "lie-about-settled": {
        ("Desk", "wire"),
        ("Wire", "query()"),
        ("Wire", "settled(long)"),
        ("Wires", "desk"),
    },
    "reach-into-the-doubles": {
        ("Desk", "wire"),
        ("Wire", "answer(long, String, String)"),
        ("Wire", "open"),
        ("Wires", "desk"),
    },
    "forge-observations": {
        ("Desk", "current"),
        ("Desk", "see()"),
        ("Desk", "text()"),
        ("Desk", "wire"),
        ("Wire", "done()"),
        ("Wires", "desk"),
    },
}
"""What each overlay reaches for: class, and field or method; parameters where they are named."""

OWNERS = {"gateway": "Wires", "desk": "Desk", "wire": "Wire"}


def reached(source: str) -> set[tuple[str, str]]:
    """The members that an overlay takes by reflection."""
    found = set()
    for variable, field, then in _TAKEN.findall(source):
        found.add((OWNERS[variable], field))
        if then:
            found.add((OWNERS[field], then))
    for variable, name, parameters in _DECLARED.findall(source):
        types = parameters.replace(".class", "").removeprefix(", ")
        found.add((OWNERS[variable], f"{name}({types})"))
    found |= {("Desk", f"{name}()") for name in _CALLED.findall(source)}
    found |= {("Wire", f"{name}()") for name in _NAMED.findall(source)}
    return found


def declares(owner: str, member: str) -> bool:
    """Whether a class has that field, or a method of that name and, if given, parameters."""
    folder = DRIVERS if owner == "Wires" else KIT
    source = (folder / f"{owner}.java").read_text(encoding="utf-8")
    name, is_method, parameters = member.rstrip(")").partition("(")
    if owner == "Wires":
        return re.search(rf"record Processor\(Desk {name}\)", source) is not None
    if not is_method:
        return (
            re.search(rf"^    private [\w<>., ]+ {name}( = .*)?;$", source, re.MULTILINE)
            is not None
        )
    declared = re.findall(
        rf"^    (?:public |private )?(?:synchronized )?[\w.<>]+ {name}\(([^)]*)\) \{{$",
        source,
        re.MULTILINE,
    )
    types = [re.sub(r" \w+(?=,|$)", "", one) for one in declared]
    return parameters in types if parameters or member in ("query()",) else bool(declared)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_an_attack_reaches_for_is_there(name: str) -> None:
    found = reached((SCENARIOS / name / SERVICE).read_text(encoding="utf-8"))
    assert found == EXPECTED[name]
    assert [one for one in sorted(found) if not declares(*one)] == []


@pytest.mark.parametrize(
    ("owner", "member"),
    [
        ("Desk", "line"),
        ("Desk", "look()"),
        ("Wire", "opened"),
        ("Wire", "quer()"),
        ("Wire", "settled(int)"),
        ("Wire", "answer(long, String)"),
        ("Wires", "table"),
    ],
)
def test_what_is_not_there_is_missed(owner: str, member: str) -> None:
    assert not declares(owner, member)
