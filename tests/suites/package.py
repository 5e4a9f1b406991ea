# SPDX-License-Identifier: Apache-2.0
"""Packages: what scripts/package writes installs, runs and records without the checkout.

The packages are made from the release build (--from-build), which takes seconds; what only a package build has
(nothing but glibc needed, no path of the checkout inside) scripts/package verifies itself each time it runs.
"""
import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from neurolens_cli import BIN, BUILD, H200, LIMIT_S, PYTHON, ROOT

pytestmark = [pytest.mark.xdist_group("package"), pytest.mark.slow_first(60)]
TRACE = H200 / "base.json.gz"
PROGRAM = """
import neurolens
with neurolens.scope("outer"):
    with neurolens.scope("inner"):
        sum(range(1000))
print(neurolens.__file__)
"""


def clean_environment(**variables):
    """Nothing of the checkout or of a recording around the test."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", **variables}


def run(*command, cwd, user=None, env=None, status=0):
    result = subprocess.run([str(part) for part in command], cwd=cwd, user=user, group=user, extra_groups=[] if user else None, capture_output=True,
                            text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env=clean_environment(HOME=str(cwd), **(env or {})))
    assert result.returncode == status, f"{shlex.join(map(str, command))}: status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
    return result


def package(kind, out):
    result = subprocess.run([sys.executable, ROOT / "scripts/package", kind, "--from-build", BUILD, "--out", out], capture_output=True, text=True,
                            timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr
    (path,) = re.findall(r"^(.+)  [\d.]+ MB$", result.stdout, re.M)
    return Path(path)


@pytest.fixture(scope="module")
def folder():
    """A folder that every user can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="neurolens-package-"))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+w", path], check=False)
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def wheel(folder):
    return package("wheel", folder / "wheel")


@pytest.fixture(scope="module")
def venv(folder, wheel):
    """An environment with the wheel and nothing else."""
    path = folder / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", path], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if made.returncode != 0:
        pytest.skip(f"{sys.executable} cannot make an environment with pip: {made.stdout.strip()[:200]}")
    run(path / "bin/pip", "install", "--no-index", "--no-deps", wheel, cwd=folder)
    return path


@pytest.fixture(scope="module")
def unpacked(folder):
    """The tarball in a path with spaces, which the user who runs it cannot write to."""
    place = folder / "a path with spaces"
    place.mkdir()
    with tarfile.open(package("tarball", folder / "tarball")) as archive:
        archive.extractall(place)
    (path,) = place.iterdir()
    run("chmod", "-R", "a-w,a+rX", path, cwd=folder)
    return path


def loaded_duckdb(program, cwd, user=None):
    """The file that the program loads DuckDB from, as glibc's loader reports it."""
    trace = cwd / "loader"
    run(program, "--store", cwd / "store", "query", "select 42", cwd=cwd, user=user, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)})
    text = "".join(path.read_text() for path in cwd.glob("loader.*"))
    return Path(re.search(r"calling init: (.*libduckdb\.so)", text).group(1))


def imports_and_records(program, python, cwd, user=None):
    """A bundled trace is imported; a recorded Python program has its ranges, with the package of the recorder."""
    if user:
        os.chown(cwd, user, user)
    trace = shutil.copy(TRACE, cwd)
    lens = [program, "--store", cwd / "store"]
    run(*lens, "import", trace, cwd=cwd, user=user)
    summary = json.loads(run(*lens, "--json", "summary", "@latest", cwd=cwd, user=user).stdout)
    assert summary, "the summary of the imported trace is empty"
    (cwd / "program.py").write_text(PROGRAM)
    recorded = run(*lens, "run", "--", python, "program.py", cwd=cwd, user=user)
    ranges = run(*lens, "query", "@latest", "SELECT name FROM range", "--format", "csv", cwd=cwd, user=user).stdout.split()
    assert {"outer", "inner"} <= set(ranges), f"the ranges are missing: {ranges}"
    return Path(recorded.stdout.strip().split("\n")[0])


def test_wheel_lists_every_file_with_its_hash(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
        rows = [line.split(",") for line in archive.read(record).decode().splitlines()]
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if name == record:
                continue
            content = archive.read(name)
            assert int(size) == len(content)
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name
        tags = re.findall(r"^Tag: (.+)$", archive.read(record.replace("RECORD", "WHEEL")).decode(), re.M)
    assert len(tags) == 1 and wheel.name.endswith(f"-{tags[0]}.whl")
    assert re.fullmatch(rf"py3-none-manylinux_2_\d+_{os.uname().machine}", tags[0])


def test_packages_of_one_build_have_the_same_bytes(folder, wheel):
    again = package("wheel", folder / "again")
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()


def test_wheel_gives_the_command_and_the_module(venv, folder):
    reply = json.loads(run(venv / "bin/neurolens", "--json", "version", cwd=folder).stdout)
    assert reply["architecture"] == os.uname().machine and reply["duckdb"] and reply["compiler"] and reply["build_type"]
    module = run(venv / "bin/python", "-c", "import neurolens; print(neurolens.__version__, neurolens.__file__)", cwd=folder).stdout
    version, path = module.split(maxsplit=1)
    assert version == reply["version"] and venv in Path(path).parents
    assert run(venv / "bin/neurolens-capture", "--version", cwd=folder).stdout.split()[-1] == version
    assert ".visible .entry" in run(venv / "bin/neurolens-peaks", "--ptx", cwd=folder).stdout


def test_wheel_imports_and_records_with_its_own_libraries(venv, folder):
    work = folder / "wheel-work"
    work.mkdir()
    module = imports_and_records(venv / "bin/neurolens", venv / "bin/python", work)
    assert venv in module.parents, f"the recorded program took {module}"
    assert venv in loaded_duckdb(venv / "bin/neurolens", work).resolve().parents


def test_wheel_records_an_interpreter_that_it_is_not_installed_in(venv, folder):
    work = folder / "other-work"
    work.mkdir()
    module = imports_and_records(venv / "bin/neurolens", PYTHON, work)
    assert module.parts[-5:-1] == ("share", "neurolens", "python", "neurolens")


def test_wheel_installs_into_a_target_folder(venv, folder, wheel):
    target = folder / "target"
    run(venv / "bin/pip", "install", "--no-index", "--no-deps", "--target", target, wheel, cwd=folder)
    work = folder / "target-work"
    work.mkdir()
    run(target / "bin/neurolens", "--store", work / "store", "import", TRACE, cwd=work)
    assert target in loaded_duckdb(target / "bin/neurolens", work).resolve().parents
    run(venv / "bin/python", "-c", "import neurolens, sys; assert neurolens.__file__.startswith(sys.argv[1])", target, cwd=folder,
        env={"PYTHONPATH": str(target)})


def test_wheel_leaves_nothing_after_uninstall(venv, folder, wheel):
    copy = folder / "uninstalled"
    run(sys.executable, "-m", "venv", copy, cwd=folder)
    before = {path.relative_to(copy) for path in copy.rglob("*")}
    run(copy / "bin/pip", "install", "--no-index", "--no-deps", wheel, cwd=folder)
    assert (copy / "bin/neurolens").exists()
    run(copy / "bin/pip", "uninstall", "-y", "neurolens", cwd=folder)
    left = {path.relative_to(copy) for path in copy.rglob("*") if not path.is_dir()} - before  # pip leaves empty folders
    assert not [path for path in left if "neurolens" in str(path)], left


def test_tarball_works_read_only_in_a_path_with_spaces(unpacked, folder):
    work = folder / "tarball work"
    work.mkdir()
    user = 65534 if os.getuid() == 0 else None
    before = sorted(unpacked.rglob("*"))
    module = imports_and_records(unpacked / "bin/neurolens", PYTHON, work, user)
    assert unpacked in module.parents
    assert unpacked in loaded_duckdb(unpacked / "bin/neurolens", work, user).resolve().parents
    assert sorted(unpacked.rglob("*")) == before, "files appeared in the read-only folder"


def test_deb_declares_what_it_needs(folder):
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not installed")
    deb = package("deb", folder / "deb")
    fields = run("dpkg-deb", "--field", deb, cwd=folder).stdout
    assert re.search(r"^Depends: libc6 \(>= 2\.\d+\), libgcc-s1 .*libstdc\+\+6", fields, re.M)
    root = folder / "deb-root"
    run("dpkg-deb", "--extract", deb, root, cwd=folder)
    assert (root / "usr/share/doc/neurolens/copyright").read_text() == (ROOT / "NOTICE").read_text()
    assert (root / "usr/lib/python3/dist-packages/neurolens/__init__.py").is_file()
    reply = json.loads(run(root / "usr/bin/neurolens", "--json", "version", cwd=folder).stdout)
    assert f"Version: {reply['version']}\n" in fields


def test_notice_names_everything_inside(folder):
    notice = run(BIN, "version", "--licences", cwd=folder).stdout
    assert notice == (ROOT / "NOTICE").read_text()
    named = set(re.findall(r"^(.+)\n    licence: ", notice, re.M))
    names = {
        "libarchive-dev": "libarchive", "libboost1.81-dev": "Boost (Asio, Beast)", "libbz2-dev": "bzip2", "libfmt-dev": "fmt", "libisal-dev": "ISA-L", "source libisal": "ISA-L",
        "liblzma-dev": "liblzma", "libsodium-dev": "libsodium", "libsqlite3-dev": "SQLite", "libssl-dev": "OpenSSL libcrypto and libssl",
        "libxxhash-dev": "xxHash", "libyaml-cpp-dev": "yaml-cpp", "libzstd-dev": "Zstandard", "nlohmann-json3-dev": "JSON for Modern C++",
        "zlib1g-dev": "zlib", "libgcc-s1": "libstdc++, libgcc", "libstdc++6": "libstdc++, libgcc", "preact": "Preact",
    }
    lines = [line for line in (ROOT / "packaging/sysroot.txt").read_text().splitlines() if line and not line.startswith("#")]
    # What builds the pages is not part of them.
    parts = set(json.loads((ROOT / "web/package.json").read_text())["dependencies"]) - {"typescript", "vite", "vite-plugin-singlefile", "@preact/preset-vite", "rolldown"}
    for library in lines + sorted(parts):
        assert names.get(library) in named, f"NOTICE does not name {library}"
    assert "DuckDB" in named


def test_encrypted_bundle_is_refused(folder):
    """Packages have no code for encrypted zip entries (packaging/zip_without_encryption.cc): libarchive must not call it."""
    name, aes = b"manifest.json", struct.pack("<HHH2sBH", 0x9901, 7, 2, b"AE", 3, 0)
    entry = struct.pack("<HHHHHIIIHH", 51, 1, 99, 0, 33, 0, 64, 36, len(name), len(aes))
    local = b"PK\3\4" + entry + name + aes + bytes(64)
    central = b"PK\1\2" + struct.pack("<H", 0x033F) + entry + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name + aes
    bundle = folder / "encrypted.zip"
    bundle.write_bytes(local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0))
    result = run(BIN, "--store", folder / "store", "import", bundle, cwd=folder, status=2)
    assert "assphrase" in result.stderr


def test_container_recipes_name_what_is_there():
    """No container engine is needed: files that are copied, programs that are run, packages that are installed."""
    known = {line.split()[0] for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if line and line[0] not in "#["}
    for name in ("Dockerfile", "neurolens.def"):
        text = re.sub(r"\\\n", " ", (ROOT / name).read_text())
        for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.M):
            for source in line.split()[:-1]:
                assert (ROOT / source).exists(), f"{name} copies {source}, which does not exist"
        for script in re.findall(r"(?<![\w/])scripts/[\w.]+", text):
            assert os.access(ROOT / script, os.R_OK), f"{name} runs {script}, which does not exist"
        for installed in re.findall(r"apt-get install ([^&|;\n]+)", text):
            for word in installed.split():
                assert word.startswith("-") or word in known, f"{name} installs {word}, which scripts/packages.txt does not list"
        assert len(re.findall(r"^(?:FROM|From:) debian:12-slim", text, re.M)) == 2, f"{name}: two stages of Debian 12 are expected"
    docker = (ROOT / "Dockerfile").read_text()
    last_stage = docker[docker.rindex("\nFROM "):]
    assert re.search(r"^USER (?!root|0)\w+$", last_stage, re.M), "the container runs as root"
    assert re.search(r'^CMD \["--help"\]$', last_stage, re.M)
