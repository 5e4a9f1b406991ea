#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proton trees against the JSON itself: counts, total times and the scope of every kernel of the imported run.

agrees.*   every sample and every real file (NEUROLENS_SHARED)
packed.*   .gz gives the same run as the plain file
"""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")


class Failure(Exception):
    pass


class Imported:
    def __init__(self, path, folder):
        self.folder = folder
        (self.run,) = json.loads(self.call("import", str(path), "--json"))["runs"]

    def call(self, *arguments):
        done = subprocess.run([BIN, "--store", str(self.folder), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              text=True, timeout=300)
        if done.returncode != 0:
            raise Failure(f"{arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def rows(self, sql):
        return [tuple(r) for r in csv.reader(io.StringIO(self.call("query", self.run["run_id"], sql, "--format", "csv")))][1:]


def walk(node, scope, out):
    metrics = node["metrics"]
    name = node["frame"]["name"]
    if metrics.get("time (ns)"):
        key = (scope, name, str(metrics.get("device_id", "")))
        out[key][0] += metrics["count"]
        out[key][1] += metrics["time (ns)"]
    for child in node["children"]:
        walk(child, "" if name == "ROOT" else name, out)


def agrees(path):
    truth = collections.defaultdict(lambda: [0, 0])
    for element in json.loads(path.read_text()):
        if "frame" in element:
            walk(element, "", truth)
    with tempfile.TemporaryDirectory(prefix="nl-proton-") as folder:
        imported = Imported(path, folder)
        if imported.run["adapter"] != "proton":
            raise Failure(f"read as {imported.run['adapter']}")
        found = sorted(imported.rows("SELECT o.name, k.name, k.device, count(*), sum(k.dur_ns) FROM kernel k LEFT JOIN op o ON o.id = k.op_id "
                                     "GROUP BY 1, 2, 3"))
        expected = sorted((*key, str(count), str(ns)) for key, (count, ns) in truth.items())
        if not expected or found != expected:
            raise Failure(f"the file has {[e for e in expected if e not in found][:2]}, the run {[f for f in found if f not in expected][:2]}")


def packed(path):
    with tempfile.TemporaryDirectory(prefix="nl-proton-") as folder:
        gz = pathlib.Path(folder) / "packed"
        gz.write_bytes(gzip.compress(path.read_bytes()))
        plain, other = Imported(path, pathlib.Path(folder) / "a"), Imported(gz, pathlib.Path(folder) / "b")
        if plain.run["tables"] != other.run["tables"]:
            raise Failure(f"{plain.run['tables']} is not {other.run['tables']}")


def main():
    samples = sorted((ROOT / "tests/cases/samples/proton").glob("*.hatchet"))
    real = sorted((pathlib.Path(SHARED) / "data/h200/proton").glob("*.hatchet")) if SHARED else []
    tests = [(f"agrees.{p.stem}", agrees, p) for p in [*samples, *real]] + [(f"packed.{p.stem}", packed, p) for p in samples]
    wanted, failed = os.environ.get("NEUROLENS_TEST_FILTER", ""), 0
    for name, function, path in tests:
        if wanted and wanted not in name and wanted not in "proton.py":
            continue
        try:
            function(path)
            print(f"PASS {name}", flush=True)
        except (Failure, OSError, ValueError, KeyError, subprocess.SubprocessError) as failure:
            failed += 1
            print(f"FAIL {name}: {' '.join(str(failure).split())}", flush=True)
    if not real:
        print("SKIP agrees.real: no real files here (NEUROLENS_SHARED)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
