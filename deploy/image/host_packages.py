#!/usr/bin/env python3
"""Copies this machine's way to its package sources into a directory that is laid over an image.

A machine that reaches its packages through a mirror, a proxy or a certificate authority of its own
needs the same inside its sandboxes. Only system-wide configuration and the environment are read,
nothing from anyone's home; an address with a password in it is left out, since whatever runs in a
sandbox could read it.

usage: host_packages.py SUITE DIRECTORY     writes the files
       host_packages.py SUITE --mirrors     prints the archive's address and its security archive's
"""

import configparser
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
AUTHORITIES = pathlib.Path("/usr/local/share/ca-certificates")
PIP_FILES = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf")
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout")
APT_SETTINGS = re.compile(
    r"Acquire::(https?::Proxy(::[^ ]+)?|Check-Valid-Until|Check-Date) ", re.IGNORECASE)
PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def is_carried(name, value):
    """Whether a sandbox may know this value, and can make use of it."""
    for word in value.split():
        url = urllib.parse.urlsplit(word)
        if url.username or url.password:
            print(f"{name} has a password in it: not carried into the image", file=sys.stderr)
            return False
        if url.hostname == "localhost" or (url.hostname or "").startswith("127."):
            print(f"{name} is on this machine's loopback: not carried into the image",
                  file=sys.stderr)
            return False
    return True


def host_suite():
    for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.split("=", 1)[1].strip('"')
    return ""


def mirrors():
    """The archives that this machine's own apt uses, where it is a Debian; else nothing, and the defaults of whoever asks stand."""
    found = {}
    for line in output_of("apt-get", "indextargets", "--format",
                          "$(RELEASE) $(COMPONENT) $(REPO_URI)",
                          "Created-By: Packages").splitlines():
        suite, component, uri = line.split(" ", 2)
        if component == "main" and is_carried("the mirror in apt's sources", uri):
            found.setdefault(suite, uri.rstrip("/"))
    suite = host_suite()
    both = [found.get(suite), found.get(f"{suite}-security")]
    return both if all(both) else []


def sources(suite):
    if not mirrors():
        return ""
    archive, security = mirrors()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return "\n".join(f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\n"
                     f"Signed-By: {keyring}\n"
                     for uri, suites in ((archive, f"{suite} {suite}-updates"),
                                         (security, f"{suite}-security")))


def apt_settings():
    lines = output_of("apt-config", "dump").splitlines()
    return "".join(f"{line}\n" for line in lines
                   if APT_SETTINGS.match(line) and is_carried("apt's proxy", line.split('"')[1]))


def pip_settings(has_authorities):
    found = {}
    for path in PIP_FILES:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(path)
        except configparser.Error as error:
            print(f"pip's settings are left out: {error}", file=sys.stderr)
        if parser.has_section("global"):
            found.update(parser.items("global"))
    for name in PIP_SETTINGS:
        value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
        if value:
            found[name] = value
    found = {name: value for name, value in found.items()
             if name in PIP_SETTINGS and is_carried(f"pip's {name}", value)}
    if has_authorities:
        found["cert"] = BUNDLE
    return "".join(f"{name} = {' '.join(value.split())}\n" for name, value in found.items())


def variables(has_authorities):
    found = {}
    for name in PROXY_VARIABLES:
        value = os.environ.get(name) or os.environ.get(name.upper())
        if value and is_carried(name, value):
            found[name] = found[name.upper()] = value
    registry = os.environ.get("npm_config_registry") or os.environ.get("NPM_CONFIG_REGISTRY")
    if registry and is_carried("npm's registry", registry):
        found["NPM_CONFIG_REGISTRY"] = registry
    if has_authorities:
        # For programs that bring a list of authorities of their own.
        for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
            found[name] = BUNDLE
    return "".join(f"export {name}='{value}'\n" for name, value in found.items()
                   if "'" not in value)


def write(suite, directory):
    authorities = sorted(AUTHORITIES.glob("**/*.crt"))
    files = {
        "etc/apt/sources.list.d/debian.sources": sources(suite),
        "etc/apt/apt.conf.d/91host": apt_settings(),
        "etc/profile.d/sandkeep-host.sh": variables(bool(authorities)),
    }
    for number, path in enumerate(authorities):
        files[f"usr/local/share/ca-certificates/host-{number}.crt"] = path.read_text(
            encoding="utf-8")
    for name, text in files.items():
        if text:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    pip_conf = directory / "etc/pip.conf"
    before = pip_conf.read_text(encoding="utf-8") if pip_conf.exists() else "[global]\n"
    pip_conf.write_text(before + pip_settings(bool(authorities)), encoding="utf-8")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    suite, where = sys.argv[1:]
    if where == "--mirrors":
        for mirror in mirrors():
            print(mirror)
    else:
        write(suite, pathlib.Path(where))


main()
