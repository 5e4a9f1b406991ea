#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Findings on real H200 traces whose flaw is known.

truth.*     the planted cause is among the first three findings, in the right place, at a sane cost
shape.*     every finding has a place, evidence with values, three suggestions, and a score that is its product
rules.*     a user's file adds and overrides; a bad one is refused with file, line and column
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = pathlib.Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared"))
WEIGHT = {"low": 1, "medium": 2, "high": 3}
GRAPHS = ("graph_candidate", "host_bound_launch")


class Wrong(Exception):
    pass


def must(condition, why):
    if not condition:
        raise Wrong(why)


def trace(name):
    for folder in (ROOT / "data/h200", SHARED / "data/h200/kineto"):
        path = folder / f"{name}.json.gz"
        if path.exists():
            return path
    return None


class Program:
    def __init__(self, store):
        self.store = store
        self.replies = {}

    def run(self, *arguments, cwd=None):
        return subprocess.run([BIN, "--store", self.store, *arguments], capture_output=True, text=True, check=False, cwd=cwd or self.store)

    def json(self, *arguments, cwd=None):
        done = self.run(*arguments, "--json", cwd=cwd)
        must(done.returncode == 0, f"{' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def findings(self, name):
        if name not in self.replies:
            path = trace(name)
            if path is None:
                return None
            (run,) = self.json("import", str(path))["runs"]
            self.replies[name] = self.json("findings", run["run_id"], "--limit", "1000")
        return self.replies[name]


def top(reply, rule, count=3):
    names = [f["rule"] for f in reply["findings"]]
    must(rule in names[:count], f"{rule} is not among the first {count}: {names}")
    return reply["findings"][names.index(rule)]


def place(finding, **wanted):
    for key, text in wanted.items():
        must(text in (finding[key] or ""), f"{finding['rule']}: {key} is {finding[key]!r}, not {text!r}")


def between(finding, low, high):
    must(low <= finding["impact_ms"] <= high, f"{finding['rule']}: {finding['impact_ms']} ms is not between {low} and {high}")


def truth_item_sync(p):
    finding = top(p.findings("item_sync"), "sync_in_loop")
    place(finding, op="aten::item", stage="decode_step")
    values = {e["what"]: e["value"] for e in finding["evidence"]}
    must(values["op.sync_calls"] == 96, f"8 x 12 calls, not {values['op.sync_calls']}")
    must("8.0 times per step" in finding["message"], finding["message"])
    # 96 calls of aten::item take 1.95 ms of the host; the device resumes some time later.
    between(finding, 1.5, 10)


def truth_h2d_pageable(p):
    finding = top(p.findings("h2d_pageable"), "pageable_transfer")
    place(finding, op="aten::to", stage="decode_step")
    must("12 times" in finding["message"], finding["message"])
    between(finding, 92.5, 96)  # the copies take 92.55 ms on the device


def truth_eager_attn(p):
    finding = top(p.findings("eager_attn"), "attention_unfused")
    place(finding, op="aten::bmm", module="attention")
    must("scaled_dot_product_attention" in finding["suggestions"][0], finding["suggestions"][0])
    between(finding, 6, 14.5)  # device time is 13.4 ms above that of base


def truth_fp32_mlp(p):
    finding = top(p.findings("fp32_mlp"), "fp32_in_mixed")
    place(finding, op="aten::mm", module="MLP")
    between(finding, 65, 75)  # device time is 67.7 ms above that of base
    must(any("cast" in s for s in finding["suggestions"]), "no word of the casts")


def truth_base(p):
    finding = p.findings("base")["findings"][0]
    must(finding["rule"] in GRAPHS, f"first is {finding['rule']}")
    first = finding["suggestions"][0]
    must("CUDA graph" in first and "torch.compile" in first, first)
    diagnosis = p.findings("base")["diagnosis"]
    must(diagnosis["class"] == "launch_bound" and diagnosis["confidence"] > 0.8, str(diagnosis))
    for absent in ("sync_in_loop", "pageable_transfer", "attention_unfused", "fp32_in_mixed", "alloc_churn", "data_loss"):
        must(absent not in [f["rule"] for f in p.findings("base")["findings"]], f"{absent} in base")


def truth_compile(p):
    def cost(name, key):
        return max(f[key] for f in p.findings(name)["findings"] if f["rule"] in GRAPHS)
    for key in ("score", "cost_ms"):
        must(cost("compile", key) < 0.5 * cost("base", key), f"{key}: {cost('compile', key)} against {cost('base', key)}")


def truth_rerun(p):
    rules = [[f["rule"] for f in p.findings(n)["findings"]][:3] for n in ("base", "rerun")]
    must(rules[0] == rules[1], f"the same program twice: {rules}")


def check_shape(reply):
    diagnosis = reply["diagnosis"]
    if diagnosis["class"] == "unknown":
        must(diagnosis["settle"], "unknown, and nothing that would settle it")
    else:
        must(diagnosis["confidence"] > 0.8 and len(diagnosis["evidence"]) >= 2, str(diagnosis))
    seen, before = set(), None
    for f in reply["findings"]:
        who = f["rule"]
        subject = (who, f["stage"], f["module"], f["op"], f["kernel"])
        must(subject not in seen, f"{subject} twice")
        seen.add(subject)
        must(len(f["suggestions"]) >= 3, f"{who}: {len(f['suggestions'])} suggestions")
        must(any(e["value"] is not None for e in f["evidence"]), f"{who}: no evidence")
        for text in [f["message"], *f["suggestions"]]:
            must("{" not in text and "unknown" not in text and "recorded)" not in text, f"{who}: {text}")
        if f["score"] is not None:
            must(abs(f["score"] - WEIGHT[f["severity"]] * f["impact_ms"] * f["confidence"]) < 1e-6 * (1 + f["score"]), f"{who}: score")
            must(before is None or f["score"] <= before, f"{who}: out of order")
            before = f["score"]
    needs = {n["rule"]: n["needs"] for n in reply["not_assessed"]}
    must(needs.get("low_occupancy") == ["kernel counters"], f"low_occupancy: {needs.get('low_occupancy')}")


def rules_user_file(p):
    reply = p.findings("base")
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        (project / ".neurolens_rules.yaml").write_text(
            'rules:\n  - id: gpu_idle\n    enabled: false\n'
            'bottleneck_rules:\n  - {name: mostly idle, condition: "idle_time / total_time > 0.3", suggestion: look, confidence_weight: 0.5}\n')
        (project / "sub").mkdir()
        mine = p.json("findings", reply["run_id"], "--limit", "1000", cwd=project / "sub")
        names = [f["rule"] for f in mine["findings"]]
        must("gpu_idle" not in names and "mostly_idle" in names, f"{names}")
        bad = project / "bad.yaml"
        bad.write_text("rules:\n  - id: x\n    scope: run\n    where: run.wall_ms >> 1\n    message: m\n    suggest: [a, b, c]\n")
        for command in (("findings", reply["run_id"], "--rules", str(bad)), ("rules", "check", str(bad))):
            done = p.run(*command)
            must(done.returncode == 2, f"exit status {done.returncode}")
            must(f"{bad}:4: 'where', column 14:" in done.stderr, done.stderr)


def main():
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="nl-findings-") as store:
        program = Program(store)
        jobs = [(f"truth.{n}", n, globals()[f"truth_{n}"])
                for n in ("item_sync", "h2d_pageable", "eager_attn", "fp32_mlp", "base", "compile", "rerun")]
        jobs += [(f"shape.{n}", n, lambda p, n=n: check_shape(p.findings(n)))
                 for n in ("base", "compile", "item_sync", "resnet50_train_stack", "h2d_pageable", "eager_attn", "fp32_mlp")]
        jobs.append(("rules.user_file", "base", rules_user_file))
        for name, needed, check in jobs:
            if wanted and wanted not in "findings.py" and wanted not in name:
                continue
            if trace(needed) is None:
                print(f"SKIP {name}: {needed}.json.gz is not here")
                continue
            try:
                check(program)
                print(f"PASS {name}", flush=True)
            except (Wrong, KeyError, ValueError, TypeError) as error:
                failed += 1
                print(f"FAIL {name}: {' '.join(str(error).split())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
