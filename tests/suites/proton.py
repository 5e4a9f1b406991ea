#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proton trees against the JSON itself: counts, total times and the scope of every kernel of the imported run.

agrees.*   every sample and every real file (NEUROLENS_SHARED)
packed.*   .gz gives the same run as the plain file
"""
import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from imported_run import ROOT, SHARED, Failure, Imported, expect, packed, run_checks  # noqa: E402 pylint: disable=wrong-import-position


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
        found = imported.rows("SELECT o.name, k.name, k.device, count(*), sum(k.dur_ns) FROM kernel k LEFT JOIN op o ON o.id = k.op_id "
                              "GROUP BY 1, 2, 3")
        if not truth:
            raise Failure("no kernels in the file")
        expect("kernels by scope", [(*key, str(count), str(ns)) for key, (count, ns) in truth.items()], found)


def main():
    samples = sorted((ROOT / "tests/cases/samples/proton").glob("*.hatchet"))
    real = sorted((pathlib.Path(SHARED) / "data/h200/proton").glob("*.hatchet")) if SHARED else []
    tests = [(f"agrees.{p.stem}", agrees, p) for p in [*samples, *real]] + [(f"packed.{p.stem}", packed, p) for p in samples]
    if not real:
        print("SKIP agrees.real: no real files here (NEUROLENS_SHARED)")
    return run_checks("proton.py", tests)


if __name__ == "__main__":
    sys.exit(main())
