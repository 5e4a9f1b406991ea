# SPDX-License-Identifier: Apache-2.0
"""The inputs of tests/cases/*/*.case as files: tests/suites/cases.py says what a case is."""
import gzip
import json
import pathlib
import re
import sqlite3

import nlcap_writer
import protobuf_text
import xspace

CASES = pathlib.Path(__file__).resolve().parent / "cases"


def parse(text):
    """(preamble, [[heading, body], ...])"""
    parts = re.split(r"^== (.*)\n", text, flags=re.M)
    return parts[0], [[parts[i].strip(), parts[i + 1]] for i in range(1, len(parts), 2)]


def make_database(path, sql, changes):
    """A database of these statements, then broken as asked."""
    database = sqlite3.connect(path)
    database.executescript("PRAGMA page_size = 1024;" + sql)
    database.close()
    data = bytearray(path.read_bytes())
    for change in changes:
        what, _, number = change.partition("=")
        if what == "zeroed":
            data[:1024] = bytes(1024)
        elif what == "cut":
            del data[int(number):]
        elif what == "damaged":
            data[(int(number) - 1) * 1024:int(number) * 1024] = b"\x55" * 1024
        else:
            raise ValueError(f"unknown change {change}")
    path.write_bytes(data)


def make_capture(path, body, changes):
    files = nlcap_writer.files_of(body)
    if "folder" in changes:
        path.mkdir()
        for i, data in enumerate(files):
            (path / f"{i}.nlc").write_bytes(data)
        return
    data = bytearray(b"".join(files))
    for change in changes:
        what, _, number = change.partition("=")
        if what == "cut":
            del data[int(number):]
        elif what == "damaged":
            data[int(number)] ^= 0x55
        else:
            raise ValueError(f"unknown change {change}")
    path.write_bytes(data)


def place_input(sections, folder):
    """Writes the files of a case and gives the paths to import."""
    paths = []
    for heading, body in sections:
        words = heading.split()
        if words[0] in ("input", "beside"):
            latin1 = "latin1" in words[1:]
            name = next((w for w in words[1:] if w not in ("latin1", "unended") and "=" not in w), "trace.json")
            cut = next((int(w[4:]) for w in words[1:] if w.startswith("cut=")), None)
            text = body.rstrip("\n") if "unended" in words[1:] else body
            data = text.encode("latin-1" if latin1 else "utf-8")
            if name.endswith(".gz"):  # stored, not packed: every version of zlib writes the same bytes
                data = gzip.compress(data, 0, mtime=0)
            (folder / name).write_bytes(data[:cut])
            paths += [name] if words[0] == "input" else []
        elif words[0] == "sqlite":
            name = words[1] if len(words) > 1 and "." in words[1] else "trace.sqlite"
            make_database(folder / name, body, [w for w in words[1:] if w != name])
            paths.append(name)
        elif words[0] == "protobuf":
            name = next((w for w in words[1:] if "=" not in w), "trace.pb")
            cut = next((int(w[4:]) for w in words[1:] if w.startswith("cut=")), None)
            (folder / name).write_bytes(protobuf_text.encode(json.loads(body))[:cut])
            paths.append(name)
        elif words[0] == "xspace":
            name = next((w for w in words[1:] if "=" not in w), "trace.xplane.pb")
            cut = next((int(w[4:]) for w in words[1:] if w.startswith("cut=")), None)
            (folder / name).write_bytes(xspace.encode(json.loads(body))[:cut])
            paths.append(name)
        elif words[0] == "nlcap":
            name = words[1] if len(words) > 1 and "." in words[1] else "trace.nlcap"
            make_capture(folder / name, body, [w for w in words[1:] if w != name])
            paths.append(name)
        elif words[0] == "sample":
            paths.append(str(CASES / "samples" / words[1]))
    assert paths, "has no input"
    return paths
