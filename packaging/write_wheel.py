# SPDX-License-Identifier: Apache-2.0
"""The Python wheel. The program itself is the script that pip puts on the PATH, so starting it costs no interpreter;
its libraries go to share/neurolens below the same prefix, which every way of `pip install` keeps relative to bin/
(--target drops lib/). The Python package is there twice: where Python imports it from, and alone in a folder that
`neurolens run` can put on the path of another interpreter."""
import base64
import hashlib
import time
import zipfile

from product import EXECUTABLE, File, metadata


def tag(product):
    major, minor = product.glibc
    return f"py3-none-manylinux_{major}_{minor}_{product.arch}"


def _described(product):
    project = metadata()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {product.version}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        "License-File: LICENSE",
        "License-File: NOTICE",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: C++",
        "Classifier: Programming Language :: Python :: 3",
    ]
    return ("\n".join(lines) + "\n").encode()


def write(product, folder, level=9):
    name = f"neurolens-{product.version}"
    data, info = f"{name}.data", f"{name}.dist-info"
    files = [File(f"{data}/scripts/{f.path}", f.content, EXECUTABLE) for f in product.programs]
    files += [File(f"{data}/data/share/neurolens/lib/{f.path}", f.content, f.mode) for f in product.libraries + product.runtime]
    files += [File(f"{data}/data/share/neurolens/python/{f.path}", f.content) for f in product.python]
    files += product.python
    files += [File(f"{info}/licenses/{f.path}", f.content) for f in product.documents]
    files.append(File(f"{info}/METADATA", _described(product)))
    wheel = f"Wheel-Version: 1.0\nGenerator: scripts/package\nRoot-Is-Purelib: false\nTag: {tag(product)}\n"
    files.append(File(f"{info}/WHEEL", wheel.encode()))
    files.sort(key=lambda f: (f.path.startswith(info), f.path))  # pip reads dist-info from the end of the archive
    record = "".join(f"{f.path},sha256={_digest(f.content)},{len(f.content)}\n" for f in files) + f"{info}/RECORD,,\n"
    files.append(File(f"{info}/RECORD", record.encode()))

    out = folder / f"{name}-{tag(product)}.whl"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, time.gmtime(product.time)[:6])
            entry.external_attr = (0o100000 | file.mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, file.content)
    return out


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
