# SPDX-License-Identifier: Apache-2.0
"""The relocatable tarball, and the tree that it shares with the .deb: bin/, lib/neurolens/, share/."""
import gzip
import io
import tarfile

from product import File


def tree(product, runtime=True):
    """Files below a prefix."""
    files = [File(f"bin/{f.path}", f.content, f.mode) for f in product.programs]
    libraries = product.libraries + (product.runtime if runtime else [])
    files += [File(f"lib/neurolens/{f.path}", f.content, f.mode) for f in libraries]
    files += [File(f"share/neurolens/python/{f.path}", f.content) for f in product.python]
    return files


def write(product, folder, level=9):
    name = f"neurolens-{product.version}-linux-{product.arch}"
    files = tree(product) + [File(f"share/doc/neurolens/{f.path}", f.content) for f in product.documents]
    out = folder / f"{name}.tar.gz"
    with out.open("wb") as raw, gzip.GzipFile("", "wb", level, raw, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted({f"{name}/{f.path}".rsplit("/", depth)[0] for f in files for depth in range(1, f.path.count("/") + 2)}):
            archive.addfile(_entry(path, 0o755, product.time, tarfile.DIRTYPE))
        for file in sorted(files, key=lambda f: f.path):
            entry = _entry(f"{name}/{file.path}", file.mode, product.time)
            entry.size = len(file.content)
            archive.addfile(entry, io.BytesIO(file.content))
    return out


def _entry(path, mode, mtime, kind=tarfile.REGTYPE):
    entry = tarfile.TarInfo(path)
    entry.mode, entry.mtime, entry.type = mode, mtime, kind
    return entry
