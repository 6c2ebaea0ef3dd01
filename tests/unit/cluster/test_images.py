"""Archives, names and the host's pip settings."""

import io
import json
import tarfile

import pytest

from cluster.testcluster import loading, oci, pipconfig
from cluster.testcluster.errors import ClusterError
from cluster.testcluster.layout import Layout

NAME = "docker.io/gradekeeper/x:1"


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "x.tar"
    files = {"bin/a": (b"#!/bin/sh\n", 0o755), "etc/b": (b"mirror.example", 0o644)}
    digest = oci.write_single_layer(path, NAME, files, {"Entrypoint": ["/bin/a"], "User": "7"})
    return path, digest


def test_an_archive_reads_back(archive):
    path, digest = archive
    image = oci.read_archive(path)
    assert (image.name, image.digest) == (NAME, digest)
    assert image.config["config"] == {"Entrypoint": ["/bin/a"], "User": "7"}
    assert image.image_id == oci.digest_of(oci.canonical(image.config))
    assert len(image.layers) == 1


def test_the_same_content_gives_the_same_bytes(archive, tmp_path):
    path, digest = archive
    again = tmp_path / "y.tar"
    files = {"etc/b": (b"mirror.example", 0o644), "bin/a": (b"#!/bin/sh\n", 0o755)}
    assert (
        oci.write_single_layer(again, NAME, files, {"User": "7", "Entrypoint": ["/bin/a"]})
        == digest
    )
    assert again.read_bytes() == path.read_bytes()


def test_compressed_layers_carry_no_time(archive):
    path, _ = archive
    with tarfile.open(path) as tar:
        layer = tar.extractfile(oci.read_archive(path).layers[0]).read()
    # Bytes 4 to 8 of a gzip header are its time.
    assert layer[4:8] == b"\0\0\0\0"


def test_texts_are_found_in_files_names_and_configuration(archive):
    path, _ = archive
    found = oci.find_in_image(path, [b"mirror.example", b"bin/a", b"not there"])
    assert found == ["configuration: bin/a", "bin/a: bin/a", "etc/b: mirror.example"]


def rewrite(path, target, change):
    with tarfile.open(path) as source, tarfile.open(target, "w") as out:
        for member in source.getmembers():
            data = change(member.name, source.extractfile(member).read())
            if data is not None:
                member.size = len(data)
                out.addfile(member, io.BytesIO(data))


def test_a_changed_manifest_is_refused(archive, tmp_path):
    path, digest = archive
    target = tmp_path / "z.tar"
    rewrite(path, target, lambda n, d: d + b" " if n.endswith(digest[7:]) else d)
    with pytest.raises(ValueError, match="does not have the digest"):
        oci.read_archive(target)


def test_an_archive_of_another_kind_is_refused(archive, tmp_path):
    path, _ = archive
    target = tmp_path / "z.tar"
    rewrite(path, target, lambda n, d: None if n == "index.json" else d)
    with pytest.raises(ValueError, match="not an OCI archive"):
        oci.read_archive(target)
    with pytest.raises(ClusterError, match="cannot read"):
        loading.load_archive(Layout(tmp_path, tmp_path), target, {})


def test_an_archive_of_two_images_is_refused(archive, tmp_path):
    path, _ = archive
    target = tmp_path / "z.tar"

    def twice(name, data):
        if name != "index.json":
            return data
        index = json.loads(data)
        index["manifests"] *= 2
        return json.dumps(index).encode()

    rewrite(path, target, twice)
    with pytest.raises(ValueError, match="2 images"):
        oci.read_archive(target)


def test_loading_into_a_stopped_cluster_says_what_to_do(archive, tmp_path):
    with pytest.raises(ClusterError, match="make cluster-up"):
        loading.load_archive(Layout(tmp_path, tmp_path / "run"), archive[0], {})


def test_loading_into_a_remote_context_asks_for_a_registry(archive, tmp_path):
    environ = {"GRADEKEEPER_CONTEXT": "prod"}
    with pytest.raises(ClusterError, match="IMAGE_REGISTRY"):
        loading.load_archive(Layout(tmp_path, tmp_path), archive[0], environ)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "docker.io/library/x:latest"),
        ("gradekeeper/x", "docker.io/gradekeeper/x:latest"),
        ("gradekeeper/x:2", "docker.io/gradekeeper/x:2"),
        ("docker.io/gradekeeper/x:2", "docker.io/gradekeeper/x:2"),
        ("localhost/x", "localhost/x:latest"),
        ("registry:5000/x", "registry:5000/x:latest"),
        ("registry:5000/x:3", "registry:5000/x:3"),
    ],
)
def test_full_names(name, expected):
    assert loading.full_name(name) == expected


def test_a_name_with_a_digest_cannot_be_built():
    with pytest.raises(ClusterError, match="under a tag"):
        loading.full_name("x@sha256:" + "0" * 64)


def test_only_names_that_share_the_configuration_are_stale():
    repository = "docker.io/g/x"
    listed = [
        f"{repository}:1",
        f"{repository}@sha256:old-same",
        f"{repository}@sha256:old-other",
        f"{repository}@sha256:new",
        "docker.io/g/xy@sha256:old-same",
    ]
    ids = {"sha256:old-same": "c", "sha256:old-other": "d", "sha256:new": "c"}
    stale = loading.stale_digest_names(listed, repository, "sha256:new", ids, "c")
    assert stale == [f"{repository}@sha256:old-same"]


def test_pip_settings_of_stronger_sources_win():
    texts = [
        "[global]\nindex-url = https://a/\ntimeout = 5\n",
        "[install]\nindex-url = https://b/\n",
    ]
    settings = pipconfig.merge_settings(texts, {"PIP_TIMEOUT": "9", "PIP_CERT": "", "HOME": "/h"})
    assert settings == {"index-url": "https://b/", "timeout": "9"}


def test_a_builds_pip_config_has_no_paths_of_the_host():
    settings = {
        "index-url": "https://a/%20x",
        "extra-index-url": "https://b/\nhttps://c/",
        "find-links": "/opt/wheels",
        "cert": "/etc/ssl/own.pem",
    }
    text = pipconfig.render_build_config(settings, has_authority=True)
    assert text == (
        "[global]\nindex-url = https://a/%20x\nextra-index-url = https://b/\n  https://c/\n"
        "cert = /etc/pip.ca.crt\n"
    )
    assert pipconfig.merge_settings([text], {})["extra-index-url"] == "https://b/\nhttps://c/"


def test_secrets_hold_the_hosts_authority(tmp_path):
    authority = tmp_path / "own.pem"
    authority.write_text("CERT")
    home = tmp_path / "home"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text("[global]\nindex-url = https://a/\n")
    secrets = pipconfig.write_secrets(tmp_path, {"PIP_CERT": str(authority)}, home)
    assert secrets["ca.crt"].read_text() == "CERT"
    assert "index-url = https://a/" in secrets["pip.conf"].read_text()


def test_without_an_authority_there_is_no_such_secret():
    missing = {"REQUESTS_CA_BUNDLE": "/does/not/exist"}
    assert pipconfig.authority_file({"cert": "/does/not/exist"}, missing) is None
    assert "cert" not in pipconfig.render_build_config({}, has_authority=False)
