# SPDX-License-Identifier: Apache-2.0
"""Proton trees against the JSON itself: counts, total times and the scope of every kernel of the imported run."""
import collections
import json

import pytest

from neurolens_cli import SAMPLES, equal, named, real_files, same_rows

PROTON = sorted((SAMPLES / "proton").glob("*.hatchet"))
REAL = real_files("h200/proton", "*.hatchet")


def walk(node, scope, out):
    metrics = node["metrics"]
    name = node["frame"]["name"]
    if metrics.get("time (ns)"):
        key = (scope, name, str(metrics.get("device_id", "")))
        out[key][0] += metrics["count"]
        out[key][1] += metrics["time (ns)"]
    for child in node["children"]:
        walk(child, "" if name == "ROOT" else name, out)


@pytest.mark.parametrize("path", named(PROTON) + named(REAL, "no real files here (NEUROLENS_SHARED)"))
def test_counts_times_and_scopes_agree_with_the_file(path, imported):
    truth = collections.defaultdict(lambda: [0, 0])
    for element in json.loads(path.read_text()):
        if "frame" in element:
            walk(element, "", truth)
    assert truth, "no kernels in the file"
    run = imported(path)
    equal("adapter", "proton", run.adapter)
    found = run.rows("SELECT o.name, k.name, k.device, count(*), sum(k.dur_ns) FROM kernel k LEFT JOIN op o ON o.id = k.op_id GROUP BY 1, 2, 3")
    same_rows("kernels by scope", [(*key, str(count), str(ns)) for key, (count, ns) in truth.items()], found)


@pytest.mark.parametrize("path", named(PROTON))
def test_a_packed_file_gives_the_same_run(path, imported, packed):
    equal("tables", imported(path).reply["tables"], packed(path).reply["tables"])
