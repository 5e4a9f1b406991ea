# SPDX-License-Identifier: Apache-2.0
"""ajv, an independent validator, agrees with ours on every case and on the documents that real imports write."""
import pathlib
import shutil
import subprocess

from neurolens_cli import H200, LIMIT_S


def check(ajv, *documents):
    done = subprocess.run(["node", "check.mjs", *map(str, documents)], cwd=ajv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, f"{done.stdout[-400:]}{done.stderr[-200:]}"


def test_ajv_agrees_on_the_cases(ajv):
    check(ajv)


def test_ajv_accepts_the_documents_of_real_imports(ajv, imported, tmp_path):
    documents = []
    for i, trace in enumerate(sorted(H200.glob("*.json.gz"))):
        documents.append(tmp_path / f"valid_{i}.json")
        shutil.copy(pathlib.Path(imported(trace).ask("show")["path"]) / "run.json", documents[-1])
    assert documents
    check(ajv, *documents)
