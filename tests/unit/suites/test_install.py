"""Signature, manifests and image context of a built bundle."""

import base64
from pathlib import Path

import pytest
from pydantic import ValidationError

from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.control.trust import parse_index
from gradekeeper.suites.bundle import Bundle, load_bundle
from gradekeeper.suites.errors import DefinitionError, ToolError
from gradekeeper.suites.image import build_command, write_context
from gradekeeper.suites.manifest import build_index_config_map, build_suite_manifest
from gradekeeper.suites.sign import sign_suite
from gradekeeper.verdicts.signing import SigningKey, generate_key
from gradekeeper.verdicts.verify import VerificationFailed, verify_suite

IMAGE = "registry.example/tiny@sha256:" + "a" * 64
LANE = "registry.example/java17@sha256:" + "b" * 64


def signed(bundle: Bundle) -> tuple[bytes, bytes]:
    private, public = generate_key()
    envelope = sign_suite(
        bundle,
        image_digest=IMAGE.partition("@")[2],
        lane_image_digest=LANE.partition("@")[2],
        key=SigningKey.from_pem(private),
    )
    return envelope, public


def test_a_manifest_is_what_the_author_signed(bundle: Bundle) -> None:
    envelope, public = signed(bundle)
    manifest = build_suite_manifest(
        bundle, image=IMAGE, lane_image=LANE, envelope=envelope, namespace="grading"
    )
    spec = GradingSuiteSpec.model_validate(manifest["spec"])
    suite = verify_suite(
        envelope, [public], name="tiny", spec=spec, index_digest=bundle.index_digest
    )
    assert suite.digest == bundle.digest
    assert manifest["metadata"]["name"] == "tiny"
    assert "nodeSelector" not in manifest["spec"]
    changed = spec.model_copy(update={"image": IMAGE.replace("aaaa", "cccc")})
    with pytest.raises(VerificationFailed, match="another suite image"):
        verify_suite(envelope, [public], spec=changed, index_digest=bundle.index_digest)
    with pytest.raises(VerificationFailed, match="another index"):
        verify_suite(envelope, [public], spec=spec, index_digest="sha256:" + "0" * 64)


def test_the_operator_reads_the_index_from_its_config_map(bundle: Bundle) -> None:
    config_map = build_index_config_map(bundle, namespace="grading")
    index = parse_index(config_map)
    assert index.digest == bundle.index_digest
    assert index.tests == {"": ("sums/fix_adds", "sums/guard_names", "waits/fix_waits")}
    assert index.discriminating == {"": (0, 2)}
    assert config_map["immutable"] is True
    assert config_map["metadata"]["name"] == "tiny-index"
    packed = base64.b64decode(config_map["binaryData"]["index.json.gz"])
    assert packed[4:8] == bytes(4), "a time in the archive would give other bytes every second"


def test_an_image_by_tag_is_refused(bundle: Bundle) -> None:
    envelope, _ = signed(bundle)
    with pytest.raises(ValidationError, match="must name an image by digest"):
        build_suite_manifest(
            bundle, image="tiny:1", lane_image=LANE, envelope=envelope, namespace="grading"
        )


def test_the_context_holds_the_bundle_and_a_dockerfile(bundle: Bundle, tmp_path: Path) -> None:
    context = write_context(bundle.path, tmp_path / "context")
    assert load_bundle(context / "suite").digest == bundle.digest
    dockerfile = (context / "Dockerfile").read_text()
    assert "FROM ${REFEREE}\nCOPY suite /suite\n" in dockerfile
    assert f'dev.gradekeeper.suite="{bundle.digest}"' in dockerfile
    assert write_context(bundle.path, context) == context
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    with pytest.raises(ToolError, match="left alone"):
        write_context(bundle.path, tmp_path / "other")
    with pytest.raises(DefinitionError, match="is not a bundle"):
        write_context(tmp_path / "other", tmp_path / "context")


@pytest.mark.parametrize("builder", ["/usr/bin/buildah", "docker"])
def test_both_builders_get_the_referee_and_the_tag(builder: str) -> None:
    command = build_command(builder, context=Path("c"), referee="ref:1", tag="suite:1")
    assert command[:2] == [builder, "build"]
    assert command[-1] == "c"
    assert command[command.index("--build-arg") + 1] == "REFEREE=ref:1"
    assert command[command.index("-t") + 1] == "suite:1"
    assert ("--timestamp" in command) == builder.endswith("buildah")
