#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operation's --json reply has the form its reply schema promises (checked by ajv), and so do the parameters."""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
AJV = ROOT / "tests/ajv"
TRACE = str(ROOT / "data/h200/compile.json.gz")

# One call of each operation; %s is a scratch folder.
CALLS = {
    "import": ["import", TRACE], "ls": ["ls"], "show": ["show", "@latest"], "summary": ["summary"], "operators": ["operators"],
    "kernels": ["kernels", "--by-shape"], "query": ["query", "SELECT count(*) AS n FROM kernel"], "tag": ["tag", "@latest", "a=b"],
    "export": ["export", "@latest", "--format", "bundle", "--out", "%s/run.zip"], "validate": ["validate", "%s/run.json"],
    "schema": ["schema"], "formats": ["formats"], "doctor": ["doctor"], "version": ["version"], "config": ["config", "show"],
    "completion": ["completion", "bash"], "docs": ["docs", "ops"], "rm": ["rm", "@latest"],
}


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
        for name in sorted(set(ops) - set(CALLS)):
            print(f"FAIL {name}: tests/suites/replies.py has no call of it")
        for name, words in CALLS.items():
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
