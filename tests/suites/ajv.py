#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ajv, an independent validator, agrees with ours on every case and on the documents real imports write."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
AJV = ROOT / "tests/ajv"


def main():
    if not shutil.which("node") or not shutil.which("npm"):
        print("SKIP ajv: node and npm are not installed")
        return
    if not (AJV / "node_modules/ajv").exists():
        install = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=AJV, capture_output=True, text=True, check=False)
        if install.returncode != 0:
            print(f"SKIP ajv: npm ci failed: {install.stderr.strip().splitlines()[-1:]}")
            return
    cases = subprocess.run(["node", "check.mjs"], cwd=AJV, capture_output=True, text=True, check=False)
    print("PASS ajv agrees on the cases" if cases.returncode == 0 else f"FAIL ajv cases: {cases.stdout[-400:]}{cases.stderr[-200:]}")
    with tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, NEUROLENS_STORE=f"{work}/store")
        traces = sorted(str(p) for p in (ROOT / "data/h200").glob("*.json.gz"))
        subprocess.run([BIN, "import", *traces], env=env, capture_output=True, check=True)
        documents = []
        for i, path in enumerate(sorted(Path(work, "store/runs").glob("*/run.json"))):
            documents.append(f"{work}/valid_{i}.json")
            shutil.copy(path, documents[-1])
        real = subprocess.run(["node", "check.mjs", *documents], cwd=AJV, capture_output=True, text=True, check=False)
        good = real.returncode == 0 and len(documents) == len(traces)
        print("PASS ajv accepts the documents of real imports" if good else f"FAIL ajv on real documents: {real.stdout[-400:]}{real.stderr[-200:]}")


main()
