"""Command lines and settings files."""

import json
import tomllib
from pathlib import Path

import pytest

from cluster.testcluster import bases, binaries, building, components, contexts, lifecycle, pki
from cluster.testcluster.errors import ClusterError
from cluster.testcluster.layout import Layout, cache_root
from cluster.testcluster.supervisor import ComponentStatus, component_environment

LAYOUT = Layout(Path("/c"), Path("/r"))
PROGRAMS = components.Programs(
    etcd=Path("/p/etcd"),
    containerd=Path("/p/containerd"),
    shim=Path("/p/shim"),
    ctr=Path("/p/ctr"),
    runc=Path("/p/runc"),
    hyperkube=Path("/p/hyperkube"),
    kube_router=Path("/p/kube-router"),
    cni_plugins=Path("/p/cni"),
    pause_archive=Path("/p/pause.tar"),
)
NAME = "docker.io/gradekeeper/x:1"
DIGEST_NAME = "docker.io/gradekeeper/x@sha256:" + "a" * 64
TAG = ["ctr", "--namespace", "k8s.io", "images", "tag", "--force", NAME, DIGEST_NAME]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"GRADEKEEPER_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/h"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/h"}, "/b/gradekeeper"),
        ({"HOME": "/h"}, "/h/.cache/gradekeeper"),
        ({"GRADEKEEPER_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/gradekeeper"),
    ],
)
def test_cache_folder(environ, expected):
    assert cache_root(environ) == Path(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), ("", None), ("gradekeeper-test", None), ("kind-a", "kind-a"), ("prod", "prod")],
)
def test_named_context(value, expected):
    environ = {} if value is None else {"GRADEKEEPER_CONTEXT": value}
    assert contexts.named_context(environ) == expected


@pytest.mark.parametrize(
    ("context", "load", "node"),
    [
        (
            "kind-a-b",
            ["kind", "load", "image-archive", "/i.tar", "--name", "a-b"],
            ["docker", "exec", "a-b-control-plane"],
        ),
        (
            "k3d-c",
            ["k3d", "image", "import", "/i.tar", "--cluster", "c"],
            ["docker", "exec", "k3d-c-server-0"],
        ),
        (
            "minikube",
            ["minikube", "--profile", "minikube", "image", "load", "/i.tar"],
            ["minikube", "--profile", "minikube", "ssh", "--", "sudo"],
        ),
    ],
)
def test_load_commands_of_local_clusters(context, load, node):
    commands = contexts.render_load_commands(context, Path("/i.tar"), NAME, DIGEST_NAME)
    assert commands == [load, [*node, *TAG]]


@pytest.mark.parametrize("context", ["prod", "kind-", "kind", "k3d-", "minikube-2", "my-kind-a"])
def test_other_contexts_have_no_load_command(context):
    assert contexts.render_load_commands(context, Path("/i.tar"), NAME, DIGEST_NAME) is None


def test_push_by_buildah_writes_the_digest():
    target = contexts.registry_name("registry.example:5000/team/", NAME)
    assert target == "registry.example:5000/team/x:1"
    assert contexts.render_push_commands(["buildah", "--root", "/s"], NAME, target, Path("/d")) == [
        [
            "buildah", "--root", "/s", "push", "--format", "oci", "--digestfile", "/d",
            NAME, f"docker://{target}",
        ]
    ]  # fmt: skip


def test_push_by_docker_tags_first_and_asks_for_the_digest():
    assert contexts.render_push_commands(["docker"], NAME, "r/x:1", Path("/d")) == [
        ["docker", "tag", NAME, "r/x:1"],
        ["docker", "push", "r/x:1"],
    ]
    assert contexts.render_digest_command(["docker"], "r/x:1")[-1] == "r/x:1"


def test_build_by_buildah_is_reproducible_and_pulls_nothing():
    command = building.render_build(
        ["/usr/bin/buildah", "--root", "/s"],
        NAME,
        Path("/d/Dockerfile"),
        Path("/d"),
        target="lane",
        build_args={"BASE": "b"},
        secrets={"pip.conf": Path("/s/pip.conf")},
    )
    assert command[:4] == ["/usr/bin/buildah", "--root", "/s", "build"]
    assert " ".join(command[4:]) == (
        "--isolation chroot --layers --timestamp 0 --format oci --pull-never --network host "
        f"--tag {NAME} --file /d/Dockerfile --target lane --build-arg BASE=b "
        "--secret id=pip.conf,src=/s/pip.conf /d"
    )


def test_build_by_docker_has_only_dockers_options():
    command = building.render_build(["docker"], NAME, Path("D"), Path("."), pull=True)
    assert command == ["docker", "build", "--network", "host", "--tag", NAME, "--file", "D", "."]


def test_buildah_pulls_when_it_may():
    command = building.render_build(["buildah"], NAME, Path("D"), Path("."), pull=True)
    assert "--pull-never" not in command


@pytest.mark.parametrize(
    ("environ", "local"),
    [
        ({}, True),
        ({"GRADEKEEPER_CONTEXT": "prod"}, False),
        ({"GRADEKEEPER_CONTEXT": "prod", "GRADEKEEPER_BASES": "local"}, True),
        ({"GRADEKEEPER_BASES": "pull"}, False),
    ],
)
def test_where_base_images_come_from(environ, local):
    assert building.uses_local_bases(environ) is local


def test_a_wrong_wish_for_bases_is_an_error():
    with pytest.raises(ClusterError, match="GRADEKEEPER_BASES"):
        building.uses_local_bases({"GRADEKEEPER_BASES": "yes"})


def test_the_key_of_a_base_follows_its_packages_and_not_their_order():
    base = bases.Base("local/b:1", ("a", "b"))
    assert base.key == bases.Base("local/b:1", ("b", "a")).key
    assert base.key != bases.Base("local/b:1", ("a", "c")).key
    assert len({b.key for b in bases.BASES.values()}) == len(bases.BASES)


@pytest.mark.parametrize(
    "release",
    ["ID=ubuntu\nVERSION_CODENAME=bookworm\n", "ID=debian\nVERSION_CODENAME=trixie\n", ""],
)
def test_other_systems_sources_are_not_used_for_bases(release):
    assert bases.own_sources(release) == []


def test_go_build_is_pinned_and_names_its_version():
    module = binaries.CONTAINERD
    command = binaries.build_command(module, module.programs[2], Path("/o/ctr"))
    assert command == [
        "go",
        "build",
        "-trimpath",
        "-mod=readonly",
        "-ldflags=-s -w -X github.com/containerd/containerd/v2/version.Version=v2.2.9",
        "-tags=no_btrfs,no_devmapper,no_zfs",
        "-o",
        "/o/ctr",
        "github.com/containerd/containerd/v2/cmd/ctr",
    ]


@pytest.mark.parametrize(
    "module", [*binaries.CLUSTER_MODULES, binaries.KUBECTL], ids=lambda module: module.name
)
def test_the_committed_modules_pin_what_the_table_says(module):
    folder = Path(binaries.__file__).parents[1] / "go" / module.name
    text = (folder / "go.mod").read_text()
    root = {"kubernetes": "k8s.io/kubernetes"}.get(module.name)
    for program in module.programs:
        if program.package == ".":
            continue
        assert program.package in text
        root = root or program.package.split("/cmd/")[0]
    assert f"{root} v{module.version}" in text
    assert f"{root} v{module.version} h1:" in (folder / "go.sum").read_text()


def test_containerd_settings():
    settings = tomllib.loads(components.render_containerd(LAYOUT, PROGRAMS))
    assert settings["root"] == "/c/cluster/containerd"
    assert settings["state"] == "/r/containerd"
    runtime = settings["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["restrict_oom_score_adj"] is True
    assert runtime["netns_mounts_under_state_dir"] is True
    runc = runtime["containerd"]["runtimes"]["runc"]
    assert runc["runtime_path"] == "/p/shim"
    assert runc["options"] == {"BinaryName": "/p/runc", "SystemdCgroup": False}


def test_everything_the_kubelet_leaves_behind_is_in_the_clusters_folders():
    settings = json.loads(components.render_kubelet(LAYOUT))
    assert settings["cgroupRoot"] == "/gradekeeper-test"
    assert settings["podLogsDir"].startswith("/c/cluster/")
    assert settings["containerRuntimeEndpoint"] == "unix:///r/containerd/containerd.sock"
    assert settings["podPidsLimit"] == 1024
    assert settings["volumeStatsAggPeriod"] == "10s"
    assert settings["failCgroupV1"] is False


def test_pod_addresses_are_remembered_in_the_clusters_folder():
    plugin = json.loads(components.render_cni(LAYOUT))["plugins"][0]
    assert plugin["ipam"]["dataDir"] == "/c/cluster/cni"
    assert plugin["ipMasq"] is False


def test_components_start_in_an_order_in_which_each_finds_what_it_needs():
    names = [c.name for c in components.build_components(LAYOUT, PROGRAMS)]
    assert names == [
        "etcd",
        "containerd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
        "kube-router",
    ]
    waiting = {c.name for c in components.build_components(LAYOUT, PROGRAMS) if c.before}
    assert waiting == {"kubelet", "kube-proxy", "kube-router"}


def test_only_the_api_server_listens_beyond_this_machine_and_refuses_strangers():
    open_to_all = {
        component.name
        for component in components.build_components(LAYOUT, PROGRAMS)
        if any("0.0.0.0" in word for word in component.argv)
    }
    assert open_to_all == {"kube-apiserver"}
    assert "--anonymous-auth=false" in components.api_server_arguments(LAYOUT)


def test_clients_on_the_machine_use_loopback():
    # An address that goes with the node's bridge would send a left-over kubeconfig's packets out.
    config = json.loads(pki.render_kubeconfig("gradekeeper-test", b"ca", b"cert", b"key"))
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:21443"


def test_kubeconfig_has_one_context_and_no_paths():
    config = json.loads(pki.render_kubeconfig("gradekeeper-test", b"ca", b"cert", b"key"))
    assert config["current-context"] == "gradekeeper-test"
    assert [c["name"] for c in config["contexts"]] == ["gradekeeper-test"]
    assert config["users"][0]["user"] == {
        "client-certificate-data": "Y2VydA==",
        "client-key-data": "a2V5",
    }


def test_components_get_nothing_of_the_callers_environment():
    environment = component_environment(
        {"HOME": "/h", "KUBECONFIG": "/k", "HTTPS_PROXY": "http://p", "PATH": "/x"}
    )
    assert set(environment) == {"HOME", "PATH"}


def test_env_lines():
    assert lifecycle.render_environment(LAYOUT, "/bin") == [
        "export KUBECONFIG=/c/cluster/kubeconfig",
        "export PATH=/c/cluster/bin:/bin",
        "export CONTAINERD_ADDRESS=/r/containerd/containerd.sock",
        "export CONTAINERD_NAMESPACE=k8s.io",
    ]


def test_status_table_lines_up():
    lines = lifecycle.render_status(
        {
            "etcd": ComponentStatus("ready", 12, 0, "", None),
            "kube-router": ComponentStatus("waiting", None, 3, "no node", 1),
        }
    )
    assert lines[1].split() == ["etcd", "ready", "12", "0"]
    assert lines[2].split(maxsplit=4) == ["kube-router", "waiting", "-", "3", "no node"]
    assert lines[1].index("ready") == lines[2].index("waiting") == lines[0].index("state")
