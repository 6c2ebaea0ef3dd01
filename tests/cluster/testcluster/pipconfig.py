"""The host's pip settings, for the time of an image build only.

A build host may reach its package index only through a mirror with its own certificate authority.
The two files that come out of here are given to the build as secrets (``pip.conf`` and ``ca.crt``):
a Dockerfile mounts them for one step, and nothing of them gets into a layer.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping, Sequence
from pathlib import Path

# Where a Dockerfile mounts the secret `ca.crt`.
CA_TARGET = "/etc/pip.ca.crt"
_COPIED = ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout")
_SECTIONS = ("global", "install")


def config_files(home: Path) -> list[Path]:
    """Return pip's configuration files on this machine, weakest first."""
    return [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", home / ".config/pip/pip.conf"]


def merge_settings(texts: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings: configuration texts, weakest first, then ``PIP_*`` variables."""
    merged: dict[str, str] = {}
    for text in texts:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        for section in _SECTIONS:
            if parser.has_section(section):
                merged |= {name.replace("_", "-"): v for name, v in parser.items(section)}
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            merged[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return merged


def render_build_config(settings: Mapping[str, str], has_authority: bool) -> str:
    """Return the pip.conf of a build.

    Only settings that mean the same inside a build are taken over: a folder of wheels on the host
    does not exist there, and the authority's file has another path.
    """
    lines = ["[global]"]
    # A continued value has to stay indented.
    lines += [
        f"{name} = " + settings[name].replace("\n", "\n  ") for name in _COPIED if name in settings
    ]
    if has_authority:
        lines.append(f"cert = {CA_TARGET}")
    return "\n".join(lines) + "\n"


def authority_file(settings: Mapping[str, str], environ: Mapping[str, str]) -> Path | None:
    """Return the file of certificate authorities that pip uses on this machine, if one is set."""
    for candidate in (
        settings.get("cert"),
        environ.get("REQUESTS_CA_BUNDLE"),
        environ.get("SSL_CERT_FILE"),
    ):
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    return None


def write_secrets(folder: Path, environ: Mapping[str, str], home: Path) -> dict[str, Path]:
    """Write the build's secrets into a folder that only this user can read.

    Returns:
        Secret id → file.
    """
    texts = [path.read_text() for path in config_files(home) if path.is_file()]
    settings = merge_settings(texts, environ)
    authority = authority_file(settings, environ)
    secrets = {"pip.conf": folder / "pip.conf"}
    secrets["pip.conf"].write_text(render_build_config(settings, authority is not None))
    if authority is not None:
        secrets["ca.crt"] = folder / "ca.crt"
        secrets["ca.crt"].write_bytes(authority.read_bytes())
    return secrets
