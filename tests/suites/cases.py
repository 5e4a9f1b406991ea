#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/cases/<adapter>/*.case: an input, questions to the imported run, and the exact answers.

A case is text in sections that begin with a line `== section`:

  == input [NAME]        the file to import (NAME: trace.json unless told), up to the next section; several are given together
  == input latin1        the same, each character one byte: for text that is not UTF-8
  == input unended       the same without the line end at the end
  == sqlite [NAME]       SQL that makes the database to import (NAME: trace.sqlite unless told), up to the next section;
                         `zeroed` behind it: the first page is zeros; `cut=BYTES`: it ends there; `damaged=PAGE`: that
                         page (from 1) is overwritten
  == protobuf [NAME]     the message to import as JSON (tests/protobuf_text.py; NAME: trace.pb unless told); `cut=BYTES`: it ends there
  == xspace [NAME]       the XSpace to import as JSON (tests/xspace.py; NAME: trace.xplane.pb unless told); `cut=BYTES`: it ends there
  == nlcap [NAME]        a capture as tests/nlcap_writer.py makes it of lines of text (NAME: trace.nlcap unless told; `folder`
                         behind it: a folder with one file per process); `cut=BYTES`: it ends there; `damaged=BYTE`: that
                         byte is wrong
  == sample PATH         a file below tests/cases/samples instead
  == beside [NAME]       a file that stands in the folder of the input and is not named in the import
  == options             further flags of `neurolens import`
  == query / == rows     SQL and the CSV it must answer; any number of pairs
  == counters            every counter of the import with its count, exactly ("none" for none)
  == error               exit status and message the import must end with, instead of rows and counters

Lines in front of the first section say what the case is about. --update (or NEUROLENS_UPDATE=1) writes what the
program answers into the cases; review the diff. Every counter that src/import declares must occur in some case.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
CASES = ROOT / "tests/cases"
EMPTY = "none\n"
sys.path.insert(0, str(ROOT / "tests"))
import nlcap_writer  # noqa: E402 pylint: disable=wrong-import-position
import protobuf_text  # noqa: E402 pylint: disable=wrong-import-position
import xspace  # noqa: E402 pylint: disable=wrong-import-position


class Failure(Exception):
    pass


def parse(text):
    """(preamble, [[heading, body], ...])"""
    parts = re.split(r"^== (.*)\n", text, flags=re.M)
    return parts[0], [[parts[i].strip(), parts[i + 1]] for i in range(1, len(parts), 2)]


def render(preamble, sections):
    return preamble + "".join(f"== {heading}\n{body}" for heading, body in sections)


def call(arguments, folder):
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder), "NO_COLOR": "1"}
    done = subprocess.run([BIN, "--store", f"{folder}/store", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False, cwd=folder, env=environment)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


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
            raise Failure(f"unknown change {change}")
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
            raise Failure(f"unknown change {change}")
    path.write_bytes(data)


def place_input(sections, folder):
    """Writes the files of a case and gives the paths to import."""
    paths = []
    for heading, body in sections:
        words = heading.split()
        if words[0] in ("input", "beside"):
            latin1 = "latin1" in words[1:]
            name = next((w for w in words[1:] if w not in ("latin1", "unended")), "trace.json")
            text = body.rstrip("\n") if "unended" in words[1:] else body
            (folder / name).write_bytes(text.encode("latin-1" if latin1 else "utf-8"))
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
    if not paths:
        raise Failure("has no input")
    return paths


def answers(sections, folder):
    """What the program says to each section that holds an answer, by index."""
    paths = place_input(sections, folder)
    flags = next((body.split() for heading, body in sections if heading == "options"), [])
    status, out, err = call(["import", *paths, "--json", *flags], folder)
    found = {}
    for i, (heading, _) in enumerate(sections):
        if heading == "error":
            if status == 0:
                raise Failure("was imported, an error was expected")
            message = json.loads(out or err)["error"]["message"] if (out or err).lstrip().startswith("{") else err.strip()
            found[i] = f"{status} {message}\n"
            if "\n" in message:
                raise Failure(f"the error has more than one line: {message}")
            return found
    if status != 0:
        raise Failure(f"import ended with {status}: {(err or out).strip()[-300:]}")
    (run,) = json.loads(out)["runs"]
    query = None
    for i, (heading, body) in enumerate(sections):
        if heading == "query":
            query = " ".join(body.split())
        elif heading == "rows":
            status, out, err = call(["query", run["run_id"], query, "--format", "csv"], folder)
            if status != 0:
                raise Failure(f"query ended with {status}: {err.strip()[-300:]}")
            found[i] = out.replace("\r\n", "\n")
        elif heading == "counters":
            lines = sorted(f"{c['name']} {c['count']}\n" for c in run["counters"])
            found[i] = "".join(lines) or EMPTY
    return found


def run_case(path, update):
    preamble, sections = parse(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="nl-case-") as folder:
        found = answers(sections, pathlib.Path(folder))
    if not found:
        raise Failure("asks nothing")
    wrong = [i for i, text in found.items() if sections[i][1].rstrip("\n") != text.rstrip("\n")]
    if wrong and update:
        for i in wrong:
            last = i == len(sections) - 1
            sections[i][1] = found[i].rstrip("\n") + ("\n" if last else "\n\n")
        path.write_text(render(preamble, sections), encoding="utf-8")
    elif wrong:
        heading, expected = sections[wrong[0]]
        raise Failure(f"{heading}: expected {expected.strip()!r}, found {found[wrong[0]].strip()!r}")
    return {line.split()[0] for heading, body in sections if heading == "counters" for line in body.split("\n") if line.strip()}


def declared_counters():
    names = set()
    for source in (ROOT / "src/import").rglob("*"):
        if source.suffix in (".h", ".cc") and not source.name.endswith("_test.cc"):
            names |= set(re.findall(r'CounterInfo k\w+\s*\{\s*"(\w+)"', source.read_text()))
    return names


def main():
    update = "--update" in sys.argv or os.environ.get("NEUROLENS_UPDATE") == "1"
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "")
    paths = sorted(CASES.glob("*/*.case"))
    failed, seen = 0, set()

    def attempt(path):
        try:
            return path, run_case(path, update), None
        except (Failure, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
            return path, set(), " ".join(str(failure).split())

    chosen = [p for p in paths if not wanted or wanted in p.stem or wanted in "cases.py"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, counters, why in pool.map(attempt, chosen):
            seen |= counters
            failed += why is not None
            print(f"PASS {path.stem}" if why is None else f"FAIL {path.stem}: {why}", flush=True)
    if chosen == paths:
        missing = declared_counters() - seen
        failed += bool(missing)
        print(f"FAIL every_counter_is_hit_by_some_case: not {', '.join(sorted(missing))}" if missing
              else "PASS every_counter_is_hit_by_some_case")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
