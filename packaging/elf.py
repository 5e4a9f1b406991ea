# SPDX-License-Identifier: Apache-2.0
"""What a shipped binary needs from the system, read with readelf, which reads every architecture."""
import re
import subprocess

# glibc's own; every Linux with glibc has them.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def _readelf(option, path):
    result = subprocess.run(["readelf", option, "--wide", str(path)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"package: readelf {option} {path} failed: {result.stderr.strip()}")
    return result.stdout


def needed(path):
    """The shared libraries named by the file."""
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", _readelf("-d", path)))


def glibc_version(path):
    """(2, 35) when a symbol of glibc 2.35 is the newest that the file uses."""
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", _readelf("-V", path))
    return max(((int(major), int(minor)) for major, minor in found), default=(2, 17))


def machine(path):
    """x86_64 or aarch64."""
    text = _readelf("-h", path)
    if "X86-64" in text:
        return "x86_64"
    if "AArch64" in text:
        return "aarch64"
    raise SystemExit(f"package: {path} is for neither x86_64 nor aarch64")
