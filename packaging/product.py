# SPDX-License-Identifier: Apache-2.0
"""The files of a package, from a finished build: what they are, independent of where each kind of package puts them."""
import os
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import elf

ROOT = Path(__file__).resolve().parent.parent
EXECUTABLE, PLAIN = 0o755, 0o644
PROGRAMS = ("neurolens", "neurolens-capture", "neurolens-peaks")


@dataclass(frozen=True)
class File:
    path: str
    content: bytes
    mode: int = PLAIN


@dataclass
class Product:
    version: str
    arch: str
    time: int  # seconds since 1970 that every archive entry gets
    glibc: tuple  # the oldest glibc that the files run with
    programs: list  # File: those of PROGRAMS
    libraries: list  # File: the capture library, DuckDB
    runtime: list  # File: the C++ library, for systems without one
    python: list  # File: the package, below neurolens/
    documents: list  # File: LICENSE, NOTICE, libraries.txt


def fail(message):
    raise SystemExit(f"package: {message}")


def git(*arguments):
    result = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else ""


def source_time():
    """SOURCE_DATE_EPOCH, else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    if not given.isdigit():
        fail("SOURCE_DATE_EPOCH is not set, and this is not a git checkout")
    return int(given)


def metadata():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def version():
    """The version that CMake, pyproject.toml and the Python package agree on."""
    places = {
        "CMakeLists.txt": re.search(r"project\(neurolens VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1),
        "pyproject.toml": metadata()["version"],
        "python/neurolens/__init__.py": re.search(r'__version__ = "(.+)"', (ROOT / "python/neurolens/__init__.py").read_text()).group(1),
    }
    if len(set(places.values())) != 1:
        fail("the versions differ: " + ", ".join(f"{name} has {value}" for name, value in places.items()))
    return places["CMakeLists.txt"]


def stripped(path, arch):
    """The bytes of a binary without debug information and local symbols."""
    tool = f"{arch}-linux-gnu-strip"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / path.name
        if subprocess.run([tool, "--strip-unneeded", "-o", str(out), str(path)], check=False).returncode != 0:
            fail(f"{tool} failed on {path}")
        return out.read_bytes()


def python_files():
    """The Python package, without what an interpreter left in it."""
    folder = ROOT / "python"
    files = [File(path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted((*folder.glob("neurolens/**/*.py"), *folder.glob("neurolens/conf/*.yaml")))]
    if not any(file.path == "neurolens/_site/sitecustomize.py" for file in files):
        fail("python/neurolens is incomplete")
    return files


def collect(build, arch, duckdb, sysroot=None):
    """The product of a build folder. With a sysroot it must need nothing but glibc; without one (--from-build) the
    libraries of this machine are taken as they are."""
    binaries = {name: build / name for name in (*PROGRAMS, "libneurolens_capture.so")}
    binaries["libduckdb.so"] = duckdb
    for name, path in binaries.items():
        if not path.is_file():
            fail(f"{path} is missing: the build is incomplete")
        if elf.machine(path) != arch:
            fail(f"{path} is for {elf.machine(path)}, not {arch}")
    runtime, documents = {}, []
    if sysroot:
        runtime["libgcc_s.so.1"] = sysroot / "lib" / f"{arch}-linux-gnu" / "libgcc_s.so.1"
        runtime["libstdc++.so.6"] = (sysroot / "usr/lib" / f"{arch}-linux-gnu" / "libstdc++.so.6").resolve()
        check_needs({**binaries, **runtime}, runtime)
        documents.append(File("libraries.txt", (sysroot / "versions.txt").read_bytes()))
    content = {name: stripped(path, arch) for name, path in {**binaries, **runtime}.items()}
    if sysroot:
        for name, data in content.items():
            if os.fsencode(str(ROOT)) in data:
                fail(f"{name} contains the path of this checkout")
    for name in ("LICENSE", "NOTICE"):
        documents.append(File(name, (ROOT / name).read_bytes()))

    def take(names, mode):
        return [File(name, content[name], mode) for name in names]

    return Product(
        version=version(),
        arch=arch,
        time=source_time(),
        # Not of the C++ library: it is loaded only where the system has none, and Debian 12's needs a newer glibc.
        glibc=max(elf.glibc_version(path) for path in binaries.values()),
        programs=take(PROGRAMS, EXECUTABLE),
        libraries=take(["libneurolens_capture.so", "libduckdb.so"], PLAIN),
        runtime=take(sorted(runtime), PLAIN),
        python=python_files(),
        documents=documents,
    )


def check_needs(binaries, runtime):
    """glibc for our own; DuckDB and the C++ library may need what is shipped beside them."""
    for name, path in binaries.items():
        allowed = elf.GLIBC | (set() if name.startswith(("neurolens", "libneurolens")) else set(runtime))
        extra = elf.needed(path) - allowed
        if extra:
            fail(f"{name} needs {', '.join(sorted(extra))}, which the package does not have")
