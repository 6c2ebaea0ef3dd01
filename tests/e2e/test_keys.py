"""Taking an author's key back: docs/keys.md's command, as Helm itself understands it."""

from __future__ import annotations

import shlex

import yaml
from demo import stage
from demo.commands import ROOT, Cluster, Manifest

from guide import blocks


def authors_after(cluster: Cluster, command: list[str]) -> Manifest:
    """Which keys the release would trust after an upgrade that only shows what it would do."""
    shown = cluster.helm(*command, "--dry-run=client", "--hide-notes")
    documents = yaml.safe_load_all(shown.partition("MANIFEST:\n")[2])
    (found,) = (
        document["data"]
        for document in documents
        if document and document["metadata"]["name"] == "gradekeeper-authors"
    )
    assert isinstance(found, dict)
    return found


def test_the_guides_command_takes_an_authors_key_back(installed: Cluster) -> None:
    lines = "".join(blocks(ROOT / "docs" / "keys.md", "sh")).splitlines()
    (line,) = (line for line in lines if line.endswith("authorKeys.author=null"))
    words = [word.replace("author=", f"{stage.AUTHOR}=") for word in shlex.split(line)[1:]]
    assert list(authors_after(installed, words[:-2])) == [f"{stage.AUTHOR}.pub"]
    assert authors_after(installed, words) == {}
