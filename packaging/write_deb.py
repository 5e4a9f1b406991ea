# SPDX-License-Identifier: Apache-2.0
"""The Debian package. Python's own folder has a link to the package below /usr/share/neurolens; the C++ library that
DuckDB needs is Debian's."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from product import ROOT, File, fail
from write_tarball import tree

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Python writes these when root runs it; dpkg does not know them.
PRERM = """#!/bin/sh
set -e
find /usr/share/neurolens -type d -name __pycache__ -prune -exec rm -rf {} +
"""


def control(product, installed_kib):
    major, minor = product.glibc
    return f"""Package: neurolens
Version: {product.version}
Architecture: {ARCHITECTURES[product.arch]}
Maintainer: The NeuroLens authors <neurolens@localhost>
Installed-Size: {installed_kib}
Depends: libc6 (>= {major}.{minor}), libgcc-s1 (>= 3.0), libstdc++6 (>= 6)
Recommends: python3 (>= 3.9)
Section: devel
Priority: optional
Description: profiler for GPU and machine learning programs
 Records programs on NVIDIA GPUs, imports the traces of other profilers
 (PyTorch, Nsight Systems, Nsight Compute, Perfetto, rocprof and more) into one
 store, and explains where the time goes.
"""


def write(product, folder, level=9):
    files = [File(f"usr/{f.path}", f.content, f.mode) for f in tree(product, runtime=False)]
    for document in product.documents:
        name = "copyright" if document.path == "NOTICE" else document.path
        files.append(File(f"usr/share/doc/neurolens/{name}", document.content))
    installed_kib = sum(len(f.content) + 1023 >> 10 for f in files)
    files.append(File("DEBIAN/control", control(product, installed_kib).encode()))
    files.append(File("DEBIAN/prerm", PRERM.encode(), 0o755))
    out = folder / f"neurolens_{product.version}_{ARCHITECTURES[product.arch]}.deb"
    work = Path(tempfile.mkdtemp(prefix="tmp-deb.", dir=ROOT / "build"))
    try:
        root = work / "root"
        for file in files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(file.mode)
        link = root / "usr/lib/python3/dist-packages/neurolens"
        link.parent.mkdir(parents=True)
        link.symlink_to("../../../share/neurolens/python/neurolens")
        for path in [root, *root.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
            os.utime(path, (product.time, product.time), follow_symlinks=False)
        result = subprocess.run(["dpkg-deb", "--root-owner-group", *(["-Zxz"] if level == 9 else ["-Zgzip", f"-z{level}"]), "--build", str(root), str(out)], capture_output=True, text=True,
                                check=False, env={**os.environ, "SOURCE_DATE_EPOCH": str(product.time)})
        if result.returncode != 0:
            fail(f"dpkg-deb failed: {result.stderr.strip()}")
    finally:
        shutil.rmtree(work)
    return out
