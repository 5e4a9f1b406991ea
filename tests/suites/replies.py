#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operation's --json reply has the form its reply schema promises (checked by ajv), and so do the parameters."""
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
AJV = ROOT / "tests/ajv"
TRACE = str(ROOT / "data/h200/compile.json.gz")
OTHER = str(ROOT / "data/h200/item_sync.json.gz")

# An operation is called as its example says, except those whose example names files of the reader's own;
# %s is a scratch folder. The order matters to the first and the last only.
CALLS = {
    "import": ["import", TRACE], "kernels": ["kernels", "--by-shape"], "tag": ["tag", "@latest", "a=b"],
    "query": ["query", "SELECT count(*) AS n FROM kernel"],
    "export": ["export", "@latest", "--format", "bundle", "--out", "%s/run.zip"], "validate": ["validate", "%s/run.json"],
    "docs": ["docs", "ops"], "stages": ["stages"], "flame": ["flame"], "roofline": ["roofline"], "critical-path": ["critical-path"],
    "fingerprint": ["fingerprint"], "report": ["report", "@latest", "--out", "%s/report"], "analyze": ["analyze", "@latest"], "rm": ["rm", "@latest", "--force"],
    "gate": ["gate", "--baseline", "@latest", "--candidate", OTHER],
    "record": ["record", "--out", "%s/record.nlcap", "--", "sleep", "0.2"], "run": ["run", "--", "sleep", "0.2"],
    "ctl": ["ctl", "%s/record.nlcap", "status"],
    "compare": ["compare", str(ROOT / "data/h200/base.json.gz"), TRACE],
}


def calls(ops):
    """(name, words) of every operation: import first, rm last; record before ctl, which looks at its capture."""
    middle = sorted(set(ops) - {"import", "record", "run", "rm", "profile"})  # profile needs a framework: suite profile checks its reply
    for name in ["import", "record", *middle, "run", "rm"]:
        yield name, CALLS.get(name) or shlex.split(ops[name]["example"])[1:]


def call(words, store):
    result = subprocess.run([BIN, "--store", store, "--json", *words], capture_output=True, text=True, check=False)
    return json.loads(result.stdout)


def main():
    if not shutil.which("node"):
        print("SKIP replies: node is not installed")
        return
    if not (AJV / "node_modules/ajv").exists() and subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=AJV, capture_output=True, check=False).returncode:
        print("SKIP replies: npm ci failed")
        return
    cases = []
    with tempfile.TemporaryDirectory() as work:
        store = f"{work}/store"
        ops = {op["name"]: op for op in call(["docs", "ops"], store)["ops"]}
        for name, words in calls(ops):
            if name == "validate":
                call(["export", "@latest", "--format", "run-json", "--out", f"{work}/run.json"], store)
            reply = call([w.replace("%s", work) for w in words], store)
            cases.append({"name": f"reply of {name}", "schema": ops[name]["reply"], "value": reply})
            cases.append({"name": f"parameters of {name}", "schema": ops[name]["parameters"], "value": None})
    check = subprocess.run(["node", "replies.mjs"], cwd=AJV, input=json.dumps(cases), capture_output=True, text=True, check=False)
    print(check.stdout, end="")
    if check.returncode or not check.stdout:
        print(f"FAIL replies: {check.stderr[-300:]}")


main()
